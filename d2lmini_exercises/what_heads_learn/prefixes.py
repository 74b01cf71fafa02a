"""What heads learn: gates for each, what they look at, and prefixes of a sequence."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import WrongAnswer, read_number
from d2lmini_exercises.engine import exercise
from d2lmini_exercises.prediction import Number, prediction


def importance(
    losses: Any, num_heads: int, num_examples: int, *, at: float = 1.0, mean: Any = lambda g: g.abs().mean(0)
) -> Tensor:
    gates = torch.full((num_examples, num_heads), at, requires_grad=True)
    return mean(torch.autograd.grad(losses(gates).sum(), gates)[0])


def use_gates(answer: Any, losses: Any, num_heads: int, num_examples: int, once: bool) -> Any:
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
exercise("gate-importance",
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
        "where is the trained model? At which gates is the gradient to be taken?":
            ({"at": 0.0}, {"at": 0.0, "mean": lambda g: g.mean(0)}),
        "absolute values, not squares": (
            {"mean": lambda g: g.square().mean(0)}, {"mean": lambda g: g.square().mean(0).sqrt()},
            {"mean": lambda g: g.norm(dim=0)}
        ),
        "the mean over the examples, not their sum, the largest or the one in the middle": (
            {"mean": lambda g: g.abs().median(0).values}, {"mean": lambda g: g.abs().quantile(0.5, 0)},
            {"mean": lambda g: g.abs().amax(0)}, {"mean": lambda g: g.abs().sum(0)},
        ),
        "divide by num_examples, whatever it was above": {"mean": lambda g: g.abs().sum(0) / 128},
        "removing the head is ablation; the gradient is at gates 1": lambda losses, h, n: torch.zeros(h),
        "the mean of the losses has a gradient that is divided already: divide once":
            {"mean": lambda g: g.abs().mean(0) / len(g)},
        "divide by the number of examples, not of heads": {"mean": lambda g: g.abs().sum(0) / g.shape[1]},
    },
    claim="it is the mean of the absolute gradients at gates 1",
    verified="the mean of absolute gradients at gates 1, without cancelling, from one call of losses",
    hint="one gradient for each example and each head, at gates 1; then absolute values; then their mean",
    use=use_gates,
)  # fmt: skip


# Right answers with two heads of five and with none; removals that twins survive, worst and best order.
prediction("predict-staircase",
    Number("(a)", 0.43, hint="how many questions are answered, how many guessed, and how often is a guess right?",
        mistakes={
        "the other three questions are guessed: is a guess never right?": 0.4,
        "that is what the guesses add; two questions are answered": 0.03,
        "guesses are right once in 20, not once in 4": 0.55,
        "how many letters are there in this task?": 0.45,
        "that is the share of questions that are only guessed": 0.6,
        "that counts questions; the task asks for a share of all answers": 2.15,
        "a share is a number between 0 and 1": 43,
    }, tolerance=0.001),
    Number("(b)", 0.05, hint="each answer is a guess among 20 letters", mistakes={
        "without any head it still guesses": 0.0,
        "it guesses among the letters, not the questions": 0.2,
        "a share is a number between 0 and 1": 5,
    }, tolerance=0.001),
    Number("(c)", 1, hint="the worst order takes a head, and then the one that could do its work", mistakes={
        "who chooses the order? After one twin, the other one may be next": 5,
        "the first head to go has a twin that does its work": 0,
        "the second head to go may be the twin of the first": 2,
    }),
    Number("(d)", 5, hint="how many heads must stay, so that each question has one?", mistakes={
        "who answers then?": 10,
        "one head is left: which questions can it answer?": 9,
        "that is the worst order; here you choose": 1,
    }),
    right="0.43 and 0.05; one removal in the worst order, five in the best",
)  # fmt: skip


def move(marked: Tensor, by: int = 1) -> Tensor:
    return F.pad(marked, (by, -by))


def average(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return scores[counted].mean() if counted.any() else nothing


def each(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return torch.stack([torch.as_tensor(average(*row)) for row in zip(scores, counted, strict=True)]).mean()


def match(
    letters: Tensor, weights: Tensor,
    *, find: Any = move, total: Any = lambda found: found.sum(2),
    count: Any = lambda same, scores: same.tril(-1).any(2), average: Any = average,
) -> Any:  # fmt: skip
    """The score, right unless told otherwise."""
    same = letters[:, :, None] == letters[:, None, :]  # (batch, n, n)
    scores = total(weights * find(same.tril(-1)))  # (batch, n)
    return average(scores, count(same, scores))


def among(count: Any) -> dict[str, Any]:
    """The right sum, shared among another number of places, at least one."""
    return {"average": lambda scores, counted: scores.sum() / max(int(count(scores, counted)), 1)}


def one_memory(letters: Tensor, weights: Tensor) -> Any:
    row = letters.flatten()
    known = (row[:, None] == row).tril(-1).any(1).sum()
    return match(letters, weights, **among(lambda *_: known))


def use(answer: Any, letters: Tensor, weights: Tensor) -> Any:
    found = answer(letters, weights)
    number = read_number(found)
    return (
        torch.tensor(number, dtype=found.dtype) if isinstance(found, Tensor) and found.is_floating_point() else number
    )


DRAWN = (
    [[0, 1, 0, 1, 0, 2, 0, 1]], [[3, 3, 1, 3, 4, 1, 3], [16, 0, 16, 16, 40, 16, 3]], [[0, 1, 2, 3]],
    [[1, 2, 1], [0, 3, 4], [2, 2, 2]],
)  # fmt: skip
exercise("prefix-matching", match,
    (
        *(
            f"torch.manual_seed({seed}); A = torch.rand({len(rows)}, {len(rows[0])}, {len(rows[0])}).tril(); "
            f"weights = A / A.sum(dim=2, keepdim=True); letters = torch.tensor({rows})"
            for seed, rows in enumerate(DRAWN)
        ),
        "weights = torch.eye(5)[None, [0, 1, 2, 1, 4]]; letters = torch.tensor([[0, 1, 2, 0, 1]])",
    ),
    {
        "that is the weight on the letter itself; what came after it stands one column further":
            {"find": lambda earlier: earlier},
        "that is what came before it: one column to the other side": {"find": lambda earlier: move(earlier, -1)},
        "the letter may have occurred several times: all of these places count": (
            {"find": lambda earlier: move(earlier & (earlier.flip(2).cumsum(2).flip(2) == 1))},
            {"find": lambda earlier: move(earlier & (earlier.cumsum(2) == 1))},
        ),
        "the weights on all of these places add up: a sum, not the largest of them":
            {"total": lambda found: found.amax(2)},
        "the mean of no places is NaN: what should come out where no letter occurs twice?":
            {"average": lambda scores, counted: average(scores, counted, nothing=math.nan)},
        "the mean is over all places, whatever sequence they belong to": (
            {"average": each},
            {"average": lambda scores, counted: each(scores[counted.any(1)], counted[counted.any(1)]).nan_to_num()},
        ),
        "places whose letter is new do not count": {"count": lambda same, scores: same.any(2)},
        "only what stands earlier in the same sequence counts: what does your code keep from the one before?":
            one_memory,
        "a place whose letter has occurred before counts, even if it looks elsewhere":
            {"count": lambda same, scores: scores > 0},
        "a mean, not a sum": {"average": lambda scores, counted: scores.sum()},
        "the weights of one place add up; the mean is over places": (
            lambda letters, weights: (
                match(letters, weights)
                * match(letters, weights, average=lambda _, counted: counted.sum())
                / match(letters, torch.ones_like(weights), average=lambda scores, _: scores.sum().clamp(min=1))
            )
        ),
        "each row of weights belongs to a query: which index is the query's?": (
            lambda letters, weights: match(
                letters, weights, find=lambda earlier: move(earlier.mT).tril(),
                count=lambda same, _: same.triu(1).any(2),
            )
        ),
    },
    claim="the mean weight on the places right after an earlier occurrence of the same letter",
    verified="all earlier occurrences, only places that have one, all sequences alike, and 0 if there is none",
    hint="write down for each place which columns count, as booleans (batch, n, n), and print them", use=use,
)  # fmt: skip
