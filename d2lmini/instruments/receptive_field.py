"""Which inputs an output depends on, and how long the path between the ends of a sequence is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import torch
from torch import Tensor

from d2lmini.arguments import check_size
from d2lmini.instruments.running import Sequence2Sequence, copy_module, take_first

__all__ = ["find_maximum_path_length", "find_receptive_field"]

_SMALLEST = 1e-280  # below this a float64 gradient is about to underflow to 0


def find_receptive_field(f: Sequence2Sequence, X: Tensor, *, draws: int = 3) -> Tensor:
    """Which inputs each output of a layer depends on, found by its gradients at random inputs.

        output i depends on input j  ⇔  ∂yᵢ / ∂xⱼ ≠ 0

    `True` is certain. `False` means that no draw showed a dependence: one that a ReLU or a maximum hides in every draw
    is missed. Leave such functions out, or raise `draws`.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence, `(batch, n, d)` to `(batch, m, ...)`, or a tuple that begins with that.
        X: `(batch, n, d)` in float64, not empty; only its shape counts, as the values are drawn at random.
        draws: number of random inputs, at least 1.

    Returns:
        Boolean matrix `(m, n)`: `True` where output i depends on input j.

    Raises:
        ValueError: if `X` has another shape or dtype or `draws` is less than 1; if `f` gives two different outputs
            for one input; if a gradient is not finite, or so small that it might underflow to 0: then "does not depend"
            could not be told from "hardly depends".
    """
    _check_input(X)
    check_size("draws", draws)
    f = copy_module(f)
    rng = torch.Generator().manual_seed(0)
    found = []
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for _ in range(draws):
            inputs = torch.randn(X.shape, generator=rng, dtype=X.dtype).to(X.device).requires_grad_()
            found.append(_find_dependence(f, inputs, rng))  # (m, n)
    return torch.stack(found).any(dim=0)


def find_maximum_path_length(layers: Iterable[Sequence2Sequence], X: Tensor) -> int | None:
    """How many layers a stack needs until its last output depends on its first input.

    Where all layers treat all positions alike and do not wrap around the ends, no two positions are farther apart: this
    is the maximum path length in table 1 of Vaswani et al. (2017). For a recurrent network, take one step in time as
    the layer.

    Chapter: CNN, RNN, self-attention.

    Args:
        layers: the layers from the bottom up, each from `(batch, n, d)` to `(batch, n, d)`. All layers of a list are
            tried, but only n of an iterator, which may be endless (`itertools.repeat`).
        X: `(batch, n, d)` in float64, see `find_receptive_field`.

    Returns:
        The number of layers, or `None` if those tried do not connect the two. Functions like ReLU, which may hide a
        dependence, are better left out.

    Raises:
        ValueError: as `find_receptive_field` does.
    """
    _check_input(X)
    n = X.shape[1]
    reached = torch.arange(n, device=X.device) == 0  # what depends on the first input
    fields: dict[Sequence2Sequence, Tensor] = {}
    for depth, layer in enumerate(islice(layers, None if isinstance(layers, Sequence) else n), start=1):
        if layer not in fields:
            fields[layer] = find_receptive_field(layer, X)
        reached = (fields[layer] & reached).any(dim=1)
        if reached[-1]:
            return depth
    return None


def _check_input(X: Tensor) -> None:
    if not isinstance(X, Tensor) or X.dim() != 3 or X.dtype != torch.float64 or X.numel() == 0:
        got = f"{tuple(X.shape)} in {X.dtype}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must have shape (batch, n, d), none of them 0, and be in float64, got {got}")


def _find_dependence(f: Sequence2Sequence, X: Tensor, rng: torch.Generator) -> Tensor:
    """Which gradients at these inputs are not zero: (m, n)."""
    output, again = take_first(f(X)), take_first(f(X))
    if output.dim() < 2:
        raise ValueError(f"f must return (batch, m, ...), or a tuple that begins with it, got {tuple(output.shape)}")
    if not torch.equal(output, again):
        raise ValueError("f gives two outputs for one input: is there dropout in training, or something not finite?")
    if not output.requires_grad:
        return torch.zeros(output.shape[1], X.shape[1], dtype=torch.bool, device=X.device)
    rows = []
    for y in output.unbind(1):  # (batch, ...)
        weights = torch.randn(y.shape, generator=rng, dtype=X.dtype).to(X.device)
        (grad,) = torch.autograd.grad((y * weights).sum(), X, retain_graph=True, materialize_grads=True)
        rows.append(_tell_zeros(grad).any(dim=2).any(dim=0))
    return torch.stack(rows)


def _tell_zeros(grad: Tensor) -> Tensor:
    """Where a gradient is not zero, if that can be told."""
    size = grad.abs()
    if not size.isfinite().all():
        raise ValueError("a gradient is not finite: what depends and what does not cannot be told")
    if ((size > 0) & (size < _SMALLEST)).any():
        raise ValueError("a gradient is below 1e-280 and underflows: what depends and what does not cannot be told")
    return size > 0
