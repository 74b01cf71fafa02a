"""How much memory a layer needs while it runs: every piece that it takes is noted, until it is given back."""

import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from d2lmini.costs.running import Sequence2Sequence, copy_module, list_tensors, record, walk_graph

__all__ = ["PeakMemory", "TakenMemory", "measure_peak_memory"]


class PeakMemory(NamedTuple):
    """The most bytes that were taken at one time: in the forward pass alone, and with the backward pass after it."""

    forward: int
    forward_and_backward: int


class TakenMemory(TorchDispatchMode):
    """Notes the memory that operations take for their results, and when it is given back."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._pieces: set[int] = set()

    def __contains__(self, tensor: Tensor) -> bool:
        """Whether the memory of a tensor was taken since this began."""
        return tensor.untyped_storage()._cdata in self._pieces

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note the memory of its results that was in use by nobody before."""
        before = {tensor.untyped_storage()._cdata for tensor in list_tensors(args, kwargs)}
        result = op(*args, **(kwargs or {}))
        pieces = [tensor.untyped_storage() for tensor in list_tensors(result)]
        new = {storage._cdata: storage for storage in pieces if storage._cdata not in before | self._pieces}
        for piece, storage in new.items():
            self._take(piece, storage)
        return result

    def _take(self, piece: int, storage: Any) -> None:
        size = storage.nbytes()
        self._pieces.add(piece)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._give_back, piece, size).atexit = False

    def _give_back(self, piece: int, size: int) -> None:
        self._pieces.discard(piece)
        self.now -= size


def measure_peak_memory(f: Sequence2Sequence, X: Tensor) -> PeakMemory:
    """The most bytes that `f(X)` has in use at one time, and that it and its backward pass have.

    Counted are a copy of the input, all results of operations as long as somebody holds them, and in the backward pass
    the gradients of the output (ones), of the input and of the parameters. Parameters and buffers are not counted. The
    work space that an operation takes and gives back by itself is not seen: fused kernels, convolutions and fused LSTMs
    need more than this. `measure_activation_memory` finds what is kept between the two passes, which is less.

    Chapter: What a machine makes of it.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The two peaks, `forward` and `forward_and_backward`.

    Raises:
        ValueError: if the output needs no gradient: there is no backward pass.

    >>> measure_peak_memory(torch.nn.Linear(8, 8), torch.zeros(1, 10, 8))
    PeakMemory(forward=640, forward_and_backward=1568)
    """
    f, memory = copy_module(f), TakenMemory()
    with memory:
        output = record(f, X)
        forward = memory.peak
        leaves = [node.variable for node in walk_graph(output) if hasattr(node, "variable")]
        if not leaves:
            raise ValueError("the output of f needs no gradient: there is no backward pass")
        torch.autograd.grad(output, leaves, torch.ones_like(output), allow_unused=True)
    return PeakMemory(forward, memory.peak)
