"""Checkers of the chapter "Reading reviews"."""

import math
import operator
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, Number, Task, WrongAnswer, exercise, list_in_order, prediction


def maximum(
    H: Tensor,
    valid_lens: Tensor,
    *,
    late: int = 0,
    filler: float = -torch.inf,
    penalty: float = 0.0,
    empty: float = 0.0,
    take: Any = lambda shown: shown.amax(1),
) -> Tensor:
    """The maximum over the steps that count, right unless told otherwise."""
    padding = (torch.arange(H.shape[1]) >= valid_lens[:, None] + late)[:, :, None]
    found = take(H - penalty * padding if penalty else H.masked_fill(padding, filler))
    return found if penalty or isinstance(found, tuple) else found.masked_fill(valid_lens[:, None] == 0, empty)


def cut(take: Any) -> Any:
    """A review at a time, cut to its words."""
    return lambda H, lens: torch.stack([take(h[:n]) for h, n in zip(H, lens, strict=True)])


EMPTY = "a review without words has nothing to take a maximum of: it has zeros"
LOUD = [
    [[4.0, -5.0], [1.0, -2.0], [5000.0, 9.0], [0.0, 5000.0]],
    [[-1.0, -2.0], [7.0, 5000.0], [8.0, 8.0], [5000.0, 9.0]],
    [[-3.0, 1.0], [-4.0, -1.0], [-2.0, 3.0], [5000.0, 5000.0]],
]
FEW = [[[2.0, -1.0], [3.0, -3.0]], [[6.0, 7.0], [8.0, 5000.0]], [[-1.0, 1.0], [-2.0, 4.0]]]
exercise(
    "debug-maximum",
    maximum,
    tuple(
        Case(f"H = torch.tensor({rows}); valid_lens = torch.tensor({lens})".replace("inf", "torch.inf"), hint)
        for rows, lens, hint in (
            ([[[1.0, 5.0], [4.0, 2.0], [8.0, 3.0], [5000.0, 1.0]]], [2], ""),
            ([[[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]], [2], ""),
            (LOUD, [2, 1, 3], ""),
            (
                [[[-1e30, -2e30], [5.0, 5.0]]],
                [1],
                "a state may be smaller than any number that you choose; what is smaller than all?",
            ),
            (FEW, [2, 0, 1], EMPTY),
            (FEW, [0, 1, 0], EMPTY),
            ([[[-torch.inf, torch.inf]]], [1], "is every number of H that counts kept as it is?"),
        )
    ),
    {
        "with a length of 2 the steps 0 and 1 count: at which step does padding begin?": (
            *({"late": 1}, {"late": 1, "filler": 0.0}),
        ),
        "with a length of 2 the steps 0 and 1 count: is step 1 hidden?": {"late": -1},
        "0 is larger than a negative number: what is smaller than all?": {"filler": 0.0},
        "the last step that counts is not the maximum": lambda H, lens: H[torch.arange(len(H)), lens - 1],
        "neither a mean nor a sum is a maximum": (cut(lambda h: h.mean(0)), cut(lambda h: h.sum(0))),
        "is there a maximum of steps that do not count?": lambda H, lens: H.amax(1),
        "a penalty that is added does not hide a large state: fill, do not add": tuple(
            {"penalty": penalty} for penalty in (20.0, 100.0, 1000.0)
        ),
        "you hide the words and keep the padding": lambda H, lens: maximum(H.flip(1), H.shape[1] - lens),
        "that is the minimum": lambda H, lens: -maximum(-H, lens),
        "the largest number, not the largest size: a negative one has a sign": lambda H, lens: maximum(H.abs(), lens),
        "each review has a length of its own, not that of the shortest, longest or first": (
            lambda H, lens: H[:, : lens.min()].amax(1),
            lambda H, lens: H[:, : lens.max()].amax(1),
            lambda H, lens: H[:, : lens[0]].amax(1),
        ),
        EMPTY: ({"empty": -torch.inf}, {"empty": torch.nan}, cut(lambda h: h.amax(0)), cut(lambda h: h.max(0).values)),
        "max(dim=...) gives a pair: values and indices": (
            *({"take": lambda shown: shown.max(1)}, lambda H, lens: H.max(1)),
        ),
    },
    claim="it is the maximum over the steps that count",
    verified="padding never wins, negative numbers may, an empty review has zeros, H unchanged",
    hint="which steps count, and what never wins a maximum?",
)


# Largest and smallest share that a bag of words gets right, and the share of pairs without positions.
prediction(
    "predict-bag",
    {
        Number("(a)", 0.9, "how many reviews are in no pair? And how many of the others are right?", tolerance=0.004): {
            "of each pair one review is right, whatever the answer": 0.8,
            "both reviews of a pair get the same answer: can both be right?": 1.0,
            "that is for the pairs alone; most reviews are in no pair": 0.5,
            "a share is a number between 0 and 1, not per cent": (180, 90),
        },
        Number("(b)", 0.1, "the ordinary ones are wrong; what about the pairs?", tolerance=0.004): {
            "both reviews of a pair get the same answer: can both be wrong?": 0.0,
            "of each pair only one review is right": 0.2,
            "that is for the pairs alone; most reviews are in no pair": 0.5,
            "a share is a number between 0 and 1, not per cent": (20, 10),
        },
        Number(
            "(c)",
            0.5,
            "what does a model without positions know about order? Data cannot change a proof",
            tolerance=0.004,
        ): {
            "shuffle the words: do the three layers notice?": 1.0,
            "more data, more layers: is one of them told where a word stands?": 0.9,
            "both reviews of a pair get the same answer: can both be wrong?": 0.0,
            "a share is a number between 0 and 1, not per cent": 50,
        },
    },
    right="0.9, 0.1 and 0.5: a proof holds for any training",
)


def replace(tokens: Tensor, i: int, width: int, number: int) -> Tensor:
    return torch.cat([tokens[:i], torch.full((width,), number), tokens[i + width :]])


def measure(
    score: Any,
    tokens: Tensor,
    width: int,
    *,
    hide: Any = replace,
    number: int = 1,
    compare: Any = lambda whole, rest: whole - rest,
) -> Tensor:
    """The fall of the score when neighbouring words become 1, right unless told otherwise."""
    rows = [hide(tokens, i, width, number) for i in range(len(tokens) - width + 1)]
    return compare(score(tokens), torch.stack([score(row) for row in rows]))


def use_score(answer: Any, score: Any, tokens: Tensor, width: int) -> Any:
    """The effects, by a score that reads one review at a time."""

    def read(review: Any) -> Any:
        if not isinstance(review, Tensor) or review.dim() != 1:
            got = tuple(review.shape) if isinstance(review, Tensor) else type(review).__name__
            raise WrongAnswer("score is given a tensor of shape (n,)", "one review at a time, as a tensor", got=got)
        return score(review)

    return answer(read, tokens, width)


UP_TO: Any = {"hide": lambda tokens, i, width, number: replace(tokens, 0, i + width, number)}
# Places count, so that deleting differs from replacing; and words depend on each other.
SCORE = (
    "w = torch.tensor([7.0, 0.5, 3.0, -2.0, 1.0, -4.0]); "
    "score = lambda t: (w[t] * torch.arange(1, len(t) + 1)).sum() + w[t].sum()**2 / 10"
)
exercise(
    "effect-of-words",
    measure,
    tuple(
        Case(
            f"tokens = torch.tensor({tokens}); width = {width}; {SCORE}",
            edge="as wide as long" * (width == len(tokens)) or "width 1" * (width == 1),
        )
        for tokens, width in (
            ([4, 2, 5, 3, 2], 2),
            ([5, 2, 3], 1),
            ([1, 3, 5, 2, 2, 4], 3),
            ([2, 4, 2, 2], 2),
            ([3, 2], 2),
        )
    ),
    {
        "a phrase that makes the review more positive has a positive effect": {
            "compare": lambda whole, rest: rest - whole
        },
        "a fall may be negative, where a phrase makes the review more negative": {
            "compare": lambda whole, rest: (whole - rest).abs()
        },
        "0 is padding; the unknown word is number 1": {"number": 0},
        "deleting moves the words behind it: replace the phrase": {
            "hide": lambda tokens, i, width, number: torch.cat([tokens[:i], tokens[i + width :]])
        },
        "the effect is a difference: what is the score of the whole review?": {"compare": lambda whole, rest: rest},
        "one phrase at a time: put the words back before you replace the next": (
            UP_TO,
            UP_TO | {"compare": lambda whole, rest: -torch.cat([whole[None], rest]).diff()},
        ),
        "keep the other words: only a phrase is replaced": {
            "hide": lambda tokens, i, width, number: torch.cat(
                [torch.ones_like(tokens[:i]), tokens[i : i + width], torch.ones_like(tokens[i + width :])]
            ),
            "compare": lambda whole, rest: rest,
        },
        "only this place: the same word elsewhere stays": {
            "hide": lambda tokens, i, width, number: tokens.masked_fill(torch.isin(tokens, tokens[i : i + width]), 1)
        },
        "the effect of the whole phrase, not of each of its words": lambda *given: measure(*given) / given[2],
        "replace all words of a phrase together: their effects do not add up": lambda score, tokens, width: (
            measure(score, tokens, 1).unfold(0, width, 1).sum(1)
        ),
        "a phrase has more than one word: which ones did you replace?": (
            lambda score, tokens, width: measure(score, tokens, 1)[: len(tokens) - width + 1],
            lambda score, tokens, width: measure(score, tokens, 1)[width - 1 :],
        ),
        "at which place does the last phrase begin?": (
            lambda score, tokens, width: measure(score, tokens, 1),
            lambda *given: measure(*given)[:-1],
        ),
    },
    claim="it is the fall of the score when a phrase is replaced",
    verified="one phrase replaced at a time, signs kept, tokens unchanged",
    hint="one phrase at a time: score of the whole review minus score with this phrase replaced",
    use=use_score,
)


def reach(k: int, pairs: int) -> float:
    return sum(math.comb(pairs, i) for i in range(k, pairs + 1)) / 2**pairs


def enough(
    pairs: int,
    chance: float,
    *,
    tail: Any = reach,
    least: Any = lambda pairs: 0,
    rare: Any = operator.lt,
    none: Any = lambda pairs: pairs + 1,
) -> int:
    """The smallest number of right pairs that a coin reaches with less than `chance`, right unless told otherwise."""
    return next((k for k in range(least(pairs), pairs + 1) if rare(tail(k, pairs), chance)), none(pairs))


exercise(
    "by-luck",
    enough,
    (
        *(
            f"pairs = {pairs}; chance = {chance}"
            for pairs, chance in (
                (60, 0.05),
                (41, 0.01),
                (4, 0.3),
                (12, 0.01),
                (3, 0.125),
                (3, 0.2),
                (1, 0.1),
                (6, 0.9),
            )
        ),
        "pairs = 1000; chance = 0.01",
    ),
    {
        "a coin reaches this number too often: how likely is *at least* that many?": {
            "tail": lambda k, pairs: reach(k + 1, pairs)
        },
        "all of the pairs right is one of the ways: does your sum reach i = m?": {
            "tail": lambda k, pairs: reach(k, pairs) - 1 / 2**pairs
        },
        "is there a smaller number that is rare enough?": lambda *given: enough(*given) + 1,
        "the chance of exactly that many is smaller: what about more?": {
            "tail": lambda k, pairs: math.comb(pairs, k) / 2**pairs,
            "least": lambda pairs: pairs // 2 + 1,
        },
        "only one side: a model that is always wrong is no good model": {"tail": lambda *given: 2 * reach(*given)},
        "a number of pairs, not a share of them": lambda *given: enough(*given) / given[0],
        "that is the coin's chance: how many pairs are that?": lambda *given: reach(enough(*given), given[0]),
        "at least that many, not at most": (
            lambda *given: given[0] - enough(*given),
            lambda *given: given[0] - enough(*given) + 1,
        ),
        "the number of pairs need not be 50": lambda pairs, chance: enough(50, chance),
        "is no number rare enough? A chance is between 0 and 1": (
            {"rare": lambda *_: False},
            {"rare": lambda *_: True},
        ),
        "rarer than `chance`, not as rare: if no number is, the answer is pairs + 1": (
            {"rare": operator.le},
            *({"none": lambda pairs, k=k: pairs if k else k - 1} for k in (0, 1)),
        ),
    },
    claim="it is the smallest number that a coin reaches less often than that",
    verified="the smallest number that is rare enough: at least that many, one side, exact",
    hint="from which k on is the sum in (11.2), with `pairs` in place of 50, smaller than `chance`?",
)


# Of 10, 20, 30, 40, 50 pairs, the first for which 70 % right are rarer than one in a hundred.
prediction(
    "use-luck",
    {
        Number("the number of pairs", 40, "70 % of the pairs must be at least enough(pairs, 0.01)"): {
            "21 of 30 are reached by luck twice in a hundred": 30,
            "14 of 20 are reached by luck once in 17": 20,
            "7 of 10 are reached by luck once in six": 10,
            "is a smaller number of pairs enough?": 50,
            "that is how many are right: of how many pairs?": 28,
        }
    },
    right="28 of 40 by luck: fewer than one in a hundred; 21 of 30 are still twice as likely",
)

list_in_order(
    "Reading reviews",
    Task(
        "Exercise 11.1",
        "predict-bag",
        "what does a bag say of the two reviews of one pair, and for how many reviews is that all it can do?",
        'formula (11.1) in "Does it use the order?"',
    ),
    Task(
        "Exercise 11.2",
        "debug-maximum",
        "which steps count for a length of 2, and can a maximum be below 0?",
        '"A Transformer reads": how padding is left out of a mean',
    ),
    Task(
        "Exercise 11.3",
        "effect-of-words",
        "at how many places can a phrase begin, and which review is each score compared with?",
        '"Where does it look?"',
    ),
    Task(
        "Exercise 11.4",
        "by-luck use-luck",
        'how probable are exactly k of m pairs, and what does "or more" add?',
        'formula (11.2) in the task; the first fold behind "Right for the wrong reason" uses it',
    ),
)
