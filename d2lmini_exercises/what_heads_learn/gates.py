"""How strongly the loss depends on a gate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import exercise


def importance(
    losses: Any, num_heads: int, num_examples: int, *, at: float = 1.0, mean: Any = lambda g: g.abs().mean(0)
) -> Tensor:
    gates = torch.full((num_examples, num_heads), at, requires_grad=True)
    return mean(torch.autograd.grad(losses(gates).sum(), gates)[0])


def use(answer: Any, losses: Any, num_heads: int, num_examples: int, once: bool) -> Any:
    """An answer on losses that look at the shape of the gates and, in the end, count their calls."""
    calls, shape = [], (num_examples, num_heads)

    def count(gates: Any) -> Any:
        calls.append(1)
        if not isinstance(gates, Tensor) or gates.shape != shape:
            got = tuple(gates.shape) if isinstance(gates, Tensor) else type(gates).__name__
            hint = "a row of gates for each example, a column for each head"
            raise WrongAnswer("losses is given gates (examples, heads)", hint, expected=shape, got=got)
        return losses(gates)

    try:
        found = answer(count, num_heads, num_examples)
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
        hint = "no way leads from the loss to the gates: do they have requires_grad=True, is nothing detached?"
        raise WrongAnswer("the gates have a gradient", hint, got=error) from error
    if once and len(calls) != 1:
        hint = "no loss depends on the gates of another example: which single number has all these gradients?"
        raise WrongAnswer("there is one call of losses", hint, got=len(calls))
    return found


SLOPES = (
    [[3, -3, 0], [1, 2, 0], [-2, -5, 0], [2, 1, 0]],
    [[1, -4, 2, 0, 7], [-1, 3, 2, 1, -6], [2, 5, -1, 1, 0]],
    [[2, -0.5]],
)
exercise(
    "gate-importance",
    importance,
    tuple(  # the derivative of s (g³ + g² - 2g) is 3s at 1, -2s at 0 and -s at -1
        f"losses = lambda g: (torch.tensor({rows}) * (g**3 + g**2 - 2 * g)).sum(dim=1) + "
        f"torch.arange(1, {len(rows) + 1}); num_examples, num_heads = {len(rows)}, {len(rows[0])}; once = {once}"
        for rows, once in (*((rows, False) for rows in SLOPES), (SLOPES[0], True))
    ),
    {
        "a gradient of 3 and one of -3 are two strong effects: do they cancel?": {"mean": lambda g: g.mean(0)},
        "the absolute value comes before the mean: 3 and -3 must not cancel": (
            {"mean": lambda g: g.mean(0).abs()}, {"mean": lambda g: g.sum(0).abs()},
            {"mean": lambda g: (g.mean(0) / len(g)).abs()}
        ),
        "where is the trained model? At which gates is the gradient to be taken?": (
            {"at": 0.0}, {"at": 0.0, "mean": lambda g: g.mean(0)}
        ),
        "absolute values, not squares": (
            {"mean": lambda g: g.square().mean(0)}, {"mean": lambda g: g.square().mean(0).sqrt()},
            {"mean": lambda g: g.norm(dim=0)}
        ),
        "the mean over the examples, not the one in the middle": (
            {"mean": lambda g: g.abs().median(0).values}, {"mean": lambda g: g.abs().quantile(0.5, 0)}
        ),
        "divide by num_examples, whatever it was above": {"mean": lambda g: g.abs().sum(0) / 128},
        "the largest example is not the mean": {"mean": lambda g: g.abs().amax(0)},
        "removing the head is ablation; the gradient is at gates 1": lambda losses, h, n: torch.zeros(h),
        "the mean over the examples, not their sum": {"mean": lambda g: g.abs().sum(0)},
        "the mean of the losses has a gradient that is divided already: divide once": (
            {"mean": lambda g: g.abs().mean(0) / len(g)}
        ),
        "divide by the number of examples, not of heads": {"mean": lambda g: g.abs().sum(0) / g.shape[1]},
    },
    claim="it is the mean of the absolute gradients at gates 1",
    verified="the mean of absolute gradients at gates 1, without cancelling, from one call of losses",
    hint="one gradient for each example and each head, at gates 1; then absolute values; then their mean",
    use=use,
)  # fmt: skip
