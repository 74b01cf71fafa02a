"""What PyTorch's operations do, as far as an instrument has to know.

An operation is plain if all that it does is known: it works entry by entry, makes a view, or stands in a list below.
Nobody can tell how many products any other one hides, or how many steps that wait for each other.
"""

from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

# Products that PyTorch's counter forgets: matrix times vector, vector times vector, and a sum of matrix products.
PRODUCTS = {
    torch.ops.aten.mv: lambda M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.addmv: lambda b, M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.dot: lambda a, b, **_: 2 * a[0],
    torch.ops.aten.vdot: lambda a, b, **_: 2 * a[0],
    torch.ops.aten.addbmm: lambda C, A, B, **_: 2 * A[0] * A[1] * A[2] * B[2],
}
# They compute nothing, and only put entries where they belong.
_MOVING = """
cat stack index_select gather index index_put _index_put_impl index_copy index_fill scatter slice_scatter
select_scatter diagonal_scatter masked_scatter masked_fill where constant_pad_nd flip roll repeat
"""
# They do one thing to all entries, or to each row, and multiply no matrices.
_PLAIN = """
sum nansum mean prod var std var_mean std_mean norm linalg_vector_norm amax amin aminmax max min argmax argmin any
all count_nonzero logsumexp _softmax _log_softmax _safe_softmax _masked_softmax softmax log_softmax
native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training
_native_batch_norm_legit_functional _batch_norm_with_update _batch_norm_no_update cudnn_batch_norm _fused_rms_norm
native_dropout _fused_dropout _weight_norm_interface _prelu_kernel glu log_sigmoid_forward log_sigmoid
rrelu_with_noise embedding embedding_dense _embedding_bag _embedding_bag_forward_only scatter_add scatter_reduce
index_add index_reduce avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d _adaptive_avg_pool2d
_adaptive_avg_pool3d max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d
reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d im2col col2im tril triu pixel_shuffle
pixel_unshuffle channel_shuffle rot90 diag_embed block_diag trace take put unsafe_split unsafe_split_with_sizes
select slice diagonal unfold nll_loss_forward nll_loss nll_loss2d_forward mse_loss smooth_l1_loss huber_loss
soft_margin_loss binary_cross_entropy binary_cross_entropy_with_logits rsub floor_divide hardswish linalg_cross
renorm complex polar repeat_interleave one_hot _thnn_fused_gru_cell _thnn_fused_lstm_cell
"""
# They make a tensor out of nothing but a shape.
_MAKING = """
empty empty_strided zeros ones full arange eye linspace logspace scalar_tensor rand randn randint randperm
tril_indices triu_indices
"""
# They multiply no matrices, but go step by step, or hand a number to Python.
_STEPPING = """
cumsum cumprod logcumsumexp _cummax_helper _cummin_helper cummax cummin sort topk kthvalue median nanmedian mode
_unique _unique2 unique_dim unique_consecutive searchsorted bucketize nonzero multinomial histc bincount
masked_select _local_scalar_dense item equal allclose is_nonzero isin _pack_padded_sequence _assert_async
_nested_tensor_from_mask _nested_from_padded _nested_tensor_size _nested_tensor_strides to_padded_tensor
_nested_tensor_storage_offsets _nested_view_from_buffer _nested_tensor_from_mask_left_aligned
nested_to_padded_tensor _nested_tensor_from_tensor_list
"""
MOVES = frozenset(_MOVING.split())
COPIES = frozenset({"clone", "copy", "_to_copy", "lift_fresh_copy"})
FILLS = frozenset({"zero", "fill", "uniform", "normal", "bernoulli", "exponential", "random", "cauchy", "log_normal"})
_ONE_STEP = MOVES | COPIES | FILLS | frozenset(_PLAIN.split())
_CREATIONS, _STEPWISE = frozenset(_MAKING.split()), frozenset(_STEPPING.split())


def name_operation(op: Any) -> str:
    """The name of an operation, whether it writes in place or not."""
    return str(getattr(op, "overloadpacket", op)).rpartition(".")[2].removesuffix("_")


def is_product(op: Any) -> bool:
    """Whether an operation is a product of matrices or vectors or a convolution, and its FLOPs are known."""
    packet = getattr(op, "overloadpacket", op)
    return packet in flop_registry or packet in PRODUCTS


def is_creation(op: Any) -> bool:
    """Whether an operation makes a tensor out of nothing but a shape."""
    name = name_operation(op)
    return name in _CREATIONS or name.endswith("_like") or name.startswith("new_")


def is_view(op: Any) -> bool:
    """Whether an operation only looks at the same memory in another way."""
    in_place = torch.Tag.inplace_view in getattr(op, "tags", ())
    return in_place or getattr(op, "is_view", False) or name_operation(op) == "_unsafe_view"


def is_plain(op: Any) -> bool:
    """Whether an operation is one step, without products of matrices."""
    if getattr(op, "namespace", "") == "profiler":
        return True
    if getattr(op, "namespace", "") != "aten":
        return False
    name = name_operation(op)
    forward = name.removesuffix("_data").removesuffix("_backward")
    listed = bool({name, forward} & _ONE_STEP) or name.endswith("_copy") or "upsample_" in name
    return listed or is_view(op) or is_creation(op) or torch.Tag.pointwise in op.tags


def has_no_products(op: Any) -> bool:
    """Whether no product of matrices is hidden in an operation."""
    return is_plain(op) or name_operation(op) in _STEPWISE
