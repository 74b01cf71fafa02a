"""Which inputs an output depends on, and how long the path between the ends of a sequence is."""

from collections.abc import Iterable, Sequence
from itertools import islice

import torch
from torch import Tensor

from d2lmini.checks import check_size
from d2lmini.costs.blind_spots import unfuse
from d2lmini.costs.chains import measure_longest_chain
from d2lmini.costs.dependence import (
    Underflows,
    check_output,
    connects_by_gradients,
    find_by_gradients,
    find_by_replacing,
)
from d2lmini.costs.running import Sequence2Sequence, copy_module, take_first

__all__ = ["find_maximum_path_length", "find_receptive_field"]


def find_receptive_field(f: Sequence2Sequence, X: Tensor, *, draws: int = 3) -> Tensor:
    """Which inputs each output of a layer depends on, found at random inputs.

        output i depends on input j  ⇐  ∂yᵢ / ∂xⱼ ≠ 0, or yᵢ is another one when xⱼ is replaced

    The gradient finds the smallest influence; replacing finds one that has no gradient, as through `argmax`. A `True`
    is more than rounding errors: the gradient is the same at a point nearby, or the change is large. `False` means that
    no draw showed a dependence: one that comes up at rare inputs only is missed. Then raise `draws`.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence, `(batch, n, d)` to `(batch, m, ...)`, or a tuple that begins with that.
        X: `(batch, n, d)` in float64, not empty; only its shape counts, as the values are drawn at random.
        draws: number of random inputs, at least 1.

    Returns:
        Boolean matrix `(m, n)`: `True` where output i depends on input j.

    Raises:
        ValueError: if `X` has another shape or dtype or `draws` is less than 1; if `f` gives two different outputs
            for one input; if a gradient is not finite, or so small that it might underflow to 0; if a finite score gets
            a weight of exactly 0, or a product is 0 and its factors are not: then "does not depend" could not be told
            from "hardly depends".

    >>> layer = d2l.Convolution(4, 3, causal=True, dtype=torch.float64)
    >>> d2l.find_receptive_field(layer, torch.zeros(1, 4, 4, dtype=torch.float64)).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)
    """
    _check_input(X)
    check_size("draws", draws)
    f = copy_module(f)
    rng = torch.Generator().manual_seed(0)
    found, underflows = [], Underflows()
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), unfuse():
        for _ in range(draws):
            inputs = _draw_input(X, rng)
            check_output(f, inputs, underflows)
            found.append(find_by_replacing(f, inputs, rng, range(X.shape[1])))  # (m, n)
            found.append(find_by_gradients(f, inputs, rng))
    depends = torch.stack(found).any(dim=0)
    if underflows.happened and not depends.all():
        raise ValueError("a number of f underflows to 0: what depends and what does not cannot be told")
    return depends


def find_maximum_path_length(layers: Iterable[Sequence2Sequence], X: Tensor) -> int | None:
    """How many layers a stack needs until its last output depends on its first input.

    The receptive fields of the layers say from where it may; whether it does is then measured with the whole stack up
    to there, as what one layer passes on the next may throw away. Where all layers treat all positions alike and do
    not wrap around the ends, no two positions are farther apart: this is the maximum path length in table 1 of Vaswani
    et al. (2017). For a recurrent network, take one step in time as the layer.

    Chapter: CNN, RNN, self-attention.

    Args:
        layers: the layers from the bottom up, each from `(batch, n, d)` to `(batch, n, d)`. All layers of a list are
            tried, but only n of an iterator, which may be endless (`itertools.repeat`).
        X: `(batch, n, d)` in float64, see `find_receptive_field`.

    Returns:
        The number of layers, or `None` if no draw showed that those tried connect the two.

    Raises:
        ValueError: as `find_receptive_field` does; and if a layer that connects the two has a chain of operations that
            grows with n, as `nn.RNN` does, or might hide one (see `count_sequential_operations`): it is not one step of
            a path. (A layer that takes no sequence of half the length cannot be asked.)

    >>> layers = [d2l.Convolution(4, 3, dtype=torch.float64) for _ in range(9)]
    >>> d2l.find_maximum_path_length(layers, torch.zeros(1, 6, 4, dtype=torch.float64))
    5
    """
    _check_input(X)
    n = X.shape[1]
    reached = torch.arange(n, device=X.device) == 0  # what may depend on the first input
    fields: dict[Sequence2Sequence, Tensor] = {}
    stack: list[Sequence2Sequence] = []
    for layer in islice(layers, None if isinstance(layers, Sequence) else n):
        stack.append(layer)
        if layer not in fields:
            fields[layer] = find_receptive_field(layer, X)
            if fields[layer][-1, 0]:
                _check_one_step(layer, X)
        reached = (fields[layer] & reached).any(dim=1)
        if reached[-1] and _connect(stack, X):
            return len(stack)
    return None


def _check_input(X: Tensor) -> None:
    if not isinstance(X, Tensor) or X.dim() != 3 or X.dtype != torch.float64 or X.numel() == 0:
        got = f"{tuple(X.shape)} in {X.dtype}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must have shape (batch, n, d), none of them 0, and be in float64, got {got}")


def _draw_input(X: Tensor, rng: torch.Generator) -> Tensor:
    return torch.randn(X.shape, generator=rng, dtype=X.dtype).to(X.device)


def _connect(stack: list[Sequence2Sequence], X: Tensor, draws: int = 3) -> bool:
    """Whether the last output of a stack depends on its first input."""
    copies = [copy_module(layer) for layer in stack]
    rng = torch.Generator().manual_seed(0)

    def compose(X: Tensor) -> Tensor:
        for layer in copies:
            X = take_first(layer(X))
        return X

    with torch.random.fork_rng(devices=[]), torch.enable_grad(), unfuse():
        for _ in range(draws):
            inputs = _draw_input(X, rng)
            if connects_by_gradients(copies, inputs, rng) or find_by_replacing(compose, inputs, rng, [0])[-1, 0]:
                return True
    return False


def _check_one_step(layer: Sequence2Sequence, X: Tensor) -> None:
    """Check that a layer needs no longer chain for all tokens than for half of them, if it takes half of them."""
    longest = measure_longest_chain(copy_module(layer), X)
    try:
        shorter = measure_longest_chain(copy_module(layer), X[:, : (X.shape[1] + 1) // 2])
    except Exception:  # a layer for sequences of one length, whatever it says about it
        return
    if longest > shorter:
        raise ValueError(
            f"a layer has a chain of {longest} operations, and of {shorter} for half of the tokens: it takes them one"
            " after another, and is not one step of a path. Take one step in time as the layer"
        )
