"""What it costs to hide a patch."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import Case, exercise


@torch.no_grad()
def price(
    model: Any,
    X: Tensor,
    y: Tensor,
    which: Tensor,
    size: int,
    *,
    find: Any = lambda which, rows, columns: (which // columns, which % columns),
    paint: Any = lambda X, hidden: X.masked_fill(hidden, 0.0),
    score: Any = lambda logits, y: (logits.argmax(dim=1) == y).double(),
    result: Any = lambda before, after: (before - after).mean(),
) -> Any:
    """How much accuracy a hidden patch costs, right unless told otherwise."""
    row, column = find(which, X.shape[1] // size, X.shape[2] // size)
    down, right = torch.arange(X.shape[1]) // size, torch.arange(X.shape[2]) // size
    hidden = (down == row[:, None])[:, :, None] & (right == column[:, None])[:, None]  # (batch, H, W)
    return result(*(score(model(Z), y) for Z in (X, paint(X, hidden))))


def cut_by_reshape(model: Any, X: Tensor, y: Tensor, which: Tensor, size: int) -> Any:
    """Hides pieces of neighbouring numbers, which are no patches."""
    pieces = X.reshape(len(X), -1, size * size)
    hidden = F.one_hot(which, pieces.shape[1]).bool()[:, :, None].expand_as(pieces).reshape(X.shape)
    return price(model, X, y, which, size, paint=lambda X, _: X.masked_fill(hidden, 0.0))


def write(seed: int, rows: int, columns: int, size: int, count: int, *, least: float = 0.0, y: str = "") -> str:
    """The code of a case: a model that is wrong now and then, and pictures of `rows` by `columns` patches."""
    height, width = rows * size, columns * size
    return (
        f"torch.manual_seed({seed}); W = torch.randint(-99, 99, (10, {height * width})) / 99; "
        f"model = torch.nn.Sequential(torch.nn.Flatten(1, 2), torch.nn.Linear({height * width}, 10, bias=False)); "
        f"model[1].weight.data = W; X = torch.randint({round(99 * least)}, 100, ({count}, {height}, {width})) / 99; "
        f"which = torch.randint({rows * columns}, ({count},)); "
        f"y = {y or 'model(X).argmax(dim=1); y[::9] = (y[::9] + 1) % 10'}; size = {size}"
    )


exercise(
    "measure-patch",
    price,
    (
        *(write(*sizes) for sizes in ((0, 2, 4, 3, 401), (3, 4, 4, 2, 397), (1, 5, 2, 4, 307), (3, 3, 3, 1, 311))),
        write(2, 3, 4, 2, 299, least=0.5),
        Case(write(11, 2, 2, 3, 299, y="torch.randint(10, (299,))"), claim="where it misleads it is negative"),
    ),
    {
        "that is the accuracy with the patches white: how much is *lost*?": {"result": lambda b, a: a.mean()},
        "after minus before has the other sign": {"result": lambda b, a: (a - b).mean()},
        "a price below 0 says that the patch misleads: keep the sign": (
            {"result": lambda b, a: (b - a).mean().abs()},
            {"result": lambda b, a: (b - a).mean().clamp(min=0)},
        ),
        "as a share of all pictures, not as a number of them": {"result": lambda b, a: (b - a).sum()},
        "as a share, not per cent": {"result": lambda b, a: 100 * (b - a).mean()},
        "lost as a difference, not relative to the accuracy before": {"result": lambda b, a: 1 - a.mean() / b.mean()},
        "compare with y: some answers were wrong from the beginning": {"result": lambda b, a: 1 - a.mean()},
        "compare with y: another answer need not be a lost one": lambda model, X, y, which, size: price(
            model, X, model(X).argmax(1), which, size
        ),
        "the accuracy, not the loss": (
            {"score": F.cross_entropy},
            {"score": F.cross_entropy, "result": lambda before, after: after - before},
        ),
        "measure with the pictures as they were, too": {"result": lambda b, a: 0.0},
        "each picture has a patch of its own: which[i] for picture i": tuple(
            {"paint": lambda X, hidden, i=i: X.masked_fill(hidden[i].expand_as(X), 0.0)} for i in (0, -1)
        ),
        "patch 1 lies to the right of patch 0: rows and columns are swapped": (
            {"find": lambda which, rows, columns: (which % columns, which // columns)},
            {"find": lambda which, rows, columns: (which % rows, which // rows)},
        ),
        "how many patches lie side by side? That need not be how many lie one above the other": {
            "find": lambda which, rows, columns: (which // rows, which % rows)
        },
        "white is 0: you have painted it black, or grey": (
            {"paint": lambda X, hidden: X.masked_fill(hidden, 1.0)},
            {"paint": lambda X, hidden: X.masked_fill(hidden, 0.5)},
            {"paint": lambda X, hidden: X.where(~hidden, X.mean())},
            {"paint": lambda X, hidden: X.where(~hidden, X.mean(dim=(1, 2), keepdim=True))},
        ),
        "white is 0, whatever the lightest pixel of these pictures is": (
            {"paint": lambda X, hidden: X.where(~hidden, X.min())},
            {"paint": lambda X, hidden: X.where(~hidden, X.amin(dim=(1, 2), keepdim=True))},
        ),
        "hide this patch, and keep the others": {"paint": lambda X, hidden: X.masked_fill(~hidden, 0.0)},
        "all patches that anybody has named are white: one for each picture": {
            "paint": lambda X, hidden: X.masked_fill(hidden.any(dim=0), 0.0)
        },
        "a patch, not a piece of reshape: which pixels did you paint?": cut_by_reshape,
    },
    claim="it is the accuracy before minus the accuracy after",
    verified="the accuracy that is lost, for patches of 1 to 4 pixels; below 0 where a patch misleads",
    hint="paint the patches, look at one picture, and measure twice with the same model",
)
