"""Causal self-attention: what a token sees of what came before it."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.engine import (
    Case,
    Mistakes,
    WrongAnswer,
    checker,
    draw,
    exercise,
    expect_pair,
    find_hint,
    is_near,
    read_numbers,
)


@checker("predict-causal-row")
def check_predict_causal_row(answer: Any) -> str:
    """Scores (1, 0, 0, 2) ln 2 of the third of four words, under a causal mask."""
    got = read_numbers(answer, 4)
    mistakes: Mistakes = {
        "吃 is the third word: may it see 苹果?": torch.tensor([2, 1, 1, 4]) / 8,
        "a row now sums to less than 1: mask before the softmax": torch.tensor([2, 1, 1, 0]) / 8,
        "a token does not skip itself: is the diagonal 0?": torch.tensor([2, 1, 0, 0]) / 3,
        "the mask is transposed: the first word may see one key, the last word all four": (
            torch.tensor([0, 0, 1, 4]) / 5
        ),
        "the mask is transposed, and a token sees itself, too": torch.tensor([0.0, 0, 0, 1]),
        "these are powers of 2, not yet weights: divide by their sum": torch.tensor([2.0, 1, 1, 0]),
        "scores are not yet weights: what is e⁰?": torch.tensor([1.0, 0, 0, 0]),
        "a masked key has the score minus infinity, not 0: e⁰ is 1": (
            torch.tensor([2, 1, 1, 2]) / 6,
            torch.tensor([2, 1, 1, 1]) / 5,
        ),
    }
    if is_near(torch.tensor(got), torch.tensor([2, 1, 1, 0]) / 4, 0.01) and is_near(sum(got), 1.0, 0.01):
        return "吃 sees the first three words, with 4 = 2 + 1 + 1"
    otherwise = "which keys may 吃 see, and what is e to their scores? e to ln 2 is 2"
    if abs(sum(got) - 1) > 0.01:
        otherwise = "what must the weights of one query add up to?"
    raise WrongAnswer("these are the four weights", find_hint(torch.tensor(got), mistakes, otherwise, 0.01), got=got)


def use(attend: Any, X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Any, Any]:
    """The weights, which come first on the way to an output, and the output."""
    output, weights = expect_pair(
        attend(X, W_q, W_k, W_v), claim="it returns two things", hint="return output, weights"
    )
    return weights, output


def attend(
    X: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    *,
    may: Any = torch.tril,
    fill: float = -math.inf,
    empty: float = math.nan,
    dim: int = 1,
    divide: Any = lambda n, d, p: math.sqrt(p),
    late: bool = False,
    weigh: Any = F.softmax,
    project: Any = lambda X, W: X @ W.T,
    mix: Any = lambda A, X, K, V: A @ V,
) -> tuple[Tensor, Tensor]:
    """Output and weights of causal self-attention, right unless told otherwise."""
    Q, K, V = (project(X, W) for W in (W_q, W_k, W_v))
    scores, allowed = Q @ K.T / divide(*X.shape, len(W_q)), may(torch.ones(len(X), len(X), dtype=torch.bool))
    A = weigh(scores if late else scores.masked_fill(~allowed, fill), dim)
    A = A * allowed if late else A.nan_to_num(empty, math.inf, -math.inf)
    return mix(A, X, K, V), A


# What the keys of the tokens are, times 2**126.
EXTREMES: dict[str, list[float]] = {
    "large scores": [2, 1, 0, 1],
    "outweighed": [0, 0, 0, 3],
    "low scores": [-3, -3.5, -3.5, 0],
}
exercise(
    "causal-self-attention",
    attend,
    (
        *(
            draw(seed, most=1, X=(n, d), W_q=(p, d), W_k=(p, d), W_v=(v, d))
            for seed, n, d, p, v in ((2, 7, 4, 5, 3), (5, 6, 3, 2, 5), (6, 70, 4, 2, 3))
        ),
        *(
            Case(
                f"X = torch.tensor({[[1.0, key] for key in keys]}); W_q = 2.0**63 * torch.tensor([[1, 0], [0, 0]]); "
                "W_k = 2.0**63 * torch.tensor([[0, 1], [0, 0]]); W_v = torch.eye(2)",
                claim="a token that may not be seen has no influence, whatever the scores",
                edge=edge,
            )
            for edge, keys in EXTREMES.items()
        ),
        *(
            Case(draw(7, most=1, X=(n, d), W_q=(p, d), W_k=(p, d), W_v=(v, d)), edge=edge)
            for edge, n, d, p, v in (
                ("one token", 1, 3, 2, 2),
                ("width 1", 4, 3, 1, 1),
                ("width 1", 4, 1, 2, 3),
                ("as wide as long", 3, 3, 3, 3),
            )
        ),
    ),
    {
        "True means may attend: your mask works the other way round": (
            {"may": lambda ones: ~ones.tril()},
            {"may": lambda ones: ~ones.tril(), "fill": -1e9},
            {"may": lambda ones: ones.triu(1)},
        ),
        "a token sees later ones: is there a causal mask, and is it used?": {"may": lambda ones: ones},
        "the mask is transposed: row i is the token that asks": {"may": torch.triu},
        "a token sees itself, or the first one would see nothing: is the diagonal of the mask True?": (
            {"may": lambda ones: ones.tril(-1)},
            {"may": lambda ones: ones.tril(-1), "empty": 0.0},
        ),
        "the mask is one too wide: a token may not see the next one": {"may": lambda ones: ones.tril(1)},
        "what must one query's weights add up to? Each row belongs to one query": {"dim": 0},
        "NaN: 0 times infinity? Or a softmax of nothing but -inf: along which dimension, and may a token see itself?": {
            "weigh": lambda scores, dim: scores * math.nan
        },
        "rows now sum to less than 1: mask the scores, not the weights": {"late": True},
        "e⁰ is 1: the score of a masked key must be minus infinity": {"fill": 0.0},
        "the scores are not scaled": {"divide": lambda n, d, p: 1},
        "a score is a sum of p products: you divide by p, not by its root": {"divide": lambda n, d, p: p},
        "the length of the sequence is not the width of the queries": {"divide": lambda n, d, p: n**0.5},
        "the root of p, the width after the projection: d is that before it": {"divide": lambda n, d, p: d**0.5},
        "who asks, and who is asked? You swapped W_q and W_k": lambda X, q, k, v: attend(X, k, q, v),
        "the keys have a projection of their own": lambda X, q, k, v: attend(X, q, q, v),
        "the queries have a projection of their own": lambda X, q, k, v: attend(X, k, k, v),
        "these are scores, not yet weights": (
            {"weigh": lambda scores, dim: scores},
            {"weigh": lambda scores, dim: scores, "may": lambda ones: ones},
        ),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W": (
            {"project": lambda X, W: X @ W},
            lambda X, q, k, v: attend(X, q.T, k.T, v),
        ),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_v": lambda X, q, k, v: attend(X, q, k, v.T),
        "the weights mix values: where is W_v?": {"mix": lambda A, X, K, V: A @ X},
        "the weights mix values, not keys": {"mix": lambda A, X, K, V: A @ K},
        "each row of the weights belongs to one query: do not transpose them": {"mix": lambda A, X, K, V: A.mT @ V},
    },
    claim="it is softmax attention to the tokens up to the token itself",
    verified="weights and output are right, for three sets of sizes, and for extreme scores",
    hint="compute queries, keys, scores, mask and weights one by one and print each. "
    "If the weights are right: what are they multiplied with?",
    use=use,
    parts=("weights", "output"),
)
