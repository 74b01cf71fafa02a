"""How an instrument runs what it measures: random numbers, buffers, gradients and the input stay as they were."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_leaves

Sequence2Sequence = Callable[[Tensor], Any]


def run(f: Sequence2Sequence, X: Tensor) -> Tensor:
    """What `f` returns, or the first entry of a tuple, leaving no trace in the caller's random numbers."""
    with torch.random.fork_rng(devices=[]):
        return take_first(f(X))


def record(f: Sequence2Sequence, X: Tensor) -> Tensor:
    """The same, with the graph that autograd keeps, starting from a copy of the input."""
    with torch.enable_grad():
        return run(f, X.detach().clone().requires_grad_(X.is_floating_point()))


def copy_module(f: Sequence2Sequence) -> Sequence2Sequence:
    """A copy of a module, whose buffers may then change; any other function as it is."""
    try:
        return deepcopy(f) if isinstance(f, nn.Module) else f
    except RuntimeError as error:
        raise ValueError(f"f cannot be copied, to leave its buffers as they are: {error}") from error


def take_first(output: Any) -> Tensor:
    """A tensor, or the first one of a tuple."""
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor):
        raise ValueError(f"f must return a tensor, or a tuple that begins with one, got {type(output).__name__}")
    return output


def list_tensors(*values: Any) -> list[Tensor]:
    """All tensors among these, however deep they lie in tuples, lists and dictionaries."""
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


@contextlib.contextmanager
def unfuse() -> Iterator[None]:
    """Run recurrent layers and attention as operations that can be looked at."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TF32 acceleration")  # the warning when oneDNN is switched off and on
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                yield
            finally:
                torch.backends.mha.set_fastpath_enabled(fast_path)


def walk_graph(output: Tensor) -> list[Any]:
    """The nodes of the graph that autograd keeps of an output, each after all that it was computed from."""
    found: dict[Any, None] = {}
    waiting = [output.grad_fn] if output.grad_fn else []
    while waiting:
        before = [node for node, _ in waiting[-1].next_functions if node is not None and node not in found]
        if not before:
            found[waiting.pop()] = None
        waiting += before
    return list(found)
