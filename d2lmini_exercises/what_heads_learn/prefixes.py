"""What heads look at: prefixes of a sequence, and sinks; and counting before pruning."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import Case, Number, exercise, prediction, read_number

# Right answers with two heads of five and with none; removals that twins survive, worst and best order.
prediction(
    "predict-staircase",
    {
        Number(
            "(a)",
            0.43,
            "how many questions are answered, how many guessed, and how often is a guess right?",
            tolerance=0.001,
        ): {
            "the other three questions are guessed: is a guess never right?": 0.4,
            "that is what the guesses add; two questions are answered": 0.03,
            "guesses are right once in 20, not once in 4": 0.55,
            "how many letters are there in this task?": 0.45,
            "that is the share of questions that are only guessed": 0.6,
            "that counts questions; the task asks for a share of all answers": 2.15,
            "a share is a number between 0 and 1": 43,
        },
        Number("(b)", 0.05, "each answer is a guess among 20 letters", tolerance=0.001): {
            "without any head it still guesses": 0.0,
            "it guesses among the letters, not the questions": 0.2,
            "a share is a number between 0 and 1": 5,
        },
        Number("(c)", 1, "the worst order takes a head, and then the one that could do its work"): {
            "who chooses the order? After one twin, the other one may be next": 5,
            "the first head to go has a twin that does its work": 0,
            "the second head to go may be the twin of the first": 2,
        },
        Number("(d)", 5, "how many heads must stay, so that each question has one?"): {
            "who answers then?": 10,
            "one head is left: which questions can it answer?": 9,
            "that is the worst order; here you choose": 1,
        },
    },
    right="0.43 and 0.05; one removal in the worst order, five in the best",
)


def move(marked: Tensor, by: int = 1) -> Tensor:
    return F.pad(marked, (by, -by))


def average(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return scores[counted].mean() if counted.any() else nothing


def each(scores: Tensor, counted: Tensor, nothing: float = 0.0) -> Any:
    return torch.stack([torch.as_tensor(average(*row)) for row in zip(scores, counted, strict=True)]).mean()


def match(
    letters: Tensor,
    weights: Tensor,
    *,
    find: Any = move,
    total: Any = lambda found: found.sum(2),
    count: Any = lambda same, scores: same.tril(-1).any(2),
    average: Any = average,
) -> Any:
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
    [[0, 1, 0, 1, 0, 2, 0, 1]],
    [[3, 3, 1, 3, 4, 1, 3], [16, 0, 16, 16, 40, 16, 3]],
    [[0, 1, 2, 3]],
    [[1, 2, 1], [0, 3, 4], [2, 2, 2]],
)
EARLIER = "only what stands earlier in the same sequence counts: what does your code keep from the one before?"
exercise(
    "prefix-matching",
    match,
    (
        *(
            f"torch.manual_seed({seed}); A = torch.randint(1, 99, {(len(rows), len(rows[0]), len(rows[0]))}).tril(); "
            f"weights = A / A.sum(dim=2, keepdim=True); letters = torch.tensor({rows})"
            for seed, rows in enumerate(DRAWN)
        ),
        "weights = torch.eye(5)[None, [0, 1, 2, 1, 4]]; letters = torch.tensor([[0, 1, 2, 0, 1]])",
    ),
    {
        "that is the weight on the letter itself; what came after it stands one column further": {
            "find": lambda earlier: earlier
        },
        "that is what came before it: one column to the other side": {"find": lambda earlier: move(earlier, -1)},
        "the letter may have occurred several times: all of these places count": (
            {"find": lambda earlier: move(earlier & (earlier.flip(2).cumsum(2).flip(2) == 1))},
            {"find": lambda earlier: move(earlier & (earlier.cumsum(2) == 1))},
        ),
        "the weights on all of these places add up: a sum, not the largest of them": {
            "total": lambda found: found.amax(2)
        },
        "the mean of no places is NaN: what should come out where no letter occurs twice?": {
            "average": lambda scores, counted: average(scores, counted, nothing=math.nan)
        },
        "the mean is over all places, whatever sequence they belong to": (
            {"average": each},
            {"average": lambda scores, counted: each(scores[counted.any(1)], counted[counted.any(1)]).nan_to_num()},
        ),
        "places whose letter is new do not count": {"count": lambda same, scores: same.any(2)},
        EARLIER: one_memory,
        "a place whose letter has occurred before counts, even if it looks elsewhere": {
            "count": lambda same, scores: scores > 0
        },
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
                letters,
                weights,
                find=lambda earlier: move(earlier.mT).tril(),
                count=lambda same, _: same.triu(1).any(2),
            )
        ),
    },
    claim="the mean weight on the places right after an earlier occurrence of the same letter",
    verified="all earlier occurrences, only places that have one, all sequences alike, and 0 if there is none",
    hint="write down for each place which columns count, as booleans (batch, n, n), and print them",
    use=use,
)


def receive(
    weights: Tensor,
    *,
    below: int = -1,
    mean: Any = lambda weights: weights.mean(0),
    keys: Any = lambda found: found[:-1],
    share: Any = lambda found: found / torch.arange(len(found), 0, -1),
) -> Tensor:
    """The mean weight that keys get from later queries, right unless told otherwise."""
    return share(keys(mean(weights).tril(below).sum(0)))


exercise(
    "received-weight",
    receive,
    (
        *(
            f"torch.manual_seed({seed}); A = torch.randint(1, 99, ({batch}, {n}, {n})).tril(); A[:, :, {sink}] *= 4; "
            "weights = A / A.sum(dim=2, keepdim=True)"
            for seed, (batch, n, sink) in enumerate(((2, 5, 0), (1, 2, 0), (3, 7, 2)))
        ),
        Case("weights = torch.tensor([[[1, 0, 0], [0, 1, 0], [0.5, 0, 0.5]]])", "a weight of 0 counts in a mean, too"),
        Case("weights = torch.ones(2, 1, 1)", edge="one token"),
    ),
    {
        "the query at the key itself does not stand behind it": {
            "below": 0,
            "share": lambda found: found / torch.arange(len(found) + 1, 1, -1),
        },
        "is a query at the key itself added, but not counted?": {"below": 0},
        "key j has n - 1 - j queries behind it: by how many do you divide?": (
            {"share": lambda found: found / (len(found) + 1)},
            {"share": lambda found: found / len(found)},
            {"share": lambda found: found / torch.arange(1, len(found) + 1)},
            {"share": lambda found: found / torch.arange(len(found) + 1, 1, -1)},
        ),
        "a mean over the queries behind it, not a sum": {"share": lambda found: found},
        "a mean over all sequences": (
            {"mean": lambda weights: weights[0]},
            {"mean": lambda weights: weights.amax(0)},
            {"mean": lambda weights: weights.sum(0)},
        ),
        "a row belongs to a query, a column to a key: which of them do you add up?": (
            lambda weights: weights.mean((0, 2))[:-1],
            lambda weights: weights.mean(0).tril(-1).sum(1)[1:],
            lambda weights: weights.mean(0).tril(-1).sum(1)[:-1],
        ),
        "behind the last key stands no query: it has no mean": {"keys": lambda found: found},
    },
    claim="it is the mean weight that each key gets from the queries behind it",
    verified="the queries behind a key alone count, in all sequences alike",
    hint="take one sequence of three tokens: which numbers of the matrix belong to key 0, and which to key 1?",
)
