"""What a layer costs: work, sequential operations and memory, counted while it runs.

Each instrument takes a function `f` of a sequence, for example a module, and an input `X` of shape `(batch, n, d)`, and
measures what `f(X)` does. It refuses what it cannot see: better no number than a wrong one.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from d2lmini.costs.blind_spots import KeepInside, UncountableProducts, unfuse
from d2lmini.costs.chains import measure_longest_chain
from d2lmini.costs.memory import TakenMemory
from d2lmini.costs.operations import PRODUCTS
from d2lmini.costs.running import Sequence2Sequence, copy_module, record, run, walk_graph

__all__ = ["count_flops", "count_sequential_operations", "measure_activation_memory"]


def count_flops(f: Sequence2Sequence, X: Tensor) -> int:
    """Floating-point operations of the matrix products and convolutions in `f(X)`; a multiply-add is 2.

        (a × b) @ (b × c): 2 a b c

    Counted by PyTorch's `FlopCounterMode`, with products of vectors added. It cannot see inside the fused LSTM and the
    fused attention, so the unfused versions stand in for them. What is computed entry by entry (biases, softmax,
    activation functions) does not count, and neither does a product written so, as `(A * B).sum()`. What `f` does in
    another thread, or with Python's own numbers, is not seen.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of floating-point operations.

    Raises:
        ValueError: if `f` uses an operation that the counter does not know, or multiplies complex matrices, or hands
            numbers to NumPy; if it has no matrix product or convolution; or if it is a module that cannot be copied.

    >>> d2l.count_flops(torch.nn.Linear(8, 8, bias=False), torch.zeros(1, 10, 8))
    1280
    """
    f, uncountable = copy_module(f), UncountableProducts()
    with unfuse(), KeepInside(), uncountable, FlopCounterMode(display=False, custom_mapping=PRODUCTS) as counter:
        run(f, X.clone())
    uncountable.refuse()
    total = int(counter.get_total_flops())
    if total == 0:
        raise ValueError("f uses no matrix product and no convolution: there is nothing to count")
    return total


def count_sequential_operations(f: Sequence2Sequence, X: Tensor) -> int:
    """Length of the longest chain of operations in `f(X)` in which each needs the result of the one before.

        length(operation) = 1 + max over its inputs of length(input)

    The chain begins at `X`: what is computed from parameters alone does not wait for the input. Moving entries about
    (views, `cat`, `stack`, indexing, `where`) counts nothing, and each entry keeps the length that it had. Only the
    growth of the length with n means anything: how many operations one step is split into is up to PyTorch and to the
    author of `f`. Pass the length on to `describe_growth` or `take_differences`, and compare it with nothing else. It
    belongs to `f` as it is written: another program for the same function may have a shorter chain. A sum or a product
    of matrices is one operation. If `f` returns a tuple, its first output is used.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.

    Returns:
        The number of operations in the longest chain.

    Raises:
        ValueError: if the output does not depend on `X`; if `f` uses an operation that hides a chain or might hide one
            (scans such as `cumsum`, sorting, Fourier transforms, solving equations, fused recurrent layers), but for
            `topk`, which counts as k maxima, one after the other; or if it takes numbers that depend on `X` into
            Python, where a branch or a loop may depend on them.

    >>> d2l.count_sequential_operations(torch.nn.Linear(8, 8), torch.zeros(1, 10, 8))
    1
    """
    length = measure_longest_chain(copy_module(f), X)
    if length < 0:
        raise ValueError("the output of f does not depend on X")
    return length


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
        ValueError: if nothing is kept, because the output does not need a gradient; if a function with a backward pass
            of its own keeps a tensor without `save_for_backward`, where it is not seen.

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
    for node in walk_graph(output.grad_fn):
        if any(isinstance(value, Tensor) for value in getattr(node, "__dict__", {}).values()):
            raise ValueError(f"{node.name()} keeps a tensor where it is not seen: use ctx.save_for_backward")
    return sum(storage.nbytes() for storage in kept.values())
