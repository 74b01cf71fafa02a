"""What a layer costs: work, sequential operations and memory, counted while it runs.

Each instrument takes a function `f` of a sequence, for example a module, and an input `X` of shape `(batch, n, d)`, and
measures what `f(X)` does. It refuses what it cannot see: better no number than a wrong one.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from d2lmini.instruments.blind_spots import PRODUCTS, SeenOperations, refuse_hidden_chain, refuse_uncountable, unfuse
from d2lmini.instruments.running import Sequence2Sequence, copy_module, record, run

__all__ = ["count_flops", "count_sequential_operations", "measure_activation_memory"]


def count_flops(f: Sequence2Sequence, X: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions in `f(X)`; a multiply-add is 2.

        (a × b) @ (b × c): 2 a b c

    Counted by PyTorch's `FlopCounterMode`, with products of vectors added. It cannot see inside the fused LSTM and the
    fused attention, so the unfused versions stand in for them. What is computed entry by entry (biases, softmax,
    activation functions) does not count.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of floating-point operations.

    Raises:
        ValueError: if `f` uses an operation that the counter cannot look into, or has no matrix product or convolution.
    """
    seen = SeenOperations()
    with unfuse(), seen, FlopCounterMode(display=False, custom_mapping=PRODUCTS) as counter:
        run(copy_module(f), X.clone())
    refuse_uncountable(seen.operations)
    total = int(counter.get_total_flops())
    if total == 0:
        raise ValueError("f uses no matrix product and no convolution: there is nothing to count")
    return total


def count_sequential_operations(f: Sequence2Sequence, X: Tensor) -> int:
    """Length of the longest chain of operations in `f(X)` in which each needs the result of the one before.

        length(operation) = 1 + max over its inputs of length(input)

    The chain is found in the graph that autograd keeps. Only the growth of its length with n means anything: how many
    operations one step is split into is up to PyTorch and to the author of `f`. Pass the length on to `describe_growth`
    or `take_differences`, and compare it with nothing else. What has no gradient (behind `detach` or under `no_grad`)
    is not seen. If `f` returns a tuple, its first output is used.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of operations in the longest chain.

    Raises:
        ValueError: if the output has no graph, or the graph has nodes that hide a chain: fused recurrent layers, scans
            such as `cumsum`, writing into part of a tensor, and functions with a backward pass of their own.
    """
    with unfuse():
        last = record(copy_module(f), X).grad_fn
    if last is None:
        raise ValueError("the output of f does not depend on X or on a parameter by operations with a gradient")
    inputs = _read_graph(last)
    length: dict[Any, int] = {}
    for operation in TopologicalSorter(inputs).static_order():  # inputs first
        refuse_hidden_chain(operation)
        own = "AccumulateGrad" not in operation.name()  # a parameter waits for nothing
        length[operation] = own + max((length[before] for before in inputs[operation]), default=0)
    return length[last]


def measure_activation_memory(f: Sequence2Sequence, X: Tensor) -> int:
    """Bytes that autograd keeps for the backward pass of `f(X)`, parameters and buffers not included.

    A tensor that several operations keep counts once, and so does a tensor that is kept through a view. A fused LSTM
    keeps a work space whose size depends on the processor. What `f` stores through hooks of its own is not seen.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of bytes.

    Raises:
        ValueError: if nothing is kept, because the output does not need a gradient.
    """
    f = copy_module(f)
    tensors = (*f.parameters(), *f.buffers()) if isinstance(f, nn.Module) else ()
    own = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        parameter = isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter)
        if not parameter and storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that no other storage takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = record(f, X)
    if output.grad_fn is None:
        raise ValueError("the output of f needs no gradient: nothing is kept for a backward pass")
    return sum(storage.nbytes() for storage in kept.values())


def _read_graph(last: Any) -> dict[Any, list[Any]]:
    """For each operation in the graph of the last one, those whose results it needs."""
    inputs: dict[Any, list[Any]] = {}
    waiting = [last]
    while waiting:
        operation = waiting.pop()
        if operation not in inputs:
            inputs[operation] = [before for before, _ in operation.next_functions if before is not None]
            waiting += inputs[operation]
    return inputs
