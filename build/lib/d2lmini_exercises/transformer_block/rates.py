"""Rates: of learning, by a schedule, and of collapsing, by a matrix of weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import checker, expect_function, expect_measured
from d2lmini_exercises.prediction import Number, prediction


def _rate(step: int, d: int, warmup: int) -> float:
    return float(d**-0.5 * min(step**-0.5, step * warmup**-1.5))


@checker("warm-up")
def check_warm_up(rate: Any) -> str:
    """`rate(step, d, warmup)`: the learning rate of Vaswani et al. (2017), section 5.3."""
    expect_function(rate)
    for step, d, warmup in ((2, 25, 16), (1, 36, 9), (3, 16, 49), (16, 9, 16), (49, 25, 16), (100, 4, 9), (9, 36, 10)):
        expect_measured(
            rate(step, d, warmup),
            _rate(step, d, warmup),
            claim="it rises to its peak in a line, then falls with the root of the step",
            given=f"step, d, warmup = {step}, {d}, {warmup}",
            hint="on which side of the peak is this step? What should the rate be at the peak itself?",
            mistakes=_list_wrong_rates(step, d, warmup),
            tolerance=1e-4 * _rate(step, d, warmup),
        )
    return "a line up to the peak, the root of the step after it, and the root of the width in both"


def _list_wrong_rates(step: int, d: int, warmup: int) -> dict[str, float | tuple[float, ...]]:
    root, line, width = step**-0.5, step * warmup**-1.5, d**-0.5
    falls = step > warmup
    unmet = (line * warmup, line * warmup**0.5, line * warmup**-0.5)  # c with another exponent
    return {
        "where does the width come in?": min(root, line),
        "the rate falls with the root of the width, not with the width": min(root, line) / d,
        "a wider model gets a smaller rate": min(root, line) * d**0.5,
        "before the peak it rises in a line: which of the two is smaller there?": () if falls else (width * root,),
        "after the peak it falls: which of the two is smaller there?": (
            (width * line, width * warmup**-0.5) if falls else ()
        ),
        "both pieces meet at the peak: how high is the line there, and how high the root?": tuple(
            width * min(root, wrong) for wrong in unmet
        ),
        "after the peak it falls with the root of the step, not with the step itself": (
            (width / step, width * warmup**0.5 / step) if falls else ()
        ),
        "step counts from 1: there is no step 0": (_rate(step + 1, d, warmup), _rate(max(1, step - 1), d, warmup)),
        "d and warmup are arguments: no number of the paper belongs in the function": (
            _rate(step, 512, warmup),
            _rate(step, d, 4000),
            _rate(step, 512, 4000),
        ),
    }


# What the schedule of the paper reaches with d = 512 and a warm-up of 4000 steps, in ten-thousandths.
prediction(
    "use-warm-up",
    Number(
        "the peak",
        6.99,
        hint="at which step is the peak? Call your function there, with d = 512 and warmup = 4000, times 10000",
        mistakes={
            "in ten-thousandths: multiply by 10000. And at which step is the peak?": (0.0006988, 0.699),
            "the width of this model is 512": (158.11, 19.76, 0.309),
            "that is the root at step 1, where the line is still below it": 441.94,
            "that is a step, not the rate there": 4000,
        },
        tolerance=0.02,
    ),
    right="7 ten-thousandths, at step 4000",
)


def _draw_weights(seed: int, n: int) -> tuple[Tensor, str]:
    """A matrix of weights whose rows add up to 1, and the line that draws it."""
    code = f"torch.manual_seed({seed}); A = torch.rand({n}, {n}) ** 3 + 0.01; A = A / A.sum(dim=1, keepdim=True)"
    A = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) ** 3 + 0.01
    return A / A.sum(dim=1, keepdim=True), code


@checker("collapse-rate")
def check_collapse_rate(shrinking: Any) -> str:
    """`shrinking(A)`: by which factor a layer with the weights `A` shrinks the differences, in the long run."""
    expect_function(shrinking)
    own = [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.8, 0.2]]  # eigenvalues 1, -0.6 and 0.5
    turning = [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]
    for A, given in [
        *(_draw_weights(seed, n) for seed, n in ((1, 3), (8, 5), (2, 6), (3, 16), (5, 5))),
        *((torch.tensor(rows), f"A = torch.tensor({rows})") for rows in (turning, own)),
        (torch.full((4, 4), 0.25), "A = torch.full((4, 4), 0.25)"),
        (torch.full((2, 2), 0.5).kron(torch.eye(2)), "A = torch.full((2, 2), 0.5).kron(torch.eye(2))"),  # 1 and 1
        (torch.eye(2).flip(0), "A = torch.eye(2).flip(0)"),  # 1 and -1
    ]:
        right = torch.linalg.eigvals(A.double()).abs().sort(descending=True).values[1].item()
        expect_measured(
            shrinking(A),
            right,
            claim="after many layers, each one multiplies the differences by this factor",
            given=given,
            hint="measured after few layers, or between two, it goes up and down; which part is left in the end?",
            mistakes=_list_wrong_factors(A.double()),
            tolerance=2e-3,
        )
    return "the size of the second largest eigenvalue, also of weights that turn, of equal rows and of groups"


def _list_wrong_factors(A: Tensor) -> dict[str, tuple[float, ...]]:
    values = torch.linalg.eigvals(A)
    sizes = values.abs().sort(descending=True).values
    order = values.abs().argsort(descending=True)
    norms, halves, both = torch.linalg.svdvals(A), torch.linalg.eigvalsh(A), torch.linalg.eigvalsh((A + A.mT) / 2)
    overlap = torch.cdist(A, A, p=1).max() / 2  # the most by which one layer leaves two tokens apart
    wrong = {
        "the size 1 may occur twice: only one of its vectors has equal entries": _drop_ones(sizes),
        "which vectors keep their size under A, and are their entries different?": (sizes[0],),
        "what holds for one layer may be far off for many: the same A is applied again and again": (
            norms[1],
            norms[0],
            overlap,
        ),
        "eigenvalues may be negative or complex: what counts is their size, the absolute value": (
            values.real.sort(descending=True).values[1],
            values[order[1]].real,
            values[order[1]].real.abs(),
            values[order[1]].imag.abs(),
        ),
        "the slowest part is what is left in the long run: which eigenvalue does it have?": (sizes[-1],),
        "this is near the rate of a symmetric matrix, which A need not be, or of the first layers only": (
            both[-2],
            halves.abs().sort(descending=True).values[1],
            halves[-2],
            halves.abs().sort(descending=True).values[0],
        ),
        "sort the sizes: the second of the list is not always the second largest": (
            values[1].abs(),
            torch.linalg.eigvals(A.float())[1].abs(),  # their order may depend on the dtype
        ),
        "eigvals returns them in no order: sort them by their size": (
            values[-1].abs(),
            values[-2].abs(),
        ),
        "the factor itself is wanted": (1 - sizes[1], sizes[1].square(), 1 / sizes[1], sizes[1].log(), -sizes[1].log()),
        "how large the entries of A are does not tell": (A.min(), A.max(), A.diagonal().sum(), A.diagonal().mean()),
    }
    return {hint: tuple(number.item() for number in numbers) for hint, numbers in wrong.items()}


def _drop_ones(sizes: Tensor) -> tuple[Tensor, ...]:
    """The largest size below 1, or 0, where 1 occurs more than once."""
    others = sizes[sizes < 1 - 1e-3]
    return (others.max() if len(others) else torch.zeros(()),) if len(sizes) - len(others) > 1 else ()
