"""Which inputs an output depends on, and how long the path between the ends of a sequence is."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor

from d2lmini.checks import check_size
from d2lmini.costs.counting import count_sequential_operations
from d2lmini.costs.running import Sequence2Sequence, copy_module, take_first, unfuse

__all__ = ["find_maximum_path_length", "find_receptive_field"]

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


def find_maximum_path_length(layers: Iterable[Sequence2Sequence], X: Tensor) -> int | None:
    """How many layers a stack needs until its last output depends on its first input.

    With each layer more, the gradient of the last output is taken back to the first input, and made as large as 1 on
    its way in each layer: nothing vanishes on a long one. Where all layers treat all positions alike and do not wrap
    around the ends, no two positions are farther apart: this is the maximum path length in table 1 of Vaswani et al.
    (2017). For a recurrent network, take one step in time as the layer.

    Chapter: CNN, RNN, self-attention.

    Args:
        layers: the layers from the bottom up, each from `(batch, n, d)` to `(batch, n, d)`. All layers of a list are
            tried, but only n of an iterator, which may be endless (`itertools.repeat`).
        X: `(batch, n, d)` in float64, see `find_receptive_field`.

    Returns:
        The number of layers, or `None` if no draw showed that those tried connect the two.

    Raises:
        ValueError: as `find_receptive_field` does; and if a layer has a chain of operations that grows with n, as
            `nn.RNN` does, or hides one (see `count_sequential_operations`): it is not one step of a path. (A layer that
            takes no sequence of half the length cannot be asked.)

    >>> layers = [d2l.Convolution(4, 3, dtype=torch.float64) for _ in range(9)]
    >>> d2l.find_maximum_path_length(layers, torch.zeros(1, 6, 4, dtype=torch.float64))
    5
    """
    _check_input(X)
    stack: list[Sequence2Sequence] = []
    asked: set[Sequence2Sequence] = set()
    for layer in islice(layers, None if isinstance(layers, Sequence) else X.shape[1]):
        if layer not in asked:
            _check_one_step(layer, X)
            asked.add(layer)
        stack.append(copy_module(layer))
        if _connects(stack, X):
            return len(stack)
    return None


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


def _connects(stack: list[Sequence2Sequence], X: Tensor) -> bool:
    """Whether the last output of a stack has a gradient at its first input, at one of three random inputs."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), unfuse():
        return any(_reach(stack, inputs) for inputs in _draw_inputs(X, 3))


def _reach(stack: list[Sequence2Sequence], X: Tensor) -> bool:
    passed = []
    for layer in stack:
        X = X.detach().requires_grad_()
        passed.append((X, X := take_first(layer(X))))
    gradient = torch.zeros_like(X)
    gradient[:, -1] = _draw_weights(X[:, -1])
    for x, y in reversed(passed):
        (gradient,) = torch.autograd.grad(y, x, gradient, materialize_grads=True)
        gradient = _check_gradient(gradient) / gradient.abs().max().clamp(min=_SMALLEST)
    return bool(gradient[:, 0].any())


def _check_one_step(layer: Sequence2Sequence, X: Tensor) -> None:
    """Check that a layer needs no longer chain for all tokens than for half of them, if it takes half of them."""
    longest = count_sequential_operations(layer, X)
    try:
        shorter = count_sequential_operations(layer, X[:, : (X.shape[1] + 1) // 2])
    except Exception:  # a layer for sequences of one length, whatever it says about it
        return
    if longest > shorter:
        raise ValueError(
            f"a layer has a chain of {longest} operations, and of {shorter} for half of the tokens: it takes them one"
            " after another, and is not one step of a path. Take one step in time as the layer"
        )
