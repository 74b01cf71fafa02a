"""Instruments: which inputs an output depends on, and how many layers connect two positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_size

__all__ = ["layers_to_connect", "reach"]

_SMALLEST = 1e-280  # below this a float64 gradient is about to underflow to 0


def reach(f: Callable[[Tensor], Any], X: Tensor, *, draws: int = 3) -> Tensor:
    """Which inputs each output of a layer depends on, found by its gradients at random inputs.

    ``True`` is sure. ``False`` means that no draw showed a dependence: what a ReLU or a maximum hides at every one of
    them is missed. So leave such functions out, or raise ``draws``.

    Args:
        f: a function of a sequence, ``(batch, n, d)`` to ``(batch, m, ...)``, or a tuple that begins with that.
        X: ``(batch, n, d)`` in float64, not empty: how large the random inputs are to be. Their values are drawn here.
        draws: number of random inputs, at least 1.

    Returns:
        Boolean matrix ``(m, n)``: ``True`` where output i depends on input j.

    Raises:
        ValueError: if ``X`` has another shape or dtype or ``draws`` is less than 1; if ``f`` gives two outputs for one
            input; if a gradient is not finite, or so small that it may as well underflow to 0: then "does not depend"
            could not be told from "hardly depends".
    """
    if not isinstance(X, Tensor) or X.dim() != 3 or X.dtype != torch.float64 or X.numel() == 0:
        got = f"{tuple(X.shape)} in {X.dtype}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must have shape (batch, n, d), none of them 0, and be in float64, got {got}")
    check_size("draws", draws)
    f = deepcopy(f) if isinstance(f, nn.Module) else f
    rng = torch.Generator().manual_seed(0)
    found = []
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for _ in range(draws):
            inputs = torch.randn(X.shape, generator=rng, dtype=X.dtype).to(X.device).requires_grad_()
            found.append(_dependence(f, inputs, rng))
    return torch.stack(found).any(dim=0)


def _dependence(f: Callable[[Tensor], Any], inputs: Tensor, rng: torch.Generator) -> Tensor:
    """Which gradients at these inputs are not zero: (m, n)."""
    output, again = (_first(f(inputs)) for _ in range(2))
    if not torch.equal(output, again):
        raise ValueError("f gives two outputs for one input: is there dropout in training, or something not finite?")
    if not output.requires_grad:
        return torch.zeros(output.shape[1], inputs.shape[1], dtype=torch.bool)
    rows = []
    for i in range(output.shape[1]):
        weights = torch.randn(output[:, i].shape, generator=rng, dtype=inputs.dtype).to(inputs.device)
        grad = torch.autograd.grad((output[:, i] * weights).sum(), inputs, retain_graph=True, materialize_grads=True)[0]
        size = grad.abs()
        if not size.isfinite().all():
            raise ValueError("a gradient is not finite: what depends and what does not cannot be told")
        if ((size > 0) & (size < _SMALLEST)).any():
            raise ValueError("a gradient is below 1e-280 and underflows: what depends and what does not cannot be told")
        rows.append((size > 0).any(dim=2).any(dim=0))
    return torch.stack(rows)


def _first(output: Any) -> Tensor:
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor) or output.dim() < 2:
        raise ValueError(f"f must return (batch, m, ...) or a tuple that begins with it, got {type(output).__name__}")
    return output


def layers_to_connect(
    layers: Iterable[Callable[[Tensor], Any]], X: Tensor, source: int = 0, target: int = -1
) -> int | None:
    """How many layers a stack needs until the output at ``target`` depends on the input at ``source``.

    This is the length of the path from the one position to the other. For a recurrent network, take one step in time
    as the layer.

    Args:
        layers: the layers from the bottom up, each from ``(batch, n, d)`` to ``(batch, n, d)``. All layers of a list
            are looked at, and n of an iterator, which may be endless (:func:`itertools.repeat`).
        X: ``(batch, n, d)`` in float64, see :func:`reach`.
        source: position of the input.
        target: position of the output.

    Returns:
        The number of layers, or ``None`` if those looked at do not connect. Functions like ReLU, which may hide a
        dependence, are better left out.

    Raises:
        ValueError: as :func:`reach` does, or if a position lies outside the sequence.
    """
    n = X.shape[1]
    for name, position in (("source", source), ("target", target)):
        if not -n <= position < n:
            raise ValueError(f"{name} must lie in {-n}..{n - 1}, got {position}")
    reached = torch.zeros(n, dtype=torch.bool)
    reached[source] = True
    matrices: dict[Any, Tensor] = {}
    for number, layer in enumerate(islice(layers, None if isinstance(layers, Sequence) else n), start=1):
        if layer not in matrices:
            matrices[layer] = reach(layer, X)
        reached = (matrices[layer] & reached).any(dim=1)
        if reached[target]:
            return number
    return None
