"""Rates: of learning, by a schedule, and of collapsing, by a matrix of weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini.exercises.core import checker, expect_function, expect_measured
from d2lmini.exercises.prediction import Number, prediction


def _rate(step: int, d: int, warmup: int) -> float:
    return float(d**-0.5 * min(step**-0.5, step * warmup**-1.5))


@checker("warm-up")
def check_warm_up(rate: Any) -> str:
    """`rate(step, d, warmup)`: the learning rate of Vaswani et al. (2017), section 5.3."""
    expect_function(rate)
    for step, d, warmup in (
        (1, 64, 4),
        (2, 64, 16),
        (8, 16, 16),
        (16, 16, 16),
        (36, 64, 16),
        (100, 256, 25),
        (3, 4, 9),
    ):
        rises = step < warmup
        root, line = step**-0.5, step / warmup
        expect_measured(
            rate(step, d, warmup),
            _rate(step, d, warmup),
            claim="it rises to its peak in a line, then falls with the root of the step",
            given=f"step, d, warmup = {step}, {d}, {warmup}",
            hint="on which side of the peak is this step? What should the rate be at the peak itself?",
            mistakes={
                "where does the width come in?": root if not rises else line * warmup**-0.5,
                "the rate falls with the root of the width": _rate(step, d, warmup) * d**-0.5,
                "a wider model gets a smaller rate": _rate(step, d, warmup) * d,
                "before the peak it rises in a line": (d**-0.5 * root,) if rises else (),
                "after the peak it falls": () if rises else (d**-0.5 * line * warmup**-0.5, d**-0.5 * warmup**-0.5),
                "both pieces meet at the peak: how high is the line there, and how high the root?": (
                    d**-0.5 * line,
                    d**-0.5 * line * warmup**0.5,
                ),
                "after the peak it falls with the root, not with the step itself": d**-0.5 / step,
                "at each step it is the smaller one of the two": d**-0.5 * max(root, line * warmup**-0.5),
                "the first step is step 1": d**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5),
            }
            if step != warmup
            else {"where does the width come in?": root, "both pieces meet at the peak": d**-0.5},
            tolerance=1e-5,
        )
    return "a line up to the peak, the root of the step after it, and the root of the width in both"


# What the schedule of the paper reaches with d = 512 and a warm-up of 4000 steps, in ten-thousandths.
prediction(
    "use-warm-up",
    Number(
        "the peak",
        6.99,
        hint="at which step is the peak? Call your function there, with d = 512 and warmup = 4000, times 10000",
        mistakes={
            "in ten-thousandths: multiply by 10000. And at which step is the peak?": 0.0006988,
            "at d = 64": 19.76,
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
    drawn = [_draw_weights(seed, n) for seed, n in ((1, 3), (2, 6), (3, 16), (5, 5))]
    own = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.8, 0.2]])
    turned = torch.tensor([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    for A, given in [
        *drawn,
        (torch.full((4, 4), 0.25), "A = torch.full((4, 4), 0.25)"),
        (turned, f"A = torch.tensor({turned.tolist()})"),
        (own, f"A = torch.tensor({own.tolist()})"),
    ]:
        values = torch.linalg.eigvals(A.double()).abs().sort(descending=True).values.tolist()
        norms = torch.linalg.svdvals(A.double()).tolist()
        right = values[1]
        wrong = {
            "that is the largest eigenvalue: which vectors belong to it, and are their entries different?": values[0],
            "singular values tell of one layer; the same A is applied again and again": (norms[1], norms[0]),
            "the slowest part is what is left in the long run": values[-1],
            "the size of a complex eigenvalue is its absolute value": float(
                torch.linalg.eigvals(A.double()).real.sort(descending=True).values[1]
            ),
            "how small the smallest weight is does not tell": A.min().item(),
        }
        wrong = {hint: number for hint, number in wrong.items() if not _meets(number, right)}
        expect_measured(
            shrinking(A),
            right,
            claim="after many layers, each one multiplies the differences by this factor",
            given=given,
            hint="apply A fifty times to a vector, and look at the last two differences from the mean",
            mistakes=wrong,
            tolerance=2e-3,
        )
    return "the size of the second largest eigenvalue, also of weights that turn and of a matrix of equal rows"


def _meets(numbers: float | tuple[float, ...], right: float) -> bool:
    return any(abs(number - right) < 0.01 for number in (numbers if isinstance(numbers, tuple) else (numbers,)))
