"""What a layer costs: work, sequential operations and memory, counted while it runs.

Each instrument takes a function `f` of a sequence, for example a module, and an input `X` of shape `(batch, n, d)`, and
measures what `f(X)` does. It refuses what it cannot see: better no number than a wrong one.
"""

import re
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from d2lmini.costs.memory import TakenMemory
from d2lmini.costs.running import Sequence2Sequence, copy_module, record, run, unfuse, walk_graph

__all__ = ["count_flops", "count_sequential_operations", "measure_activation_memory"]

# Products with vectors, which PyTorch's counter forgets.
_WITH_VECTORS = {
    torch.ops.aten.mv: lambda M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.addmv: lambda b, M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.dot: lambda a, b, **_: 2 * a[0],
}
_HIDES_PRODUCTS = re.compile("fft|linalg_(?!vector_norm|cross)|cdist|solve|trilinear|rnn")
# Of the nodes of a graph: they hide a chain; they compute nothing, and only put entries where they belong. The cut by
# which a GRU and an LSTM part their gates, UnsafeSplit, is not among these: it counts as a step of theirs.
_HIDES_STEPS = re.compile("Cum|Sort|Topk|Kthvalue|Median|Fft|Linalg(?!VectorNorm|Cross)|Solve|Rnn|Lstm|Gru")
_MOVES = re.compile(
    "(Unsafe)?View|Split(WithSizes)?|ReshapeAlias|Alias|AsStrided|CopySlices|Slice|Select|Narrow|Unbind|Diagonal"
    "|T|Transpose|Permute|Expand|Squeeze|Unsqueeze|Unfold|Cat|Stack|Index(Select|Put|PutImpl|Copy|Fill)?|Gather"
    "|(Slice|Select|Masked)?Scatter|MaskedFill|Where|ConstantPadNd|Flip|Roll|Repeat|Clone|(To)?Copy|(Zero|Fill)"
)


def count_flops(f: Sequence2Sequence, X: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions in `f(X)`; a multiply-add is 2.

        (a × b) @ (b × c): 2 a b c

    Counted by PyTorch's `FlopCounterMode`, with products with vectors added. It cannot see inside the fused LSTM and
    the fused attention, so the unfused versions stand in for them. What is computed entry by entry (biases, softmax,
    activation functions) does not count, and neither does a product written so, as `(A * B).sum()`. What `f` does in
    NumPy, in another thread, or with Python's own numbers, is not seen.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of floating-point operations.

    Raises:
        ValueError: if `f` uses an operation that hides products (Fourier transforms, solving equations, fused recurrent
            layers, custom operations); if it has no matrix product or convolution; or if it is a module that cannot be
            copied.

    >>> d2l.count_flops(torch.nn.Linear(8, 8, bias=False), torch.zeros(1, 10, 8))
    1280
    """
    f, counter = copy_module(f), FlopCounterMode(display=False, custom_mapping=_WITH_VECTORS)
    with unfuse(), _RefuseHidden(), counter:
        run(f, X.clone())
    total = int(counter.get_total_flops())
    if total == 0:
        raise ValueError("f uses no matrix product and no convolution: there is nothing to count")
    return total


def count_sequential_operations(f: Sequence2Sequence, X: Tensor) -> int:
    """Length of the longest chain of operations in `f(X)` in which each needs the result of the one before.

        length(operation) = 1 + max over its inputs of length(input)

    The chain begins at `X`: what is computed from parameters alone does not wait for the input. Moving entries about
    (views, `cat`, `stack`, indexing, `where`) counts nothing. Only the growth of the length with n means anything: how
    many operations one step is split into is up to PyTorch and to the author of `f`. Pass the length on to
    `take_differences`, and compare it with nothing else. It belongs to `f` as it is written:
    another program for the same function may have a shorter chain. A sum or a product of matrices is one operation.

    It is the depth of the graph that autograd keeps, so what has no gradient is not seen: `argmax`, a number taken into
    Python. A tensor that is filled piece by piece is as far down as its last piece, whichever is read. If `f` returns a
    tuple, its first output is used.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of operations in the longest chain.

    Raises:
        ValueError: if no gradient leads from the output to `X`, or if `f` uses an operation that hides a chain (scans
            such as `cumsum`, sorting, Fourier transforms, solving equations, fused recurrent layers, a function with
            a backward pass of its own).

    >>> d2l.count_sequential_operations(torch.nn.Linear(8, 8), torch.zeros(1, 10, 8))
    1
    """
    f, start = copy_module(f), X.detach().clone().requires_grad_()
    with unfuse(), torch.enable_grad():
        output = run(f, start)
    lengths: dict[Any, int] = {}  # of the longest chain from the input to a node, -1 if there is none
    for node in walk_graph(output):
        waited = max((lengths[before] for before, _ in node.next_functions if before is not None), default=-1)
        if getattr(node, "variable", None) is start:
            waited = 0
        elif waited >= 0:
            waited += _count_steps(node)
        lengths[node] = waited
    if lengths.get(output.grad_fn, -1) < 0:
        raise ValueError("no gradient leads from the output of f to X: nothing is seen that would have to wait")
    return lengths[output.grad_fn]


def _count_steps(node: Any) -> int:
    """How many operations a node of the graph stands for: none where it moves entries about, else one."""
    if isinstance(node, torch.autograd.function.BackwardCFunction) or _HIDES_STEPS.search(node.name()):
        raise ValueError(f"{node.name()} hides a chain of operations: use a version of f that shows it")
    return int(not _MOVES.fullmatch(re.sub(r".*::|Backward\d*$", "", node.name())))


class _RefuseHidden(TorchDispatchMode):
    """Refuses operations that multiply where no counter looks, as a fused GRU does."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse an operation, or run it."""
        if op.namespace not in ("aten", "profiler") or _HIDES_PRODUCTS.search(op.name()):
            raise ValueError(f"{op.name()} hides floating-point operations: use a version of f that shows them")
        return op(*args, **(kwargs or {}))


def measure_activation_memory(f: Sequence2Sequence, X: Tensor) -> int:
    """Bytes that autograd keeps for the backward pass of `f(X)`: the input, and what was computed from then on.

    Not counted is what was there before, such as parameters and buffers. A tensor that several operations keep counts
    once, and so does a tensor that is kept through a view. A fused LSTM keeps a work space whose size depends on the
    processor. What `f` stores through hooks of its own is not seen. This is what is kept between the two passes; for
    what is needed during them see `d2lmini.costs.memory.measure_peak_memory`.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of bytes.

    Raises:
        ValueError: if nothing is kept, because the output does not need a gradient.

    >>> d2l.measure_activation_memory(torch.exp, torch.zeros(1, 10, 8))
    320
    """
    f, memory = copy_module(f), TakenMemory()
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor in memory:
            kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), memory:
        output = record(f, X)
    if output.grad_fn is None:
        raise ValueError("the output of f needs no gradient: nothing is kept for a backward pass")
    return sum(storage.nbytes() for storage in kept.values())
