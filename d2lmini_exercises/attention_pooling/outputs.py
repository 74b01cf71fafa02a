"""Masked attention, and how its output changes with the query."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import FAR, Case, draw, exercise


def mean(alpha: Tensor, X: Tensor) -> Tensor:
    return alpha @ X


def pool(alpha: Tensor, X: Tensor) -> Tensor:
    return X.mean(0)


def nothing(alpha: Tensor, X: Tensor) -> Tensor:
    return torch.zeros(X.shape[1])


def weigh(query: Tensor, keys: Tensor) -> Tensor:
    return F.softmax(keys @ query / math.sqrt(len(query)), 0)


def differentiate(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    inside: Any = math.sqrt,
    outside: Any = lambda m, d: math.sqrt(d),
    weights: Any = lambda s: F.softmax(s, 0),
    of_keys: Any = mean,
    of_values: Any = mean,
) -> Tensor:
    """The covariance of value and key under the weights of the query, over √d, right unless told otherwise."""
    m, d = keys.shape
    alpha = weights(keys @ query / inside(d))
    centred = alpha[:, None] * (keys - of_keys(alpha, keys))
    return (values - of_values(alpha, values)).T @ centred / outside(m, d)


def difference(step: float, left: float, right: float) -> Any:
    """What a difference gives, from a step to the left to a step to the right."""

    def differ(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        moves = step * torch.eye(len(query))
        pairs = ((weigh(query + right * s, keys) @ values, weigh(query - left * s, keys) @ values) for s in moves)
        return torch.stack([high - low for high, low in pairs], 1) / (step * (left + right))

    return differ


SAMPLE = "that is how a sample estimates it, from the sum of squared weights: correction=0 is for probabilities"
MOMENT: dict[str, Any] = {"of_keys": nothing, "of_values": nothing}
exercise(
    "query-gradient",
    differentiate,
    [
        *(
            Case(draw(seed, query=(d,), keys=(m, d), values=(m, v)), tolerance=1e-3)
            for seed, m, d, v in ((1, 4, 7, 2), (2, 6, 3, 5), (5, 3, 5, 5), (3, 5, 4, 1), (4, 3, 1, 2))
        ),
        *(  # the best two scores are the same, then far apart: a limit makes them the same
            Case(
                f"query = 1.0 * torch.tensor({query}); keys = 1.0 * torch.tensor({keys}); "
                "values = torch.tensor([[1.0, 2], [4, -1], [3, 3]])",
                tolerance=1e-3,
                edge="large scores",
            )
            for query, keys in (([2000, 0], [[1, 0], [1, 1], [-1, 2]]), ([100], [[2], [1], [-1]]))
        ),
        Case(draw(6, query=(3,), keys=(1, 3), values=(1, 2)), edge="one key"),
    ],
    {
        "0 throughout: which of your factors, or which sum, is 0? Print them one by one": {
            "outside": lambda m, d: math.inf
        },
        "the score is divided by √d: where is this factor in the derivative?": {"outside": lambda m, d: 1.0},
        "the score is divided by √d, not by d": {"outside": lambda m, d: d},
        "the factor √d is on the wrong side": {"outside": lambda m, d: d**-0.5},
        "is the sum of the weights still 1 after the step? As one score grows, the other weights fall": MOMENT,
        "that is what falls away: the product of the two means": lambda q, k, v: torch.outer(
            weigh(q, k) @ v, weigh(q, k) @ k
        ),
        "which mean? The one with the weights of this query": (
            {"of_keys": pool, "of_values": nothing},
            {"of_keys": pool, "of_values": pool},
        ),
        "the keys do not all weigh the same": {"weights": lambda scores: torch.ones_like(scores) / len(scores)},
        "the sign: a key that fits the step gains weight": {"outside": lambda m, d: -math.sqrt(d)},
        "the derivative of a weight is not the weight itself": MOMENT | {"outside": lambda m, d: 1.0},
        "that is without the scale, in the softmax as well": {"inside": lambda d: 1.0, "outside": lambda m, d: 1.0},
        "the scale is missing in the softmax": {"inside": lambda d: 1.0},
        "the scale is the root of the width d, not of the number of keys": {"outside": lambda m, d: math.sqrt(m)},
        "the sign of the second part: as one score grows, the other weights fall": lambda *given: (
            2 * differentiate(*given, **MOMENT) - differentiate(*given)
        ),
        SAMPLE: lambda q, k, v: differentiate(q, k, v) / (1 - weigh(q, k).square().sum()),
        "a weight depends on the other keys' scores as well: what is the derivative of αi by sj?": MOMENT
        | {"weights": lambda scores: F.softmax(scores, 0) * (1 - F.softmax(scores, 0))},
        "a row for each entry of the output, a column for each entry of the query": lambda *g: differentiate(*g).T,
        "a difference loses digits where the query is long: take it as a test, and write the formula": tuple(
            difference(step, left, right)
            for step in (1e-1, 1e-2)
            for left, right in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
            if step != 1e-2 or left != right  # which is near enough
        ),
    },
    claim="it is the derivative of softmax(Kq/√d)ᵀV by q",
    verified="equal to the derivative by autograd, for five sets of sizes, and for very high scores",
    hint="compare with a difference: move one entry of the query by 0.001 and look at the output",
)


NEGLECTED = "a masked key has no influence, whatever the scores"


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    divide: Any = lambda m, d: math.sqrt(d),
    seen: Any = lambda mask: mask,
    fill: float = -math.inf,
    late: bool = False,
    weigh: Any = F.softmax,
    dim: int = 1,
    empty: Any = 0.0,
    mix: Any = Tensor.matmul,
) -> Tensor:
    """The outputs of scaled dot-product attention with a mask, right unless told otherwise."""
    m, d = keys.shape
    may = seen(mask)
    scores = queries @ keys.T / divide(m, d)  # (n, m)
    weights = weigh(scores if late else scores.masked_fill(~may, fill), dim)
    weights = weights * may if late else weights.nan_to_num()
    nothing = ~may.any(1, keepdim=True)
    return mix(weights, values).where(~nothing, values.mean(0) if empty == "mean" else empty)


def extreme(queries: Any, keys: Any, values: Any, mask: Any, edge: str, factor: float = FAR) -> Case:
    times = "2.0**63" if factor == FAR else "1.0"
    code = f"queries = {times} * torch.tensor({queries}); keys = {times} * torch.tensor({keys}); "
    return Case(
        f"{code}values = 1.0 * torch.tensor({values}); mask = torch.tensor({mask}).bool()",
        claim=NEGLECTED,
        tolerance=0.01,
        edge=edge,
    )


DRAWN = draw(8, queries=(3, 5), keys=(7, 5), values=(7, 2))
MASK, FEW = (
    [[1, 0, 1, 1, 0, 1, 1], [1] * 7, [0, 1, 1, 0, 1, 1, 0]],
    [[0, 0, 1, 0, 0, 0, 0], [0] * 7, [0, 1, 0, 0, 0, 1, 0]],
)
PLAIN, HUGE = [[7], [1], [-8]], [[1e30], [1], [-8]]
DEEP = [[-2.5, 0, 0, 0], [-3, 0, 0, 0], [-3, 0, 0, 0]]
STEEP = [[1, 0, 0, 0], [3, 0, 0, 0], [2, 0, 0, 0]]
HIGH = [[1, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0]]
APART = [[1, 0, 0, 0], [0, 2, 1, 0]], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
ZEROS = "0 throughout: does your mask hide every key (True means may attend), or do you write into a copy?"
exercise(
    "masked-attention",
    attend,
    (
        Case(draw(3, queries=(2, 9), keys=(6, 9), values=(6, 3)) + "; mask = torch.ones(2, 6).bool()"),
        Case(
            f"{DRAWN}; mask = torch.tensor({MASK}).bool()",
            "does a number in your code stand for a size of the first example? Then look at one row of the mask",
            "a masked key has no influence",
        ),
        Case(
            f"{DRAWN}; mask = torch.tensor({FEW}).bool()",
            "which queries may see a single key, and which see none?",
            "a query that may attend to nothing returns 0",
            edge="nothing to see",
        ),
        *(
            Case(f"{drawn}; mask = torch.tensor({mask}).bool()", edge=edge)
            for edge, drawn, mask in (
                ("one token", draw(9, queries=(1, 4), keys=(5, 4), values=(5, 1)), [[1] * 5]),
                ("one key", draw(5, queries=(3, 1), keys=(1, 1), values=(1, 2)), [[1], [0], [1]]),
            )
        ),
        extreme([[60, 40, 0, 0]] * 2, [[60, 90, 0, 0]] * 3, PLAIN, [[1, 1, 0], [1, 1, 1]], "large scores", 1.0),
        *(extreme(*APART, PLAIN, mask, "outweighed") for mask in ([[0, 1, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 1]])),
        extreme(*APART, HUGE, [[0, 1, 1]] * 2, "outweighed"),
        extreme([[1, 0, 0, 0]] * 2, STEEP, PLAIN, [[1, 0, 1], [0, 0, 1]], "outweighed"),
        extreme([[1] * 4] * 2, DEEP, [[0, 1], [3, 4], [6, 8]], [[0, 1, 1], [0, 1, 0]], "low scores"),
        extreme([[1, 0, 0, 0], [0, 1, 1, 0]], HIGH, PLAIN, [[1, 1, 0], [1, 1, 1]], "large scores"),
    ),
    {
        "what is hidden has to be hidden before the softmax: the weights now add up to less than 1": {"late": True},
        "e⁰ is 1: a score of 0 still gets a weight": {"fill": 0.0},
        "in your softmax the queries compete with each other: along which dimension are the keys?": (
            {"dim": 0},
            {"dim": 0, "late": True},
        ),
        ZEROS: lambda q, k, v, m: torch.zeros(len(q), v.shape[1]),
        "NaN: along which dimension does the softmax go? Or do you multiply 0 by infinity?": lambda q, k, v, m: (
            torch.full((len(q), v.shape[1]), math.nan)
        ),
        "what is the spread of a sum of d products? You divide by d, or count keys": (
            {"divide": lambda m, d: d},
            {"divide": lambda m, d: math.sqrt(m)},
        ),
        "the scores are not scaled": {"divide": lambda m, d: 1.0},
        "the scale divides: you multiply by √d": {"divide": lambda m, d: d**-0.5},
        "scores are not yet weights: where is the softmax?": {"weigh": lambda s, dim: s, "fill": 0.0},
        "return the outputs: what do the weights mix?": {"mix": lambda weights, values: weights},
        "the mask is not used": {"seen": torch.ones_like},
        "True means may attend: your mask works the other way round": (
            {"seen": lambda mask: mask if mask.all() else ~mask},
            {"seen": lambda mask: mask if mask.all() else ~mask, "empty": math.nan},
        ),
        "each query has a row of the mask to itself: you use one row for all of them": tuple(
            {"seen": lambda mask, i=i: mask[[i % len(mask)]].expand_as(mask)} for i in (0, 2)
        ),
        "may a query attend to nothing? A row of minus infinity has no softmax, it is 0/0: return 0 there": {
            "empty": math.nan
        },
        "who sees nothing reads nothing: your query reads the mean of all values": {"empty": "mean"},
    },
    claim="it is softmax(QKᵀ/√d) V over the keys that a query may see",
    verified="right for several sizes, with masks, very high and very low scores, and queries that see no key",
    hint="take one query: compute scores, scale, mask, weights and mixture one by one and print each",
)
