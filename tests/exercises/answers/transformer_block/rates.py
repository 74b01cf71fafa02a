"""Answers to the exercises: rates of learning and of collapsing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Rate = Callable[[int, int, int], float]


def rate(step: int, d: int, warmup: int) -> float:
    return float(d**-0.5 * min(step**-0.5, step * warmup**-1.5))


def with_slope(c: Callable[[int], float], choose: Callable[..., float] = min) -> Rate:
    """The two pieces with another slope of the line, or another choice between them."""
    return lambda step, d, warmup: float(d**-0.5 * choose(step**-0.5, step * c(warmup)))


def in_pieces(step: int, d: int, warmup: int) -> float:
    peak = 1 / math.sqrt(d * warmup)
    return peak * step / warmup if step <= warmup else peak * math.sqrt(warmup / step)


def by_logarithms(step: int, d: int, warmup: int) -> float:
    return math.exp(-0.5 * math.log(d) + min(-0.5 * math.log(step), math.log(step) - 1.5 * math.log(warmup)))


def in_torch(step: int, d: int, warmup: int) -> Tensor:
    s = torch.tensor(float(step))
    return torch.minimum(s.rsqrt(), s / warmup**1.5) / d**0.5


def falling(fall: Callable[[int, int], float]) -> Rate:
    """Another way to fall after the right rise."""

    def answer(step: int, d: int, warmup: int) -> float:
        return in_pieces(step, d, warmup) if step <= warmup else d**-0.5 * fall(step, warmup)

    return answer


def of_the_paper(step: int, d: int, warmup: int) -> float:
    return rate(step, d, 4000)


def of_the_first_widths(step: int, d: int, warmup: int) -> float:
    return rate(step, min(d, 30), warmup)


def second_largest(A: Tensor) -> float:
    return float(torch.linalg.eigvals(A).abs().sort(descending=True).values[1])


def without_the_mean(A: Tensor) -> Tensor:
    """Takes the row that all rows have in common away; what is left is the largest eigenvalue."""
    return torch.linalg.eigvals(A - A.mean(dim=0)).abs().max()


def by_powers(A: Tensor) -> float:
    """The root of a high power, in a basis of the differences."""
    n = len(A)
    B = (A - A[:1]).double()[1:, 1:]  # what happens to the differences from the first token
    log, power = 0.0, torch.eye(n - 1).double()
    for _ in range(3000):
        power = B @ power
        size = power.norm().item()
        if size < 1e-9:
            return 0.0
        log, power = log + math.log(size), power / size
    return math.exp(log / 3000)


def in_numpy(A: Tensor) -> Any:
    return np.sort(np.abs(np.linalg.eigvals(A.numpy())))[-2]


def by_a_vector(A: Tensor, layers: int = 1) -> float:
    x = torch.arange(float(len(A)))
    sizes = []
    for _ in range(layers + 1):
        sizes.append((x - x.mean()).norm().item())
        x = A @ x
    return sizes[-1] / sizes[-2]


def below_one(A: Tensor) -> float:
    """Takes every eigenvalue of size 1 away."""
    sizes = torch.linalg.eigvals(A).abs()
    others = sizes[~torch.isclose(sizes, torch.ones(()), atol=1e-4)]
    return others.max().item() if len(others) else 0.0


def without_ones(A: Tensor) -> float:
    """Takes every eigenvalue that is 1 away."""
    values = torch.linalg.eigvals(A)
    others = values[(values - 1).abs() > 1e-4]
    return others.abs().max().item() if len(others) else 0.0


def second_kind(A: Tensor) -> float:
    """The second of the different sizes."""
    sizes = sorted({round(size, 4) for size in torch.linalg.eigvals(A).abs().tolist()})
    return sizes[-2] if len(sizes) > 1 else 0.0


def in_low_precision(A: Tensor) -> float:
    """The differences after so many layers are mere rounding."""
    return by_a_vector(A, 50)


def overlap(A: Tensor) -> Tensor:
    return torch.cdist(A, A, p=1).max() / 2


RIGHT: dict[str, list[Any]] = {
    "warm-up": [rate, in_pieces, by_logarithms, in_torch, with_slope(lambda w: 1 / (w * math.sqrt(w)))],
    "use-warm-up": [(6.988,), 7.0, 10_000 / math.sqrt(512 * 4000), torch.tensor(6.9877)],
    "collapse-rate": [second_largest, without_the_mean, by_powers, in_numpy],
}

_RATES: list[tuple[Any, str]] = [
    (lambda step, d, warmup: rate(step, 1, warmup), "where does the width come in?"),
    (lambda step, d, warmup: rate(step, d, warmup) * d**-0.5, "not with the width"),
    (lambda step, d, warmup: rate(step, d, warmup) * d, "a wider model gets a smaller rate"),
    (lambda step, d, warmup: (d * step) ** -0.5, "before the peak it rises in a line"),
    (with_slope(lambda w: w**-1.5, max), "before the peak it rises in a line"),
    (with_slope(lambda w: 1), "before the peak it rises in a line"),
    (with_slope(lambda w: w**1.5), "before the peak it rises in a line"),
    (with_slope(lambda w: 1 / w), "both pieces meet at the peak"),
    (with_slope(lambda w: w**-0.5), "both pieces meet at the peak"),
    (with_slope(lambda w: w**-2.0), "both pieces meet at the peak"),
    (with_slope(lambda w: w**-1.5, lambda root, line: line), "after the peak it falls: which of the two"),
    (falling(lambda s, w: w**-0.5), "after the peak it falls: which of the two"),
    (falling(lambda s, w: 1 / s), "not with the step itself"),
    (falling(lambda s, w: w**0.5 / s), "not with the step itself"),
    (falling(lambda s, w: w**-0.5 * math.cos(s / w)), "on which side of the peak"),
    (falling(lambda s, w: 0.0), "on which side of the peak"),
    (lambda step, d, warmup: rate(step + 1, d, warmup), "there is no step 0"),
    (lambda step, d, warmup: rate(max(step - 1, 1), d, warmup), "there is no step 0"),
    (of_the_paper, "no number of the paper"),
    (lambda step, d, warmup: rate(step, 512, warmup), "no number of the paper"),
    (lambda step, d, warmup: rate(step, 512, 4000), "no number of the paper"),
    (of_the_first_widths, "on which side of the peak"),
    (lambda step, d, warmup: warmup, "on which side of the peak"),
    (lambda step, d, warmup: [rate(s, d, warmup) for s in range(1, step + 1)], "return a float"),
]
_PEAKS: list[tuple[Any, str]] = [
    (0.0006988, "multiply by 10000"),
    (0.699, "multiply by 10000"),
    (0.00175, "at which step is the peak?"),
    (441.94, "the line is still below it"),
    (158.11, "the width of this model is 512"),
    (19.76, "the width of this model is 512"),
    (0.309, "the width of this model is 512"),
    (4000, "that is a step"),
    (6.9, "Call your function there"),
    (8.0, "Call your function there"),
    (-7.0, "Call your function there"),
    ((7, 4000), "one number, without quotes or brackets"),
]
_FACTORS: list[tuple[Any, str]] = [
    (lambda A: torch.linalg.eigvals(A).abs().max(), "which vectors keep their size"),
    (lambda A: torch.linalg.svdvals(A)[1], "what holds for one layer"),
    (lambda A: torch.linalg.svdvals(A)[0], "what holds for one layer"),
    (lambda A: torch.linalg.matrix_norm(A, 2), "what holds for one layer"),
    (overlap, "what holds for one layer"),
    (by_a_vector, "measured after few layers"),
    (lambda A: by_a_vector(A, 3), "measured after few layers"),
    (lambda A: torch.linalg.eigvals(A).real.sort().values[-2], "may be negative or complex"),
    (
        lambda A: min(torch.linalg.eigvals(A).tolist(), key=lambda v: -abs(v) * (abs(v) < 0.99)).real,
        "negative or complex",
    ),
    (lambda A: torch.linalg.eigvals(A).abs().min(), "the slowest part"),
    (lambda A: torch.linalg.eigvalsh(A).abs().sort().values[-2], "a symmetric matrix, which A need not be"),
    (lambda A: torch.linalg.eigvalsh(A)[-2], "a symmetric matrix, which A need not be"),
    (lambda A: 1 - second_largest(A), "the factor itself is wanted"),
    (lambda A: second_largest(A) ** 2, "the factor itself is wanted"),
    (lambda A: -math.log(second_largest(A) + 1e-30), "the factor itself is wanted"),
    (lambda A: torch.linalg.eigvals(A)[-2].abs(), "in no order"),
    (lambda A: torch.linalg.eigvals(A)[1].abs(), "the second of the list is not always"),
    (below_one, "the size 1 may occur twice"),
    (without_ones, "the size 1 may occur twice"),
    (second_kind, "the size 1 may occur twice"),
    (in_low_precision, "which vectors keep their size"),
    (lambda A: A.min(), "how large the entries"),
    (lambda A: A.trace(), "how large the entries"),
    (torch.linalg.eigvals, "return a float"),
    (lambda A: A.std(), "measured after few layers"),
    (lambda A: 0.5, "measured after few layers"),
    (lambda A: second_largest(A + A.mT) / 2, "a symmetric matrix, which A need not be"),
]
_ALL = {"warm-up": _RATES, "use-warm-up": _PEAKS, "collapse-rate": _FACTORS}
WRONG: list[tuple[str, Any, str]] = [(name, *wrong) for name, answers in _ALL.items() for wrong in answers]
