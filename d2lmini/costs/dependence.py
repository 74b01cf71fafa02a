"""Whether an output depends on an input: by gradients, and by putting something else in the place of the input.

A gradient finds the smallest influence, but none through a step (rounding, `argmax`, `detach`) or where a function is
saturated. Another input finds those, but nothing that is smaller than the rounding errors.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from d2lmini.costs.operations import name_operation
from d2lmini.costs.running import Sequence2Sequence, take_first

_SMALLEST = 1e-280  # below this a float64 gradient is about to underflow to 0
_REPEATS = 3  # how often a gradient has to come out the same, to be more than rounding errors
_NEAR, _SAME = 1e-9, 1e-3  # a point that near has the same gradient, up to one in a thousand
_LARGE = 1000  # times the change at a point that near, and a change is large
_NOISE = 1e-6  # changes below this part of the largest output may be rounding errors


class Underflows(TorchDispatchMode):
    """Notes whether a finite score got a weight of exactly 0, or a product of two numbers became 0."""

    def __init__(self) -> None:
        super().__init__()
        self.happened = False

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and look at what became of small numbers."""
        result, name = op(*args, **(kwargs or {})), name_operation(op)
        if name in ("exp", "exp2", "sigmoid", "_softmax") and not op._schema.is_mutable:
            self.happened |= bool(((result == 0) & args[0].isfinite()).any())
        elif name == "mul" and not op._schema.is_mutable:
            self.happened |= bool(((result == 0) & (args[0] != 0) & (args[1] != 0)).any())
        return result


def check_output(f: Sequence2Sequence, X: Tensor, underflows: Underflows) -> None:
    """Check that `f` returns (batch, m, ...), and the same for the same input."""
    output = take_first(f(X))
    with underflows:
        again = take_first(f(X))
    if output.dim() < 2:
        raise ValueError(f"f must return (batch, m, ...), or a tuple that begins with it, got {tuple(output.shape)}")
    if not torch.equal(output, again):
        raise ValueError("f gives two outputs for one input: is there dropout in training, or something not finite?")


def compare_gradients(measure: Callable[[Tensor, float], Tensor], X: Tensor, rng: torch.Generator) -> Tensor:
    """Where a gradient is not zero, and no rounding error either: those are others at a point nearby.

    `measure(X, scale)` gives the gradients at `X`, of something multiplied by `scale`, and divided by it again.
    """
    gradient = _check_size(measure(X, 1.0))
    depends = gradient != 0
    for _ in range(_REPEATS if depends.any() else 0):
        scale = 1 + torch.rand((), generator=rng, dtype=torch.float64).item()
        near = X * (1 + _NEAR * _draw(X, rng))
        depends &= (measure(near, scale) - gradient).abs() <= _SAME * gradient.abs()
    return depends


def find_by_gradients(f: Sequence2Sequence, X: Tensor, rng: torch.Generator) -> Tensor:
    """Which outputs have a gradient at which inputs: (m, n)."""
    output = take_first(f(X))
    weights = [_draw(y, rng) for y in output.unbind(1)]

    def measure(X: Tensor, scale: float) -> Tensor:
        X = X.detach().requires_grad_()
        output = take_first(f(X))
        if not output.requires_grad:
            return X.new_zeros(output.shape[1], *X.shape)
        rows = []
        for y, weight in zip(output.unbind(1), weights, strict=True):
            (grad,) = torch.autograd.grad((y * weight * scale).sum(), X, retain_graph=True, materialize_grads=True)
            rows.append(grad / scale)
        return torch.stack(rows)  # (m, batch, n, d)

    return compare_gradients(measure, X, rng).any(dim=3).any(dim=1)


def connects_by_gradients(layers: Sequence[Sequence2Sequence], X: Tensor, rng: torch.Generator) -> bool:
    """Whether the last output of a stack has a gradient at the first input.

    Gradients are taken back layer by layer, and made as large as 1 in each: nothing vanishes on a long way.
    """
    weight: list[Tensor] = []

    def measure(X: Tensor, scale: float) -> Tensor:
        inputs, outputs = [], []
        for layer in layers:
            inputs.append(X.detach().requires_grad_())
            outputs.append(X := take_first(layer(inputs[-1])))
        if not weight:
            weight.append(_draw(X[:, -1], rng))
        gradient = torch.zeros_like(X)
        gradient[:, -1] = weight[0] * scale
        for x, y in zip(reversed(inputs), reversed(outputs), strict=True):
            if not y.requires_grad:
                return torch.zeros_like(inputs[0][:, 0])
            (gradient,) = torch.autograd.grad(y, x, gradient, materialize_grads=True)
            gradient = gradient / gradient.abs().max().clamp(min=_SMALLEST)
        return gradient[:, 0]

    return bool(compare_gradients(measure, X, rng).any())


@torch.no_grad()
def find_by_replacing(f: Sequence2Sequence, X: Tensor, rng: torch.Generator, tokens: Sequence[int]) -> Tensor:
    """Which outputs change when a token is replaced by a larger one, or by its opposite: (m, tokens)."""
    output, columns = take_first(f(X)).double(), []
    nearby = [take_first(f(X * (1 + _NEAR * _draw(X, rng)))).double() for _ in range(_REPEATS)]
    noise = _LARGE * (torch.stack(nearby) - output).abs().max()  # of a constant only rounding errors change
    for token in tokens:
        changed = torch.zeros_like(output, dtype=torch.bool)
        larger = 10 * _draw(X[:, token], rng)  # (batch, d)
        for new in (larger, -larger):
            replaced = X.clone()
            replaced[:, token] = new
            other = take_first(f(replaced)).double()
            rounding = _NOISE * torch.maximum(output.abs().max(), other.abs().max())
            changed |= (other - output).abs() > torch.maximum(rounding, noise)
        columns.append(changed.movedim(1, 0).flatten(1).any(dim=1))  # (m,)
    return torch.stack(columns, dim=1)


def _draw(like: Tensor, rng: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=rng, dtype=torch.float64).to(like.device)


def _check_size(gradient: Tensor) -> Tensor:
    size = gradient.abs()
    if not size.isfinite().all():
        raise ValueError("a gradient is not finite: what depends and what does not cannot be told")
    if ((size > 0) & (size < _SMALLEST)).any():
        raise ValueError("a gradient is below 1e-280 and underflows: what depends and what does not cannot be told")
    return gradient
