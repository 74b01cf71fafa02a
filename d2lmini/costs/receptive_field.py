"""Which inputs an output depends on."""

from collections.abc import Iterator

import torch
from torch import Tensor

from d2lmini.checks import check_size
from d2lmini.costs.running import Sequence2Sequence, copy_module, take_first, unfuse

__all__ = ["find_receptive_field"]

_SMALLEST = 1e-280  # below this a gradient in float64 is about to underflow to 0


def find_receptive_field(f: Sequence2Sequence, X: Tensor, *, draws: int = 3) -> Tensor:
    """Which inputs each output of a layer depends on, found at random inputs.

        output i depends on input j  ⇐  ∂yᵢ / ∂xⱼ ≠ 0

    `True` is any gradient but 0, be it as small as the rounding errors of a Fourier transform. `False` means that no
    draw gave one: an influence that has no gradient (`argmax`, rounding), that is too small for float64 (a weight of
    e⁻¹⁰⁰⁰) or comes up at rare inputs only is missed. For the last, raise `draws`.

    Chapter: CNN, RNN, self-attention.

    Args:
        f: a function of a sequence, `(batch, n, d)` to `(batch, m, ...)`, or a tuple that begins with that.
        X: `(batch, n, d)` in float64, not empty; only its shape counts, as the values are drawn at random.
        draws: number of random inputs, at least 1.

    Returns:
        Boolean matrix `(m, n)`: `True` where output i depends on input j.

    Raises:
        ValueError: if `X` has another shape or dtype or `draws` is less than 1; if the output of `f` needs no gradient,
            or if a gradient is not finite or about to underflow to 0.

    >>> layer = d2l.Convolution(4, 3, causal=True, dtype=torch.float64)
    >>> d2l.find_receptive_field(layer, torch.zeros(1, 4, 4, dtype=torch.float64)).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)
    """
    _check_input(X)
    check_size("draws", draws)
    f, found = copy_module(f), []
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), unfuse():
        for inputs in _draw_inputs(X, draws):
            output = take_first(f(inputs))
            if output.dim() < 2 or not output.requires_grad:
                kind = f"{tuple(output.shape)} with{'' if output.requires_grad else 'out'} a gradient"
                raise ValueError(f"f must return (batch, m, ...) with a gradient, got {kind}")
            weighted = (output * _draw_weights(output)).unbind(1)
            rows = [
                torch.autograd.grad(y.sum(), inputs, retain_graph=True, materialize_grads=True)[0] for y in weighted
            ]
            found.append(_check_gradient(torch.stack(rows)).ne(0).any(dim=3).any(dim=1))  # (m, n)
    return torch.stack(found).any(dim=0)


def _check_input(X: Tensor) -> None:
    if not isinstance(X, Tensor) or X.dim() != 3 or X.dtype != torch.float64 or X.numel() == 0:
        got = f"{tuple(X.shape)} in {X.dtype}" if isinstance(X, Tensor) else type(X).__name__
        raise ValueError(f"X must have shape (batch, n, d), none of them 0, and be in float64, got {got}")


def _draw_inputs(X: Tensor, draws: int) -> Iterator[Tensor]:
    rng = torch.Generator().manual_seed(0)
    for _ in range(draws):
        yield torch.randn(X.shape, generator=rng, dtype=X.dtype).to(X.device).requires_grad_()


def _draw_weights(like: Tensor) -> Tensor:
    """A weight for each entry of an output: unlike a plain sum, a weighted one of a softmax is no constant."""
    return torch.rand(like.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(like.device)


def _check_gradient(gradient: Tensor) -> Tensor:
    size = gradient.abs()
    if not size.isfinite().all() or ((size > 0) & (size < _SMALLEST)).any():
        raise ValueError("a gradient is not finite, or underflows: what depends and what does not cannot be told")
    return gradient
