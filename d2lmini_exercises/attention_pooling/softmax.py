"""The softmax: what it is masked with, what it mixes, and how decided it is before any learning."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.engine import (
    APART,
    EDGES,
    Case,
    Number,
    WrongAnswer,
    draw,
    exercise,
    prediction,
)


def softmax(
    X: Tensor, valid_lens: Tensor, *, fill: float = -math.inf, empty: float | None = 0.0, more: int = 0, dim: int = -1
) -> Tensor:
    """Right unless told otherwise."""
    hidden, nothing = ~show(X, valid_lens + more), (valid_lens == 0)[:, None, None]
    if empty is None:
        return X.masked_fill(hidden, fill).softmax(dim)
    return X.masked_fill(hidden & ~nothing, fill).softmax(dim).masked_fill(nothing, empty)


def show(X: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(X.shape[2]) < valid_lens[:, None, None]


def use(answer: Any, X: Tensor, valid_lens: Tensor) -> Any:
    """The weights, in the dtype of the scores."""
    try:
        weights = answer(X, valid_lens)
    except RuntimeError as error:
        if X.dtype == torch.get_default_dtype():
            raise
        raise WrongAnswer(f"it works in {X.dtype}", FIT, got=str(error).partition("\n")[0]) from error
    if isinstance(weights, Tensor) and weights.dtype != X.dtype:
        hint = "does a constant, or a cast on the way, change it? Cast the weights back"
        raise WrongAnswer("the weights have the dtype of X", hint, expected=X.dtype, got=weights.dtype)
    return weights


FIT = "does every constant in your code fit? float16 ends at 65504"
SCORES = "X = torch.tensor([[[0.0, 1, 2, 1], [1, 0, 0, 2]], [[2, 0, 1, 0], [0, 2, 2, 1]]])"
exercise(
    "debug-masked-softmax",
    softmax,
    (
        Case(
            f"{SCORES}; valid_lens = torch.tensor([2, 3])",
            "keep what worked: compare with the function you started from",
        ),
        Case(
            f"{draw(4, X=(3, 2, 5))}; valid_lens = torch.tensor([5, 1, 4])",
            "does a number in your code stand for a size of the first example?",
        ),
        *(
            Case(
                f"X = {factor} * torch.tensor({scores}, dtype={dtype}); valid_lens = torch.tensor({lens})",
                claim="it is a softmax over the first valid_lens keys, whatever the scores",
                trained=False,
                edge=edge,
            )
            for scores, lens, factor, edge in (
                ([[[3, 2, 0]], [[1, 4, 5]]], [2, 3], "20000.0", "large scores"),
                ([[[0, 0, 3]], [[3, 0, 0]]], [2, 3], "20000.0", "outweighed"),
                ([[[-2, -3, -3]], [[-2, -3, -3]]], [2, 1], "2.0**125", "low scores"),
                ([[[-3, -3, -3]], [[-3, -3, -3]]], [1, 1], "2.0**125", "low scores"),
            )
            for dtype in (torch.float32, torch.float64)
        ),
        *(
            Case(
                f"X = torch.tensor([[[{a}, {a}, 0], [{b}, {b}, 0]]]); valid_lens = torch.tensor([2])",
                claim="rows far apart do not disturb each other",
                trained=False,
                edge="rows far apart",
            )
            for a, b in APART
        ),
        *(
            Case(
                f"{SCORES}; valid_lens = torch.tensor({lens})",
                claim="a query that may attend to nothing gets weights 0",
                edge="nothing to see",
            )
            for lens in ([0, 3], [2, 0])
        ),
        Case(f"{draw(5, X=(1, 3, 4))}; valid_lens = torch.tensor([4])", edge="one example"),
        Case(f"{draw(6, X=(3, 2, 1))}; valid_lens = torch.tensor([1, 0, 1])", edge="one key"),
        *(
            Case(
                f"{SCORES}.to({dtype}); valid_lens = torch.tensor([2, 3])",
                FIT,
                f"it works in {dtype}",
                2e-3,
                trained=False,
            )
            for dtype in (torch.float16, torch.bfloat16, torch.float64)
        ),
        Case(
            "X = 1e8 + torch.tensor([[[0, 1, 2]]], dtype=torch.float64); valid_lens = torch.tensor([2])",
            "float64 holds numbers that float32 cannot: is X cast on the way?",
            "it works in float64",
            trained=False,
        ),
    ),
    {
        "rows now sum to less than 1: mask the scores, not the weights": lambda X, lens: X.softmax(-1) * show(X, lens),
        "what must one query's weights add up to? And do they change when another query changes?": (
            {"dim": 1},
            {"dim": 1, "empty": None},
            {"dim": 1, "fill": -1e6, "empty": None},
        ),
        "the lengths are not used": lambda X, lens: X.softmax(-1),
        "e⁰ is 1: a score of 0 still gets a weight": {"fill": 0.0},
        "one key too many: with length 2 the keys 0 and 1 count": {"more": 1},
        "the wrong keys are hidden: the first valid_lens are the ones that count": lambda X, lens: masked_softmax(
            X, mask=~show(X, lens)
        ),
        EDGES["low scores"]: {"fill": -1e6, "empty": None},
        "0 divided by 0: a row of -inf has no softmax, so treat it apart": {"empty": math.nan},
        "the row has no key, yet its weights add up to 1": {"fill": torch.finfo(torch.float32).min, "empty": None},
    },
    claim="it is a softmax over the first valid_lens keys",
    verified="right weights and gradients, arguments unchanged, extreme scores, empty rows, four dtypes",
    hint="",
    untried="a GPU, how fast it is",
    use=use,
    trained=True,
)


def _mix(beta: float, base: float) -> float:
    """The output for scores of 0, 1 and 2 times the logarithm of the base."""
    powers = [base ** (beta * i) for i in range(3)]
    return 7 * (powers[1] + 2 * powers[2]) / sum(powers)


# Scores 0, ln 2, 2 ln 2; values 0, 7, 14: the output for beta = 1, 2 and 0.
prediction(
    "predict-mixture",
    {
        Number(
            "the output for β = 1",
            10.0,
            "which three powers of e are there, and what is their sum? Then mix the values",
        ): {
            "that is the value of the best key alone. Which weight does a score of 0 get? e⁰ is 1, not 0": 14.0,
            "that is the plain mean: it needs equal scores": 7.0,
            "scores are not yet weights: take e to each of them first": 35 / 3,
            "these weights add up to 7: what must a query's weights add up to?": 70.0,
            "the scores are 0, ln 2 and 2 ln 2, not 0, 1 and 2": _mix(1, math.e),
            "that is a softer one: is β 1 here, or did you scale the scores?": _mix(1, math.sqrt(2)),
            "that is the mixture for β = 2": 12.0,
        },
        Number("the output for β = 2", 12.0, "multiply the scores by 2 and go through the softmax again"): {
            "the best key alone answers only in the limit: what is the ratio of two weights at β = 2?": 14.0,
            "β multiplies the scores: what is e to the power of 2·ln 2?": 10.0,
            "β multiplies the scores, not the output": 20.0,
            "a larger β is harder, not softer: try β = 0": _mix(1, math.sqrt(2)),
            "the scores are 0, ln 2 and 2 ln 2, not 0, 1 and 2": _mix(2, math.e),
            "you squared the weights of β = 1: what do they add up to now?": 252 / 49,
            "these weights add up to 21: what must a query's weights add up to?": 252.0,
            "that is β = 3": _mix(3, 2),
        },
        Number("the output for β = 0", 7.0, "with β = 0 all scores are equal: what are the weights?"): {
            "all scores become 0, and e⁰ is 1: the weights are not 0": 0.0,
            "a larger β is harder, not softer: with β = 0 all scores are equal": 14.0,
        },
    },
    right="all three mixtures are right",
)


def measure(
    queries: Tensor,
    keys: Tensor,
    scale: float,
    *,
    rescale: Any = lambda d, scale: scale,
    dim: int = -1,
    weigh: Any = F.softmax,
    find: Any = lambda weights: weights.amax(-1).median(),
) -> Any:
    """The median over queries of the largest weight, right unless told otherwise."""
    scores = (queries[:, None] * keys).sum(-1)  # (n, m)
    return find(weigh(scores * rescale(queries.shape[1], scale), dim))


exercise(
    "measure-saturation",
    measure,
    [
        *(
            Case(
                f"torch.manual_seed(1); queries, keys = torch.randn({n}, {d}), torch.randn({n}, {m}, {d}); "
                f"scale = {scale}",
                edge=edge,
            )
            for n, m, d, scale, edge in (
                (5, 3, 4, 0.4, ""),
                (31, 64, 4, 0.7, ""),
                (7, 5, 16, 0.1, ""),
                (9, 4, 2, 3.0, ""),
                (1, 4, 2, 1.0, "one example"),
                (3, 1, 2, 1.0, "one key"),
                (5, 4, 1, 1.0, "width 1"),
            )
        ),
        Case(f"{draw(1, queries=(3, 2), keys=(3, 4, 2))}; scale = -0.5", "the smallest score may weigh the most"),
        *(
            Case(
                f"queries = torch.tensor([[{a}], [{b}], [{a}]]); keys = torch.tensor([[[1.0], [0.9998]]] * 3); "
                "scale = 1.0",
                edge="rows far apart",
            )
            for a, b in APART
        ),
    ],
    {
        "the median of the largest weights is asked for, not their mean": {
            "find": lambda weights: weights.amax(-1).mean()
        },
        "the scale is not used": {"rescale": lambda d, scale: 1},
        "the scale is not used: you always divide by √d": {"rescale": lambda d, scale: d**-0.5},
        "the scale multiplies the scores: you divide": {"rescale": lambda d, scale: 1 / scale},
        "scaled twice: scale is the only factor, whatever the width": {"rescale": lambda d, scale: scale * d**-0.5},
        "one query's weights add up to 1 over its keys, not over the queries": {"dim": 0},
        "that is the median of all weights: take each query's largest first": {"find": Tensor.median},
        "that is the largest over all queries: take the median of each query's largest": {"find": Tensor.max},
        "that is each query's largest weight: take the median over the queries": {"find": lambda w: w.amax(-1)},
        "each query has keys of its own: you give all of them those of the first": lambda queries, keys, scale: measure(
            queries, keys[:1], scale
        ),
        "scores are not yet weights: take the softmax first": {"weigh": lambda scores, dim: scores},
    },
    claim="it is the median of each query's largest weight",
    verified="right for four sets of sizes and scales",
    hint="what does one query do? Print its scores with its own keys, its weights and the largest",
)


prediction(
    "use-saturation",
    {
        Number("the width", 128, "run it for d = 1, 2, 4, ... with a scale of 1, and print each median"): {
            "there the median is still below 0.9: it is about 0.86": 64,
            "there the median is still far below 0.9": (32, 16, 8, 4, 2, 1),
            "the median exceeds 0.9 there, but also at a smaller power of 2": (256, 512, 1024, 2048),
            "the width itself is asked for, not its exponent": 7,
        }
    },
    right="at d = 128 half of the queries have all but decided",
)
