"""How an instrument runs what it measures: random numbers, buffers, gradients and the input stay as they were."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

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


def walk_graph(last: Any) -> list[Any]:
    """The nodes of the graph that autograd keeps, from the last one back; none for `None`."""
    nodes, waiting = [], [last]
    found = {None}
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            nodes.append(node)
            waiting += [before for before, _ in node.next_functions]
    return nodes
