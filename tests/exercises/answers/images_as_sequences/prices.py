"""Answers to the exercises: what it costs to hide a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Pixels = Callable[[Tensor, int, Tensor], Tensor]


def chosen(X: Tensor, size: int, which: Tensor) -> Tensor:
    """The pixels of patch which[i] of picture i."""
    columns = X.shape[2] // size
    row, column = which // columns, which % columns
    y, x = torch.arange(X.shape[1]) // size, torch.arange(X.shape[2]) // size
    return (y[:, None] == row[:, None, None]) & (x == column[:, None, None])


def chosen_by_rows(X: Tensor, size: int, which: Tensor) -> Tensor:
    """Takes the number of rows for the number of columns."""
    rows = X.shape[1] // size
    y, x = torch.arange(X.shape[1]) // size, torch.arange(X.shape[2]) // size
    return (y[:, None] == (which // rows)[:, None, None]) & (x == (which % rows)[:, None, None])


def turned(X: Tensor, size: int, which: Tensor) -> Tensor:
    columns = X.shape[2] // size
    y, x = torch.arange(X.shape[1]) // size, torch.arange(X.shape[2]) // size
    return (y[:, None] == (which % columns)[:, None, None]) & (x == (which // columns)[:, None, None])


def one_pixel(X: Tensor, size: int, which: Tensor) -> Tensor:
    corner = torch.zeros(X.shape[1:], dtype=torch.bool)
    corner[::size, ::size] = True
    return chosen(X, size, which) & corner


def priced(
    pixels: Pixels = chosen,
    value: float | Callable[[Tensor], Tensor] = 0.0,
    result: Callable[[Tensor, Tensor], Any] = lambda before, after: before - after,
) -> Callable[..., Any]:
    """The price of a patch, right unless told otherwise."""

    @torch.no_grad()
    def answer(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
        painted = torch.where(pixels(X, size, which), value(X) if callable(value) else torch.tensor(value), X)
        before, after = ((model(Z).argmax(dim=1) == y).double().mean() for Z in (X, painted))
        return result(before, after)

    return answer


def priced_with_loops(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> float:
    white = X.clone()
    for picture, patch in zip(white, which.tolist(), strict=True):
        i, j = divmod(patch, X.shape[2] // size)
        picture[size * i : size * i + size, size * j : size * j + size] = 0
    right = [(model(Z).argmax(dim=1) == y).sum().item() / len(y) for Z in (X, white)]
    return right[0] - right[1]


def priced_by_fold(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> float:
    tokens = F.unfold(X[:, None], size, stride=size)  # (batch, size², n)
    tokens = tokens.masked_fill(F.one_hot(which, tokens.shape[2]).bool()[:, None], 0.0)
    white = F.fold(tokens, X.shape[1:], size, stride=size)[:, 0]
    right = [sum(a == b for a, b in zip(model(Z).argmax(1).tolist(), y.tolist(), strict=True)) for Z in (X, white)]
    return (right[0] - right[1]) / len(X)


def priced_one_by_one(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    lost = []
    for i in range(len(X)):
        white = torch.where(chosen(X[i : i + 1], size, which[i : i + 1]), 0.0, X[i : i + 1])
        lost += [float(model(X[i : i + 1]).argmax() == y[i]) - float(model(white).argmax() == y[i])]
    return torch.tensor(lost, dtype=torch.float64).mean()


def priced_by_scaling(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    rows, columns = X.shape[1] // size, X.shape[2] // size
    keep = 1 - F.one_hot(which, rows * columns).view(-1, rows, columns).float()
    white = X * F.interpolate(keep[:, None], scale_factor=size)[:, 0]
    return ((model(X).argmax(1) == y).double() - (model(white).argmax(1) == y).double()).mean()


def priced_in_place(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    found = priced()(model, X, y, which, size)
    X[:, :2] = 0
    return found


def priced_and_emptied(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    found = priced()(model, X, y, which, size)
    y.zero_()
    return found


def priced_with_zeroed_model(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    found = priced()(model, X, y, which, size)
    for part in model.parameters():
        part.data.zero_()
    return found


def as_a_number(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    return len(X) * priced()(model, X, y, which, size)


def priced_against_itself(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    return priced()(model, X, model(X).argmax(dim=1), which, size)


def priced_pieces(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    pieces = X.reshape(len(X), -1, size * size)
    white = pieces.masked_fill(F.one_hot(which, pieces.shape[1]).bool()[:, :, None], 0.0).reshape(X.shape)
    return (model(X).argmax(1) == y).double().mean() - (model(white).argmax(1) == y).double().mean()


def priced_by_loss(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    white = torch.where(chosen(X, size, which), 0.0, X)
    return F.cross_entropy(model(white), y) - F.cross_entropy(model(X), y)


def reshaped(change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Gives the model pictures of another shape."""

    def answer(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
        return priced()(lambda Z: model(change(Z)), X, y, which, size)

    return answer


def in_batches(size_of_batch: int, *, whole: bool = False) -> Callable[..., Any]:
    """The mean of what batches lose, in which a short last batch weighs as much as a whole one, or is left out."""

    def answer(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
        parts = [*zip(*(part.split(size_of_batch) for part in (X, y, which)), strict=True)]
        lost = [priced()(model, *part, size) for part in parts if len(part[0]) == size_of_batch or not whole]
        return sum(lost) / len(lost)

    return answer


def misled_only(before: Tensor, after: Tensor) -> Tensor:
    """Takes what is gained for twice as much."""
    return (before - after) * (1 + (before < after))


def weighed(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    """Right: in batches, each as heavy as it is long."""
    parts = zip(*(part.split(64) for part in (X, y, which)), strict=True)
    return sum(priced()(model, *part, size) * len(part[0]) for part in parts) / len(X)


def of_square_two(X: Tensor, size: int, which: Tensor) -> Tensor:
    """Right for the digits of the chapter only."""
    return chosen(X, 2, which)


RIGHT: dict[str, list[Any]] = {
    "measure-patch": [priced(), priced_with_loops, priced_by_fold, priced_one_by_one, priced_by_scaling, weighed],
    "use-price": [[9]],
}

WRONG: list[tuple[str, Any, str]] = [
    ("use-price", [3], "count all nine"),
    ("use-price", [6], "names the patch with most ink"),
    ("measure-patch", priced(result=lambda before, after: after), "how much is *lost*?"),
    ("measure-patch", priced(result=lambda before, after: after - before), "has the other sign"),
    ("measure-patch", priced(result=lambda before, after: abs(before - after)), "keep the sign"),
    ("measure-patch", priced(result=lambda before, after: max(before - after, 0 * after)), "keep the sign"),
    ("measure-patch", as_a_number, "not as a number of them"),
    ("measure-patch", priced(result=lambda before, after: 100 * (before - after)), "not per cent"),
    ("measure-patch", priced(result=lambda before, after: 1 - after / before), "not relative to"),
    ("measure-patch", priced(result=lambda before, after: 1 - after), "some answers were wrong from the beginning"),
    ("measure-patch", priced(result=lambda before, after: before), "look at one picture"),
    ("measure-patch", priced_by_loss, "the accuracy, not the loss"),
    ("measure-patch", priced(lambda X, size, which: chosen(X, size, which[:1])), "which[i] for picture i"),
    ("measure-patch", priced(lambda X, size, which: chosen(X, size, which[-1:])), "which[i] for picture i"),
    ("measure-patch", priced(turned), "rows and columns are swapped"),
    ("measure-patch", priced(chosen_by_rows), "how many patches lie side by side?"),
    ("measure-patch", priced(value=1.0), "painted it black"),
    ("measure-patch", priced(value=0.5), "painted it grey"),
    ("measure-patch", priced(value=lambda X: X.mean(dim=(1, 2), keepdim=True)), "painted it grey"),
    ("measure-patch", priced(value=lambda X: X.min()), "whatever the lightest pixel"),
    ("measure-patch", priced(value=lambda X: X.amin(dim=(1, 2), keepdim=True)), "whatever the lightest pixel"),
    ("measure-patch", lambda model, X, y, which, size: model(X)[:, 99].item(), "run it yourself"),
    ("measure-patch", priced(lambda *a: ~chosen(*a)), "and keep the others"),
    ("measure-patch", priced(lambda *a: chosen(*a).any(dim=0, keepdim=True)), "all patches that anybody has named"),
    ("measure-patch", priced(one_pixel), "the whole patch"),
    ("measure-patch", priced(lambda X, size, which: torch.zeros_like(X).bool()), "measure with the pictures as they"),
    ("measure-patch", priced_pieces, "not a piece of reshape"),
    ("measure-patch", priced(of_square_two), "look at one picture"),
    ("measure-patch", reshaped(lambda Z: Z[:, None]), "the model asks for pictures as X holds them"),
    ("measure-patch", reshaped(lambda Z: Z.flatten(1)), "the model asks for pictures as X holds them"),
    ("measure-patch", reshaped(lambda Z: Z.mT), "the model asks for pictures as X holds them"),
    *(("measure-patch", in_batches(count), "a short last batch") for count in (16, 32, 50, 64, 100, 128, 200, 256)),
    ("measure-patch", in_batches(100, whole=True), "those of a short last batch, too"),
    ("measure-patch", priced(result=lambda before, after: (before - after).round(decimals=2)), "look at one picture"),
    ("measure-patch", priced(result=misled_only), "what does the model answer with the patches"),
    ("measure-patch", priced_in_place, "works in place"),
    ("measure-patch", priced_and_emptied, "works in place"),
    ("measure-patch", priced_with_zeroed_model, "works in place"),
    ("measure-patch", priced_against_itself, "need not be a lost one"),
    ("measure-patch", lambda *args: None, "return a float"),
]
