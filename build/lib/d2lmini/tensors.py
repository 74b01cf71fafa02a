"""Which tensors may come in. Each check raises a `ValueError` that names the argument, its value and what is allowed.

Shapes: `batch` examples, `steps` tokens, `queries` queries and `keys` key-value pairs. Plain arguments are checked in
`d2lmini.arguments`; how attention makes one object of what it is given is in `d2lmini.attention.door`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_choice, check_flag, check_offset, check_size

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def name_shape(value: object) -> str:
    """The shape of a tensor, or the type of anything else, for a message."""
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__


def name_tensor(value: object) -> str:
    """The dtype and shape of a tensor, or the type of anything else, for a message."""
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def autocasts(device: torch.device) -> bool:
    """Whether autocast is on for a kind of device; some kinds, such as meta, do not support it."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def may_autocast(X: Tensor) -> bool:
    """Whether autocast is on, and would give `X` the dtype that it wants."""
    return autocasts(X.device) and X.is_floating_point() and X.dtype != torch.float64


def read_range(numbers: Tensor) -> tuple[float, float] | None:
    """The smallest and the largest number, or `None` where nobody can look: there are none, or they have no values yet.

    That is so on the meta device, under `vmap`, and while a graph is recorded to be run on other numbers later.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or numbers.numel() == 0:  # type: ignore[attr-defined]
        return None
    try:
        lowest, highest = (extreme.item() for extreme in torch.aminmax(numbers.detach()))
    except RuntimeError:
        return None
    return (lowest, highest) if isinstance(lowest, (int, float)) else None  # tools that record use symbols as numbers


def check_integers(name: str, numbers: Tensor) -> None:
    """Check that these are integers that can be compared, in a tensor of any shape."""
    if not isinstance(numbers, Tensor) or numbers.dtype not in _INTEGERS:
        raise ValueError(f"{name} must be a tensor of integers, got {name_tensor(numbers)}")


def check_boolean(name: str, mask: Tensor) -> None:
    """Check that a mask is a boolean tensor."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise ValueError(f"{name} must be a boolean tensor, got {name_tensor(mask)}")


def check_broadcast(name: str, numbers: Tensor, shape: Sequence[int]) -> None:
    """Check that a tensor broadcasts to `shape`."""
    pairs = zip(numbers.shape[::-1], shape[::-1], strict=False)
    if numbers.dim() > len(shape) or any(size not in (1, whole) for size, whole in pairs):
        raise ValueError(f"{name} must broadcast to {tuple(shape)}, got {name_shape(numbers)}")


def check_dimensions(X: Tensor, shape: str) -> None:
    """Check that `X` is a tensor of three dimensions."""
    if not isinstance(X, Tensor) or X.dim() != 3:
        raise ValueError(f"X must have shape {shape}, got {name_shape(X)}")


def check_divisible(X: Tensor, num_heads: int) -> None:
    """Check that the first dimension of `X` can be cut into heads."""
    check_size("num_heads", num_heads)
    if X.shape[0] % num_heads:
        found = f"got shape {name_shape(X)} and num_heads={num_heads}"
        raise ValueError(f"the first dimension of X must be divisible by num_heads, {found}")


def check_sequences(**sequences: Tensor) -> None:
    """Check that these are tensors `(batch, steps, size)` of one floating-point dtype, or of several under autocast."""
    for name, X in sequences.items():
        if not isinstance(X, Tensor):
            raise ValueError(f"{name} must be a tensor, got {name_tensor(X)}")
        if X.dim() != 3:
            raise ValueError(f"{name} must have shape (batch, steps, size), got {name_shape(X)}")
    dtypes = [X.dtype for X in sequences.values()]
    mixed = dtypes.count(dtypes[0]) < len(dtypes) and not all(autocasts(X.device) for X in sequences.values())
    if mixed or not all(dtype.is_floating_point for dtype in dtypes):
        raise ValueError(f"{', '.join(sequences)} must share one floating-point dtype, got {dtypes}")


def check_projected(name: str, X: Tensor, size: int, layer: nn.Module) -> None:
    """Check that a linear layer accepts `X`, `(..., size)`; autocast may mix float16, bfloat16 and float32."""
    if not isinstance(X, Tensor):
        raise ValueError(f"{name} must be a tensor, got {name_tensor(X)}")
    if X.shape[-1] != (size := getattr(layer, "in_features", size)):
        raise ValueError(f"{name} must have size {size} in their last dimension, got {name_shape(X)}")
    dtype = getattr(getattr(layer, "weight", None), "dtype", None)
    if dtype in (X.dtype, None) or not dtype.is_floating_point:  # a quantised layer has whole numbers, or a method
        return
    plain = type(layer) in (nn.Linear, nn.Conv1d) and not layer._forward_pre_hooks  # others may cast by themselves
    if plain and not may_autocast(X):
        raise ValueError(f"{name} must have the dtype of the weights, {dtype}, got {X.dtype}")


# ---- attention -------------------------------------------------------------------------------------------------------


def check_scores(X: Tensor) -> None:
    """Check that these are scores, `(batch, queries, keys)`."""
    if not isinstance(X, Tensor) or X.dim() != 3 or not X.is_floating_point():
        raise ValueError(f"X must hold floating-point scores of shape (batch, queries, keys), got {name_tensor(X)}")


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Check that queries, keys and values go together."""
    check_sequences(queries=queries, keys=keys, values=values)
    shapes = queries.shape, keys.shape, values.shape
    if not queries.shape[0] == keys.shape[0] == values.shape[0]:
        raise ValueError(f"queries, keys and values must have the same batch size, got {[*map(tuple, shapes)]}")
    if keys.shape[1] != values.shape[1]:
        raise ValueError(f"there must be one value for each key, got {[*map(tuple, shapes[1:])]}")


def check_same_size(queries: Tensor, keys: Tensor) -> None:
    """Check that queries and keys have the same size."""
    if queries.shape[-1] != keys.shape[-1] or queries.shape[-1] == 0:
        found = f"{name_shape(queries)} and {name_shape(keys)}"
        raise ValueError(f"queries and keys must have the same size, at least 1, in their last dimension, got {found}")


def check_kept(queries: Tensor, K: Tensor, V: Tensor, num_heads: int, size: int) -> None:
    """Check that keys and values projected earlier, `(batch, num_heads, keys, size)`, go with these queries."""
    check_sequences(queries=queries)
    fitting = (queries.shape[0], num_heads, K.shape[2], size)
    if tuple(K.shape) != fitting or not isinstance(V, Tensor) or V.shape != K.shape:
        found = f"{name_shape(K)} and {name_shape(V)}"
        raise ValueError(f"K and V must have shape (batch, num_heads, keys, p) = {fitting}, got {found}")
    if not queries.dtype == K.dtype == V.dtype and not all(may_autocast(part) for part in (queries, K, V)):
        found = f"{queries.dtype}, {K.dtype} and {V.dtype}"
        raise ValueError(f"queries, K and V must share one floating-point dtype, got {found}")


def check_lengths(name: str, valid_lens: Tensor, num_keys: int) -> None:
    """Check that these are lengths, `(batch,)` or `(batch, queries)`, in `0..num_keys`, by looking at their values."""
    if not isinstance(valid_lens, Tensor) or valid_lens.dtype not in _INTEGERS + _FLOATS:
        raise ValueError(f"{name} must be a tensor of whole numbers, got {name_tensor(valid_lens)}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"{name} must have shape (batch,) or (batch, queries), got {name_shape(valid_lens)}")
    lowest, highest = read_range(valid_lens) or (0, 0)
    if not 0 <= lowest <= highest <= num_keys:
        found = f"got values from {lowest} to {highest}"
        raise ValueError(f"{name} must lie in 0..{num_keys} (the number of keys), {found}")
    if valid_lens.is_floating_point() and (read_range(valid_lens.frac()) or (0, 0))[1] > 0:
        raise ValueError(f"{name} must hold whole numbers, got {valid_lens[valid_lens.frac() > 0][0].item()}")


def check_one_length_each(name: str, valid_lens: Tensor, *shapes: tuple[int, ...]) -> None:
    """Check that there is one length for each example, or for each query."""
    if tuple(valid_lens.shape) not in shapes:
        raise ValueError(f"{name} must have shape {' or '.join(map(str, shapes))}, got {name_shape(valid_lens)}")


def check_causal(causal: bool, num_queries: int, num_keys: int) -> None:
    """Check that the queries can be the last of the keys, if attention is to be causal."""
    check_flag("causal", causal)
    if causal and num_queries > num_keys:
        found = f"got {num_queries} queries and {num_keys} keys"
        raise ValueError(f"causal=True needs at least as many keys as queries, {found}")


def check_mask(mask: Tensor, shape: Sequence[int]) -> None:
    """Check that this is a mask that broadcasts to `shape`, `(..., queries, keys)`."""
    check_boolean("mask", mask)
    if len(shape) == 4 and mask.dim() == 3 and mask.shape[0] != 1 and mask.shape[0] in shape[:2]:
        cure = "for one mask per example write mask[:, None], for one mask per head mask[None]"
        raise ValueError(f"mask of shape {name_shape(mask)} is ambiguous: {cure}")
    check_broadcast("mask", mask, shape)


def check_bias(bias: Tensor, shape: Sequence[int], device: torch.device) -> None:
    """Check that this is a bias of the scores that broadcasts to `shape`, `(..., queries, keys)`."""
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        raise ValueError(f"bias must be a tensor of floating-point numbers, got {name_tensor(bias)}")
    if bias.device != device:
        raise ValueError(f"bias must be on the device of the queries, {device}, got {bias.device}")
    check_broadcast("bias", bias, shape)


# ---- positions -------------------------------------------------------------------------------------------------------


def check_steps(num_queries: int, num_keys: int) -> None:
    """Check that the queries can be the last of the keys."""
    if any(isinstance(n, bool) or not isinstance(n, (int, torch.SymInt)) for n in (num_queries, num_keys)):
        raise ValueError(f"num_queries and num_keys must be integers, got {num_queries!r} and {num_keys!r}")
    if not 0 <= num_queries <= num_keys:
        found = f"got {num_queries=}, {num_keys=}"
        raise ValueError(f"the queries are the last of the keys, so 0 <= num_queries <= num_keys must hold, {found}")


def check_room(X: Tensor, offset: int | Tensor, max_len: int, num_hiddens: int) -> None:
    """Check that a table of `max_len` positions covers those of `X`, `(batch, steps, num_hiddens)`."""
    check_sequences(X=X)
    if isinstance(offset, Tensor) and offset.dim() != 0:
        check_integers("offset", offset)
        check_one_length_each("offset", offset, (X.shape[0],))
        _, last = read_range(offset) or (0, -math.inf)
    elif isinstance(offset, torch.SymInt) or torch.jit.is_tracing():  # type: ignore[attr-defined]
        last = -math.inf  # not a number yet
    else:
        check_offset(offset)  # type: ignore[arg-type]
        last = offset  # type: ignore[assignment]
    if X.shape[2] != num_hiddens:
        raise ValueError(f"X must have size num_hiddens={num_hiddens} in its last dimension, got {name_shape(X)}")
    if last + X.shape[1] > max_len:
        begins = f" that begins at position offset={last}" if last else ""
        raise ValueError(f"a sequence of length {X.shape[1]}{begins} does not fit into max_len={max_len}")


def check_pairs(X: Tensor) -> None:
    """Check that the features of `X`, `(..., steps, size)`, form pairs."""
    if not isinstance(X, Tensor) or X.dim() < 2 or not X.is_floating_point():
        raise ValueError(f"X must hold floating-point numbers of shape (..., steps, size), got {name_tensor(X)}")
    if X.shape[-1] % 2 or X.shape[-1] == 0:
        raise ValueError(f"rotary embedding turns pairs: the size must be even and at least 2, got {X.shape[-1]}")


def check_rotation(base: float, pairing: str) -> None:
    """Check how fast pairs turn, and which features form them."""
    check_choice("pairing", pairing, ("adjacent", "halves"))
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not 1 <= base <= 1e300:
        raise ValueError(f"base must be a number of at least 1, got {base!r}")


def check_buckets(num_buckets: int, max_distance: int, parts: int) -> None:
    """Check that a share of the buckets can hold one distance each, and the others the rest."""
    check_size("num_buckets", num_buckets)
    check_size("max_distance", max_distance)
    if num_buckets % parts or max_distance <= num_buckets // parts:
        fitting = f"num_buckets must be divisible by {parts} and max_distance be more than num_buckets / {parts}"
        raise ValueError(f"{fitting}, got {num_buckets=}, {max_distance=}")


def check_positions(queries: Tensor, keys: Tensor, num_heads: int | None = None, size: int | None = None) -> None:
    """Check that queries can be the last of the keys, in heads of the number and size that a scheme was made for."""
    if not isinstance(queries, Tensor) or not isinstance(keys, Tensor):
        raise ValueError(f"queries and keys must be tensors, got {name_tensor(queries)} and {name_tensor(keys)}")
    if queries.dim() != 4 or keys.dim() != 4 or queries.shape[:2] != keys.shape[:2]:
        fitting = "(batch, num_heads, steps, size), with the same batch and heads"
        found = f"{name_shape(queries)} and {name_shape(keys)}"
        raise ValueError(f"queries and keys must have shape {fitting}, got {found}")
    if num_heads not in (None, queries.shape[1]):
        raise ValueError(f"the positions were made for num_heads={num_heads}, the layer has {queries.shape[1]}")
    if size not in (None, queries.shape[-1]):
        raise ValueError(f"queries must have head_size={size}, got {name_shape(queries)}")
    if queries.shape[-2] > keys.shape[-2]:
        raise ValueError(
            "with relative positions the queries are the last of the keys, so there must be at least as many keys: "
            f"got {queries.shape[-2]} queries and {keys.shape[-2]} keys"
        )


def check_even_size(queries: Tensor, keys: Tensor) -> None:
    """Check that queries and keys share an even size."""
    sizes = queries.shape[-1], keys.shape[-1]
    if sizes[0] != sizes[1] or sizes[0] % 2 or sizes[0] == 0:
        raise ValueError(
            f"for rotary embedding queries and keys must share an even size, got {sizes[0]} and {sizes[1]}"
        )


def check_placed(returned: object, Q: Tensor, K: Tensor) -> None:
    """Check that a scheme returned queries and keys of the shape and dtype that it was given, and a bias or `None`."""
    if not isinstance(returned, tuple) or len(returned) != 3:
        raise ValueError(f"positions must return queries, keys and a bias or None, got {type(returned).__name__}")
    for name, given, got in (("queries", Q, returned[0]), ("keys", K, returned[1])):
        if not isinstance(got, Tensor) or (got.shape, got.dtype) != (given.shape, given.dtype):
            raise ValueError(f"positions must return {name} of {name_tensor(given)}, got {name_tensor(got)}")
