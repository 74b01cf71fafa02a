"""Causal self-attention: what a token sees of what came before it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import Mistakes, WrongAnswer, checker, expect_pair, find_hint, is_near, read_numbers
from d2lmini_exercises.engine import Case, draw, exercise
from d2lmini_exercises.extremes import LOW, OUTWEIGHED, OVERFLOW


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
    otherwise = "which keys may 吃 see, and what is 2 to their scores?"
    if abs(sum(got) - 1) > 0.01:
        otherwise = "what must the weights of one query add up to?"
    raise WrongAnswer("these are the four weights", find_hint(torch.tensor(got), mistakes, otherwise, 0.01), got=got)


def use(attend: Any, X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor) -> tuple[Any, Any]:
    """The weights, which come first on the way to an output, and the output."""
    found = attend(X, W_q, W_k, W_v, sentence)
    output, weights = expect_pair(found, claim="it returns two things", hint="return output, weights")
    return weights, output


def same(s: Tensor) -> Tensor:
    return s[:, :, None] == s[:, None]


def attend(
    X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, sentence: Tensor,
    *, may: Any = lambda s: same(s).tril(), fill: float = -math.inf, empty: float = math.nan, dim: int = 2,
    divide: Any = lambda n, d, p: math.sqrt(p), late: bool = False, weigh: Any = F.softmax,
    project: Any = lambda X, W: X @ W.T, mix: Any = lambda A, X, K, V: A @ V,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Output and weights of causal self-attention within sentences, right unless told otherwise."""
    Q, K, V = (project(X, W) for W in (W_q, W_k, W_v))
    scores, allowed = Q @ K.mT / divide(*X.shape[1:], len(W_q)), may(sentence)
    A = weigh(scores if late else scores.masked_fill(~allowed, fill), dim)
    A = A * allowed if late else A.nan_to_num(empty, math.inf, -math.inf)
    return mix(A, X, K, V), A


def packed(seed: int, sizes: tuple[int, ...], numbers: list[list[int]], hint: str = "") -> Case:
    b, n, d, p, v = sizes
    code = draw(seed, most=1, X=(b, n, d), W_q=(p, d), W_k=(p, d), W_v=(v, d))
    return Case(f"{code}; sentence = torch.tensor({numbers})", hint)


MOST = 2**24  # and one more: the same number in float32
EXTREMES = (  # what the keys of the tokens are, times 2**126
    ([2, 1, 0, 1], [8, 8, 8, 8], OVERFLOW),
    ([3, 0, 0, 2], [8, 6, 6, 6], OUTWEIGHED),
    ([-3, -3, -3.5, -3.5], [2, 4, 2, 4], LOW),
    ([-3, -3, -3, 0], [1, 2, 3, 4], LOW),
)
exercise("causal-self-attention", attend,
    (
        packed(2, (2, 7, 3, 3, 3), [[4] * 7] * 2),
        packed(5, (3, 6, 3, 2, 5), [[0, 0, 0, 300, 300, 300], [12, 12, 2, 2, 2, 2], [1, 1, 1, 1, 1, 7]]),
        packed(6, (3, 8, 4, 2, 3), [[1, 2, 1, 1, 2, 2, 1, 2], [5] * 8, [2, 2, 0, 0, 2, 1, 0, 1]]),
        packed(
            7, (3, 6, 3, 2, 3),  # alike in few bits, or far from the others
            [[0, 256, 0, 512, 256, 257], [65536, 0, 65792, 65536, 256, 0], [MOST, 1, MOST + 1, MOST, 1, MOST + 1]],
            "sentences are told apart by their numbers, however large",
        ),
        *(
            Case(
                f"X = torch.tensor({[[[1.0, key] for key in keys]]}); W_q = 2.0**63 * torch.tensor([[1, 0], [0, 0]]); "
                "W_k = 2.0**63 * torch.tensor([[0, 1], [0, 0]]); W_v = torch.eye(2); "
                f"sentence = torch.tensor([{own}])", hint,
                "a token that may not be seen has no influence, whatever the scores",
            )
            for keys, own, hint in EXTREMES
        ),
    ),
    {
        "True means may attend: your mask works the other way round": (
            {"may": lambda s: ~same(s).tril()}, {"may": lambda s: ~same(s).tril(), "fill": -1e9},
            {"may": lambda s: same(s).triu(1)},
        ),
        "a token sees later ones: is there a causal mask, and is it used?": {"may": same},
        "the mask is transposed: row i is the token that asks": {"may": lambda s: same(s).triu()},
        "a token sees itself, or the first one would see nothing: is the diagonal of the mask True?":
            ({"may": lambda s: same(s).tril(-1)}, {"may": lambda s: same(s).tril(-1), "empty": 0.0}),
        "the mask is one too wide: a token may not see the next one": {"may": lambda s: same(s).tril(1)},
        "a token sees another sentence: sentence is not used": {"may": lambda s: (same(s) | True).tril()},
        "a token sees only the other sentences: same is True, not False":
            {"may": lambda s: (~same(s) | (s == s[:, :1]).all(1)[:, None, None]).tril()},
        "each example has sentences of its own": {"may": lambda s: same(s[:1]).tril().expand(len(s), -1, -1)},
        "the number decides, not the neighbours: a sentence may go on after another one":
            {"may": lambda s: same(F.pad((s.diff(dim=1) != 0).cumsum(1), (1, 0))).tril()},
        "a token sees sentences with a smaller number: the number has to be the same":
            {"may": lambda s: (s[:, :, None] >= s[:, None]).tril()},
        "a sentence may have any whole number: which ones does your code tell apart?": tuple(
            {"may": few, **empty}
            for few in (lambda s: same(s).tril() & (s < 10)[:, :, None], lambda s: same(s % 10).tril())
            for empty in ({}, {"empty": 0.0}, {"fill": -1e9})
        ),
        "what must one query's weights add up to? In a batch, dim=1 are the queries": {"dim": 1},
        "NaN: 0 times infinity? Or a softmax of nothing but -inf: along which dimension, and may a token see itself?":
            {"weigh": lambda scores, dim: scores * math.nan},
        "rows now sum to less than 1: mask the scores, not the weights": {"late": True},
        "e⁰ is 1: the score of a masked key must be minus infinity": {"fill": 0.0},
        "the scores are not scaled": {"divide": lambda n, d, p: 1},
        "a score is a sum of p products: you divide by p, not by its root": {"divide": lambda n, d, p: p},
        "the length of the sequence is not the width of the queries": {"divide": lambda n, d, p: n**0.5},
        "the scale is the width of the queries, after the projection": {"divide": lambda n, d, p: d**0.5},
        "who asks, and who is asked? You swapped W_q and W_k": lambda X, q, k, v, s: attend(X, k, q, v, s),
        "the keys have a projection of their own": lambda X, q, k, v, s: attend(X, q, q, v, s),
        "the queries have a projection of their own": lambda X, q, k, v, s: attend(X, k, k, v, s),
        "these are scores, not yet weights": (
            {"weigh": lambda scores, dim: scores},
            {"weigh": lambda scores, dim: scores, "may": lambda s: same(s) | True},
        ),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W":
            ({"project": lambda X, W: X @ W}, lambda X, q, k, v, s: attend(X, q.T, k.T, v, s)),
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_v": lambda X, q, k, v, s: attend(
            X, q, k, v.T, s
        ),
        "the weights mix values: where is W_v?": {"mix": lambda A, X, K, V: A @ X},
        "the weights mix values, not keys": {"mix": lambda A, X, K, V: A @ K},
        "each row of the weights belongs to one query: do not transpose them": {"mix": lambda A, X, K, V: A.mT @ V},
    },
    claim="it is softmax attention to the same sentence, up to the token itself",
    verified="weights and output are right, for three sets of sizes, packed and mixed sentences, and extreme scores",
    hint="compute queries, keys, scores, mask and weights one by one and print each. "
    "If the weights are right: what are they multiplied with?", use=use, parts=("weights", "output"),
)  # fmt: skip
