"""Instruments: what a layer costs, counted while it runs.

Each takes a function ``f`` of a sequence, for example a module, and an input ``X`` of shape ``(batch, n, d)``, and
measures what ``f(X)`` does. What an instrument cannot see it refuses: no number is better than a wrong one.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import BackwardCFunction
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry

__all__ = ["activation_memory", "count_flops", "differences", "doubling", "longest_chain"]

Sequence2Sequence = Callable[[Tensor], Any]
# Parts of the names of operations that multiply matrices inside, where PyTorch's counter does not look.
_OPAQUE = ("rnn", "lstm", "gru", "attention", "transformer", "fft", "cdist", "trilinear", "linalg", "mkldnn", "conv")
# Parts of the names of autograd nodes that do one step after another, but stand in the graph as one.
_SCANS = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "rnn", "lstm", "gru", "scaleddotproduct")


def count_flops(f: Sequence2Sequence, X: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions in ``f(X)``; a multiply-add is 2.

    Counted by :class:`torch.utils.flop_counter.FlopCounterMode`. It does not see into the fused LSTM and the fused
    attention, so these are replaced by their unfused versions meanwhile. What is added up entry by entry (biases,
    softmax, activation functions) does not count.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of floating-point operations.

    Raises:
        ValueError: if ``f`` uses an operation that the counter cannot look into, or no matrix product or convolution.
    """
    seen = _SeenOperations()
    with _unfused(), seen, FlopCounterMode(display=False) as counter:
        f(X)
    opaque = sorted(str(op) for op in seen.operations if op not in flop_registry and _is_any(op, _OPAQUE))
    if opaque:
        raise ValueError(f"f uses {', '.join(opaque)}, whose floating-point operations cannot be counted")
    total = int(counter.get_total_flops())
    if total == 0:
        raise ValueError("f uses no matrix product and no convolution: there is nothing to count")
    return total


def longest_chain(f: Sequence2Sequence, X: Tensor) -> int:
    """Length of the longest chain of operations in ``f(X)`` each of which needs the result of the one before.

    The chain is looked for in the graph that autograd keeps. How many nodes an operation leaves there is PyTorch's
    business; what has a meaning is how the length *grows* with n: see :func:`doubling` and :func:`differences`.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of operations in the longest chain.

    Raises:
        ValueError: if the output has no graph, or the graph has nodes that hide a chain: fused recurrent layers, scans
            such as ``cumsum``, and functions with a backward pass of their own.
    """
    with _unfused(), torch.enable_grad():
        output = _first_tensor(f(X.detach().requires_grad_(X.is_floating_point())))
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
        if isinstance(node, BackwardCFunction) or _is_any(node.name(), _SCANS):
            raise ValueError(f"{node.name()} hides a chain of operations: use a version of f that shows it")
        counted = "AccumulateGrad" not in node.name()
        length[node] = max((length[parent] for parent in before), default=0) + counted
    return length[output.grad_fn]


def activation_memory(f: Sequence2Sequence, X: Tensor) -> int:
    """Bytes that autograd keeps for the backward pass of ``f(X)``, parameters not included.

    A tensor that several operations keep counts once, and so does a tensor that is kept through a view.

    Args:
        f: a function of a sequence.
        X: input, ``(batch, n, d)``.

    Returns:
        The number of bytes.

    Raises:
        ValueError: if nothing is kept, since the output does not need a gradient.
    """
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter) and not isinstance(tensor._base, nn.Parameter):
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage  # held, so that no other storage takes its place
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = _first_tensor(f(X.detach().requires_grad_(X.is_floating_point())))
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
        multiplies by a factor within 2 % of 2 or 4.

    Raises:
        ValueError: if n is less than 1, or it grows otherwise, as a sum of different powers of n does: look at
            :func:`differences` then.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    first, second, third = (measure(size) for size in (n, 2 * n, 4 * n))
    if first == second == third:
        return "same"
    if third - second == second - first:
        return f"{second - first:+g}"
    for factor in (2, 4):
        if all(abs(b - factor * a) <= 0.02 * factor * a for a, b in ((first, second), (second, third))):
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
        ValueError: if ``order`` is less than 1.
    """
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")
    values = [measure(n + i) for i in range(order + 1)]
    for _ in range(order):
        values = [after - before for before, after in pairwise(values)]
    return values[0]


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
        warnings.simplefilter("ignore", UserWarning)  # switching oneDNN off and on warns about Intel GPUs
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                yield
            finally:
                torch.backends.mha.set_fastpath_enabled(fast_path)


def _is_any(name: Any, parts: tuple[str, ...]) -> bool:
    return any(part in str(name).lower() for part in parts)


def _first_tensor(output: Any) -> Tensor:
    """The output of a layer that may return a tuple, as recurrent layers do."""
    return output[0] if isinstance(output, tuple) else output
