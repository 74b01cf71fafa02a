"""Instruments: which inputs an output depends on, and how many layers connect two positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor

__all__ = ["layers_to_connect", "reach"]

_SMALLEST = 1e-280  # below this a float64 gradient is about to underflow to 0


def reach(f: Callable[[Tensor], Any], X: Tensor, *, draws: int = 3) -> Tensor:
    """Which inputs each output of a layer depends on, found by its gradients at random inputs.

    Args:
        f: a function of a sequence, ``(batch, n, d)`` to ``(batch, m, ...)``, or a tuple that begins with that.
        X: ``(batch, n, d)`` in float64: how large the random inputs are to be. Their values are drawn here.
        draws: number of random inputs. A dependence counts if one of them shows it: a ReLU may hide it at the others.

    Returns:
        Boolean matrix ``(m, n)``: ``True`` where output i depends on input j.

    Raises:
        ValueError: if ``X`` has another shape or is not in float64, or a gradient is so small that it may as well
            underflow to 0: then "does not depend" could not be told from "hardly depends".
    """
    if X.dim() != 3 or X.dtype != torch.float64:
        raise ValueError(f"X must have shape (batch, n, d) and be in float64, got {tuple(X.shape)} in {X.dtype}")
    rng = torch.Generator().manual_seed(0)
    total = None
    for _ in range(draws):
        inputs = torch.randn(X.shape, generator=rng, dtype=X.dtype).to(X.device).requires_grad_()
        with torch.enable_grad():
            output = f(inputs)
            output = output[0] if isinstance(output, tuple) else output
        rows = []
        for i in range(output.shape[1]):
            weights = torch.randn(output[:, i].shape, generator=rng, dtype=X.dtype).to(X.device)
            grad = torch.autograd.grad((output[:, i] * weights).sum(), inputs, retain_graph=True, allow_unused=True)[0]
            rows.append(_nonzero(grad, inputs))
        found = torch.stack(rows)
        total = found if total is None else total | found
    assert total is not None
    return total


def _nonzero(grad: Tensor | None, inputs: Tensor) -> Tensor:
    if grad is None:
        return torch.zeros(inputs.shape[1], dtype=torch.bool)
    size = grad.abs()
    if ((size > 0) & (size < _SMALLEST)).any():
        raise ValueError("a gradient is below 1e-280 and underflows: what depends and what does not cannot be told")
    return (size > 0).any(dim=2).any(dim=0)


def layers_to_connect(
    layers: Iterable[Callable[[Tensor], Any]], X: Tensor, source: int = 0, target: int = -1
) -> int | None:
    """How many layers a stack needs until the output at ``target`` depends on the input at ``source``.

    This is the length of the path from the one position to the other. For a recurrent network, take one step in time
    as the layer.

    Args:
        layers: the layers from the bottom up, each from ``(batch, n, d)`` to ``(batch, n, d)``; without end for one
            layer again and again (:func:`itertools.repeat`). At most n of them are looked at.
        X: ``(batch, n, d)`` in float64, see :func:`reach`.
        source: position of the input.
        target: position of the output.

    Returns:
        The number of layers, or ``None`` if they never connect.

    Raises:
        ValueError: as :func:`reach` does.
    """
    n = X.shape[1]
    reached = torch.zeros(n, dtype=torch.bool)
    reached[source] = True
    matrices: dict[Any, Tensor] = {}
    for number, layer in enumerate(islice(layers, n), start=1):
        if layer not in matrices:
            matrices[layer] = reach(layer, X)
        reached = (matrices[layer] & reached).any(dim=1)
        if reached[target]:
            return number
    return None
