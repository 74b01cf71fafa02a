"""How strongly the loss depends on a gate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function


class _Losses:
    """The losses of a few examples, each of which has gates of its own; it counts its calls."""

    def __init__(self, slopes: Tensor, given: str) -> None:
        self.slopes, self.given, self.calls = slopes, given, 0
        self.own = torch.arange(1, len(slopes) + 1)  # a loss of its own for each example

    def __call__(self, gates: Tensor) -> Tensor:
        self.calls += 1
        if not isinstance(gates, Tensor) or gates.shape != self.slopes.shape:
            shape = tuple(gates.shape) if isinstance(gates, Tensor) else type(gates).__name__
            hint = "a row of gates for each example, a column for each head"
            claim = "losses is given gates (examples, heads)"
            raise WrongAnswer(claim, hint, given=self.given, expected=tuple(self.slopes.shape), got=shape)
        # the derivative of s (g³ + g² - 2g) is 3s at 1, -2s at 0 and -s at -1
        return (self.slopes.to(gates.dtype) * (gates**3 + gates**2 - 2 * gates)).sum(dim=1) + self.own


@checker("gate-importance")
def check_gate_importance(gate_importance: Any) -> str:
    """`gate_importance(losses, num_heads, num_examples)` returns the mean of |dL/dgate| at gates 1, `(num_heads,)`."""
    expect_function(gate_importance)
    for rows in (
        [[3.0, -3.0, 0.0], [1.0, 2.0, 0.0], [-2.0, -5.0, 0.0], [2.0, 1.0, 0.0]],
        [[1.0, -4.0, 2.0, 0.0, 7.0], [-1.0, 3.0, 2.0, 1.0, -6.0], [2.0, 5.0, -1.0, 1.0, 0.0]],
        [[2.0, -0.5]],
    ):
        slopes = torch.tensor(rows)
        own = f"torch.arange(1, {len(rows) + 1})"
        given = f"losses = lambda g: (torch.tensor({rows}) * (g**3 + g**2 - 2 * g)).sum(dim=1) + {own}"
        losses = _Losses(slopes, given)
        try:
            found = gate_importance(losses, slopes.shape[1], len(slopes))
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            hint = "no way leads from the loss to the gates: do they have requires_grad=True, is nothing detached?"
            raise WrongAnswer("the gates have a gradient", hint, given=given, got=error) from error
        expect_close(
            found,
            3 * slopes.abs().mean(dim=0),
            claim="it is the mean of the absolute gradients at gates 1",
            given=given,
            hint="one gradient for each example and each head, at gates 1; then absolute values; then their mean",
            mistakes=_list_wrong_means(3 * slopes),
        )
        if losses.calls != 1:
            hint = "no loss depends on the gates of another example: which single number has all these gradients?"
            raise WrongAnswer("there is one call of losses", hint, given=given, got=losses.calls)
    return "the mean of absolute gradients at gates 1, without cancelling, from one call of losses"


def _list_wrong_means(slopes: Tensor) -> dict[str, Tensor | tuple[Tensor, ...]]:
    mean, absolute = slopes.mean(dim=0), slopes.abs().mean(dim=0)
    count, heads = slopes.shape
    wrong: dict[str, Tensor | tuple[Tensor, ...]] = {
        "a gradient of 3 and one of -3 are two strong effects: do they cancel?": mean,
        "the absolute value comes before the mean: 3 and -3 must not cancel": (
            mean.abs(),
            mean.abs() * count,
            mean.abs() / count,
        ),
        "where is the trained model? At which gates is the gradient to be taken?": (-2 * mean / 3, 2 * absolute / 3),
        "absolute values, not squares": (
            slopes.square().mean(dim=0),
            slopes.square().mean(dim=0).sqrt(),
            slopes.norm(dim=0),
        ),
        "the mean over the examples, not the one in the middle": (
            slopes.abs().median(dim=0).values,
            slopes.abs().quantile(0.5, dim=0),
        ),
        "divide by num_examples, whatever it was above": absolute * count / 128,
        "the largest example is not the mean": slopes.abs().amax(dim=0),
        "removing the head is ablation; the gradient is at gates 1": torch.zeros(heads),
    }
    if count > 1:
        wrong["the mean over the examples, not their sum"] = absolute * count
        wrong["the mean of the losses has a gradient that is divided already: divide once"] = absolute / count
        wrong["divide by the number of examples, not of heads"] = absolute * count / heads
    return wrong
