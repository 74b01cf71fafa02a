"""What it costs to hide a patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini_exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_function,
    expect_measured,
    find_hint,
    read_number,
)
from d2lmini_exercises.prediction import Number, prediction


@dataclass(frozen=True)
class _Case:
    """Pictures of `rows` by `columns` patches, each `size` by `size` pixels, and a model of them."""

    seed: int
    rows: int
    columns: int
    size: int
    count: int
    darkens: bool = False  # no pixel is white

    def draw(self) -> tuple[nn.Module, Tensor, Tensor, Tensor]:
        """A model, pictures, right answers and patches to hide, as `code` makes them."""
        torch.manual_seed(self.seed)
        height, width = self.rows * self.size, self.columns * self.size
        model = nn.Sequential(nn.Flatten(1, 2), nn.Linear(height * width, 10))
        vars(model)["given"] = self.code  # for a report on an answer that stops
        model.register_forward_pre_hook(self._expect_pictures)
        X = torch.rand(self.count, height, width)
        X = 0.5 + 0.5 * X if self.darkens else X
        which = torch.randint(self.rows * self.columns, (self.count,))
        y = model(X).argmax(dim=1)
        y[::9] = (y[::9] + 1) % 10  # wrong from the beginning
        return model, X, y, which

    def _expect_pictures(self, model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        shape = ("batch", self.rows * self.size, self.columns * self.size)
        if inputs[0].shape[1:] != shape[1:]:
            hint = "the model asks for pictures as X holds them, as those of the chapter do"
            claim = "model is given (batch, H, W)"
            raise WrongAnswer(claim, hint, given=self.code, expected=shape, got=tuple(inputs[0].shape))

    @property
    def code(self) -> str:
        """What a student can paste."""
        height, width = self.rows * self.size, self.columns * self.size
        return (
            f"torch.manual_seed({self.seed}); "
            f"model = torch.nn.Sequential(torch.nn.Flatten(1, 2), torch.nn.Linear({height * width}, 10)); "
            f"X = {'0.5 + 0.5 * ' if self.darkens else ''}torch.rand({self.count}, {height}, {width}); "
            f"which = torch.randint({self.rows * self.columns}, ({self.count},)); "
            f"y = model(X).argmax(dim=1); y[::9] = (y[::9] + 1) % 10; size = {self.size}"
        )

    def hide(self, X: Tensor, hidden: Tensor, value: float | Tensor = 0.0) -> Tensor:
        """The pictures with the hidden patches, `(count, rows * columns)`, painted."""
        pixels = hidden.reshape(-1, self.rows, self.columns)
        pixels = pixels.repeat_interleave(self.size, 1).repeat_interleave(self.size, 2)
        return torch.where(pixels, torch.as_tensor(value), X)

    def name(self, row: Tensor, column: Tensor) -> Tensor:
        """The patch in this row and column of the grid, as one that is hidden; none if there is no such patch."""
        grid = torch.zeros(len(row), self.rows, self.columns, dtype=torch.bool)
        for i, (r, c) in enumerate(zip(row.tolist(), column.tolist(), strict=True)):
            grid[i, r : r + 1, c : c + 1] = True
        return grid.flatten(1)


_LIGHTEST = "white is 0, whatever the lightest pixel of these pictures is"
_BATCHES = (10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256)


@checker("measure-patch")
def check_measure_patch(price: Any) -> str:
    """`price(model, X, y, which, size)`: the accuracy that is lost when a patch of each picture is white."""
    expect_function(price)
    # no number of pictures is a multiple of a size of batches
    cases = [_Case(0, 2, 4, 3, 401), _Case(3, 4, 4, 2, 397), _Case(1, 5, 2, 4, 307), _Case(3, 3, 3, 1, 311)]
    cases.append(_Case(2, 3, 4, 2, 299, darkens=True))
    for case, other in zip(cases, [*cases[1:], cases[0]], strict=True):
        model, X, y, which = case.draw()
        with torch.no_grad():
            hidden = F.one_hot(which, case.rows * case.columns).bool()
            white, light = (case.hide(X, hidden, value) for value in (0.0, X.amin(dim=(1, 2), keepdim=True)))
            mistakes = _list_wrong_prices(case, model, X, y, which)
            before, after = _score(model, X, y), _score(model, white, y)
            misled = model(white).argmax(dim=1)  # right only when the patches are white
            gained = _score(model, X, misled) - 1
            by_lightest = _score(model, X, misled) - _score(model, light, misled)
        found = price(model, X, y, which, case.size)
        expect_measured(
            found,
            before - after,
            claim="it is the accuracy before minus the accuracy after",
            given=case.code,
            hint="paint the patches, look at one picture, and measure twice with the same model",
            mistakes=_keep_fitting(mistakes, price, other) if found != before - after else {},
        )
        expect_measured(
            price(model, X, misled, which, case.size),
            gained,
            claim="a patch that misleads has a negative price",
            given=f"{case.code}  # and y is what the model answers without the patches",
            hint="what does the model answer with the patches, and what without them? y is right for one of the two",
            mistakes={
                "a price below 0 says that the patch misleads: keep the sign": (-gained, 0.0),
                _LIGHTEST: by_lightest,
            },
        )
    return "the accuracy that is lost, for patches of 1 to 4 pixels; below 0 where a patch misleads"


def _keep_fitting(mistakes: Mistakes, price: Any, other: _Case) -> Mistakes:
    """The mistakes that give what the answer gives for other pictures, too: two shares may be alike by chance."""
    arguments = other.draw()
    found = read_number(price(*arguments, other.size))
    with torch.no_grad():
        others = _list_wrong_prices(other, *arguments)
    return {hint: wrong for hint, wrong in mistakes.items() if find_hint(found, {hint: others[hint]}, "") == hint}


def _score(model: nn.Module, X: Tensor, y: Tensor) -> float:
    return (model(X).argmax(dim=1) == y).double().mean().item()


def _list_wrong_prices(
    case: _Case, model: nn.Module, X: Tensor, y: Tensor, which: Tensor
) -> dict[str, float | tuple[float, ...]]:
    before = _score(model, X, y)
    white = case.hide(X, F.one_hot(which, case.rows * case.columns).bool())
    after, count = _score(model, white, y), len(X)
    changed = (model(X).argmax(dim=1) != model(white).argmax(dim=1)).double().mean().item()
    losses = [F.cross_entropy(model(Z), y).item() for Z in (X, white)]
    numbers: dict[str, float | tuple[float, ...]] = {
        "that is the accuracy with the patches white: how much is *lost*?": after,
        "after minus before has the other sign": after - before,
        "as a share of all pictures, not as a number of them": count * (before - after),
        "as a share, not per cent": 100 * (before - after),
        "lost as a difference, not relative to the accuracy before": (before - after) / before,
        "compare with y: some answers were wrong from the beginning": 1 - after,
        "compare with y: another answer need not be a lost one": changed,
        "the accuracy, not the loss": (losses[1] - losses[0], losses[0] - losses[1]),
        "measure with the pictures as they were, too": 0.0,
    }
    lost = (model(X).argmax(dim=1) == y).double() - (model(white).argmax(dim=1) == y).double()
    batches = [lost.split(size) for size in _BATCHES]
    numbers["a mean over batches: a short last batch weighs as much there as a whole one"] = tuple(
        torch.stack([part.mean() for part in parts]).mean().item() for parts in batches
    )
    numbers["all pictures count, those of a short last batch, too"] = tuple(
        torch.cat(parts[:-1]).mean().item() for parts in batches
    )
    pictures = _list_wrong_pictures(case, X, which)
    return numbers | {
        hint: tuple(before - _score(model, wrong, y) for wrong in several) for hint, several in pictures.items()
    }


def _list_wrong_pictures(case: _Case, X: Tensor, which: Tensor) -> dict[str, tuple[Tensor, ...]]:
    patches = case.rows * case.columns
    chosen = F.one_hot(which, patches).bool()
    swapped = case.name(which % case.columns, which // case.columns)
    by_rows = case.name(which // case.rows, which % case.rows)
    pieces = X.reshape(len(X), patches, -1).masked_fill(chosen[:, :, None], 0.0)
    return {
        "each picture has a patch of its own: which[i] for picture i": (
            case.hide(X, chosen[:1].expand(len(X), -1)),
            case.hide(X, chosen[-1:].expand(len(X), -1)),
        ),
        "patch 1 lies to the right of patch 0: rows and columns are swapped": (
            case.hide(X, swapped),
            case.hide(X, case.name(which % case.rows, which // case.rows)),
        ),
        "how many patches lie side by side? That need not be how many lie one above the other": (
            case.hide(X, by_rows),
        ),
        "white is 0: you have painted it black": (case.hide(X, chosen, 1.0),),
        "white is 0: you have painted it grey": (
            case.hide(X, chosen, 0.5),
            case.hide(X, chosen, X.mean()),
            case.hide(X, chosen, X.mean(dim=(1, 2), keepdim=True)),
        ),
        _LIGHTEST: (
            case.hide(X, chosen, X.min()),
            case.hide(X, chosen, X.amin(dim=(1, 2), keepdim=True)),
        ),
        "hide this patch, and keep the others": (case.hide(X, ~chosen),),
        "all patches that anybody has named are white: one for each picture": (
            case.hide(X, chosen.any(dim=0).expand(len(X), -1)),
        ),
        "a patch, not a piece of reshape: which pixels did you paint?": (pieces.reshape(X.shape),),
        "the whole patch: size pixels down and size to the right": (_paint_corner(case, X, which),),
    }


def _paint_corner(case: _Case, X: Tensor, which: Tensor) -> Tensor:
    painted = X.clone()
    rows, columns = which // case.columns * case.size, which % case.columns * case.size
    painted[torch.arange(len(X)), rows, columns] = 0
    return painted


# Models of the chapter (rows, patches, CNN; three seeds) that lose more than a fifth without the patch with most ink.
prediction(
    "use-price",
    Number(
        "the number of models",
        9,
        hint="ink.argmax(dim=1) names the patch with most ink; three kinds of three models each",
        mistakes={"there are three models of each kind: count all nine": (1, 2, 3)},
    ),
    right="each of the nine loses more than a fifth, though no map was needed to find the patch",
)
