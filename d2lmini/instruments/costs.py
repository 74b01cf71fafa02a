"""Instruments: what a layer costs, counted while it runs.

Each takes a function ``f`` of a sequence, for example a module, and an input ``X`` of shape ``(batch, n, d)``, and
measures what ``f(X)`` does. What an instrument cannot see it refuses: no number is better than a wrong one.
"""

from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from d2lmini.arguments import check_size

__all__ = ["activation_memory", "count_flops", "differences", "doubling", "longest_chain"]

Sequence2Sequence = Callable[[Tensor], Any]
# Parts of the names of operations that multiply matrices inside, where PyTorch's counter does not look.
_OPAQUE = re.compile(
    "rnn|lstm|gru|attention|transformer|mkldnn|quantized|int_mm|scaled_mm|addmm_activation|addr|fft|dist|trilinear|linalg"
    "|conv|sparse|cholesky|triangular|lu_solve|svd|eig|qr"
)
# Parts of the names of autograd nodes that do one step after another, but stand in the graph as one.
_SCANS = re.compile(
    "cumsum|cumprod|cummax|cummin|logcumsumexp|rnn|lstm|gru|scaleddotproduct|triangular|ctcloss|differentiablegraph"
)
# Products that PyTorch's counter forgets: matrix times vector, vector times vector.
_PRODUCTS = {
    torch.ops.aten.mv: lambda M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.addmv: lambda b, M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.dot: lambda a, b, **_: 2 * a[0],
    torch.ops.aten.vdot: lambda a, b, **_: 2 * a[0],
}


def count_flops(f: Sequence2Sequence, X: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions in ``f(X)``; a multiply-add is 2.

    Counted by :class:`torch.utils.flop_counter.FlopCounterMode`, with products of vectors added. It does not see into
    the fused LSTM and the fused attention, so these are replaced by their unfused versions meanwhile. What is added up
    entry by entry (biases, softmax, activation functions) does not count.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of floating-point operations.

    Raises:
        ValueError: if ``f`` uses an operation that the counter cannot look into, or no matrix product or convolution.
    """
    seen = _SeenOperations()
    with _unfused(), seen, FlopCounterMode(display=False, custom_mapping=_PRODUCTS) as counter:
        _run(f, X.clone())
    known = flop_registry.keys() | _PRODUCTS.keys() | {torch.ops.aten.linalg_vector_norm}
    opaque = sorted(str(op) for op in seen.operations if op not in known and _OPAQUE.search(str(op)))
    if opaque:
        raise ValueError(f"f uses {', '.join(opaque)}, whose floating-point operations cannot be counted")
    total = int(counter.get_total_flops())
    if total == 0:
        raise ValueError("f uses no matrix product and no convolution: there is nothing to count")
    return total


def longest_chain(f: Sequence2Sequence, X: Tensor) -> int:
    """Length of the longest chain of operations in ``f(X)`` each of which needs the result of the one before.

    The chain is looked for in the graph that autograd keeps. How many nodes an operation leaves there is PyTorch's
    business; what has a meaning is how the length *grows* with n: see :func:`doubling` and :func:`differences`. What
    has no gradient (behind ``detach`` or under ``no_grad``) is not seen. Of a tuple, the first output is looked at.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of operations in the longest chain.

    Raises:
        ValueError: if the output has no graph, or the graph has nodes that hide a chain: fused recurrent layers, scans
            such as ``cumsum``, writing into a part of a tensor, and functions with a backward pass of their own.
    """
    with _unfused(), torch.enable_grad():
        output = _run(f, X.detach().clone().requires_grad_(X.is_floating_point()))
    if output.grad_fn is None:
        raise ValueError("the output of f does not depend on X or on a parameter by operations with a gradient")
    length: dict[Any, int] = {}
    waiting = [output.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [parent for parent, _ in node.next_functions if parent is not None]
        missing = [parent for parent in before if parent not in length]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if "CopySlices" in node.name():
            raise ValueError("f writes into a part of a tensor, which makes the chain look longer: use torch.stack")
        if isinstance(node, BackwardCFunction) or _SCANS.search(node.name().lower()):
            raise ValueError(f"{node.name()} hides a chain of operations: use a version of f that shows it")
        counted = "AccumulateGrad" not in node.name()
        length[node] = max((length[parent] for parent in before), default=0) + counted
    return length[output.grad_fn]


def activation_memory(f: Sequence2Sequence, X: Tensor) -> int:
    """Bytes that autograd keeps for the backward pass of ``f(X)``, parameters and buffers not included.

    A tensor that several operations keep counts once, and so does a tensor that is kept through a view. A fused LSTM
    keeps a work space whose size depends on the processor. What ``f`` stores by hooks of its own is not seen.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of bytes.

    Raises:
        ValueError: if nothing is kept, since the output does not need a gradient.
    """
    kept: dict[int, Any] = {}
    own: set[int] = set()
    if isinstance(f, nn.Module):
        f = deepcopy(f)
        own = {tensor.untyped_storage().data_ptr() for tensor in (*f.parameters(), *f.buffers())}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        parameter = isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter)
        if not parameter and storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that no other storage takes its place
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = _run(f, X.detach().clone().requires_grad_(X.is_floating_point()), copy=False)
    if output.grad_fn is None:
        raise ValueError("the output of f needs no gradient: nothing is kept for a backward pass")
    return sum(storage.nbytes() for storage in kept.values())


def doubling(measure: Callable[[int], float], n: int) -> str:
    """How a measurement grows when n is doubled twice: ``"same"``, ``"+c"`` (logarithmic), ``"x2"`` or ``"x4"``.

    Args:
        measure: a function of n.
        n: the first size, at least 1; ``2 n`` and ``4 n`` are measured as well.

    Returns:
        ``"same"`` if all three are equal, ``"+7"`` if each doubling adds 7, ``"x2"`` and ``"x4"`` if each doubling
        multiplies by exactly that.

    Raises:
        ValueError: if n is no integer of at least 1, ``measure`` returns no number, or it grows otherwise, as a sum of
            different powers of n does: look at :func:`differences` then.
    """
    first, second, third = _measured(measure, (n, 2 * n, 4 * n))
    if first == second == third:
        return "same"
    if third - second == second - first:
        return f"{second - first:+g}"
    for factor in (2, 4):
        if all(math.isclose(b, factor * a, rel_tol=1e-12) for a, b in ((first, second), (second, third))):
            return f"x{factor}"
    raise ValueError(f"at n = {n}, {2 * n}, {4 * n} it is {first:g}, {second:g}, {third:g}: no simple growth")


def differences(measure: Callable[[int], float], n: int, order: int) -> float:
    """The finite difference of a measurement at n: its ``order``-th discrete derivative, exact for polynomials.

    Order 1 is ``measure(n + 1) - measure(n)``, order 2 the difference of two such differences. For
    ``a n ** 2 + b n + c`` the second one is ``2 a`` at every n.

    Args:
        measure: a function of n.
        n: the first size.
        order: 1 or more.

    Returns:
        The difference.

    Raises:
        ValueError: if n or ``order`` is no integer of at least 1, or ``measure`` returns no number.
    """
    check_size("order", order)
    values = _measured(measure, range(n, n + order + 1))
    for _ in range(order):
        values = [after - before for before, after in pairwise(values)]
    return values[0]


def _measured(measure: Callable[[int], float], sizes: Iterable[int]) -> list[float]:
    values = []
    for size in sizes:
        check_size("n", size)
        values.append(measure(size))
        if isinstance(values[-1], bool) or not isinstance(values[-1], (int, float)):
            raise ValueError(f"measure must return a number, got {values[-1]!r} at n = {size}")
    return values


class _SeenOperations(TorchDispatchMode):
    """Remembers which operations ran."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: set[Any] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations.add(op._overloadpacket)
        return op(*args, **(kwargs or {}))


@contextlib.contextmanager
def _unfused() -> Iterator[None]:
    """Run recurrent layers and attention by operations that can be looked at."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TF32 acceleration")  # what switching oneDNN off and on says
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                yield
            finally:
                torch.backends.mha.set_fastpath_enabled(fast_path)


def _run(f: Sequence2Sequence, X: Tensor, *, copy: bool = True) -> Tensor:
    """The output of a layer, the first one of a tuple. Random numbers and a module's buffers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        output = (deepcopy(f) if copy and isinstance(f, nn.Module) else f)(X)
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor):
        raise ValueError(f"f must return a tensor, or a tuple that begins with one, got {type(output).__name__}")
    return output
