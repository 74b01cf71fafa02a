"""Causal self-attention: what a token sees of what came before it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini_exercises.core import (
    Mistakes,
    Result,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_pair,
    find_hint,
    is_near,
    read_numbers,
)
from d2lmini_exercises.extremes import FAR, LOW, OUTWEIGHED, OVERFLOW
from d2lmini_exercises.inputs import draw_inputs


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


@checker("causal-self-attention")
def check_causal_self_attention(attend: Any) -> str:
    """`attend(X, W_q, W_k, W_v, sentence)`: output and weights of causal self-attention within packed sentences."""
    expect_function(attend)
    _expect_attention(attend, 1, 2, (2, 7, 3, 3, 3), [[4] * 7] * 2)
    _expect_attention(
        attend, 1, 5, (3, 6, 3, 2, 5), [[0, 0, 0, 300, 300, 300], [12, 12, 2, 2, 2, 2], [1, 1, 1, 1, 1, 7]]
    )
    _expect_attention(attend, 1, 6, (3, 8, 4, 2, 3), [[1, 2, 1, 1, 2, 2, 1, 2], [5] * 8, [2, 2, 0, 0, 2, 1, 0, 1]])
    most = 2**24  # and one more: the same number in float32
    # alike in few bits, or far from the others
    large = [[0, 256, 0, 512, 256, 257], [65536, 0, 65792, 65536, 256, 0], [most, 1, most + 1, most, 1, most + 1]]
    _expect_attention(attend, 1, 7, (3, 6, 3, 2, 3), large, "sentences are told apart by their numbers, however large")
    _expect_extreme_scores(attend)
    return "weights and output are right, for three sets of sizes, packed and mixed sentences, and extreme scores"


def _expect_attention(
    attend: Any, most: int, seed: int, sizes: tuple[int, ...], numbers: list[list[int]], hint: str = ""
) -> None:
    b, n, d, p, v = sizes
    (X, W_q, W_k, W_v), code = draw_inputs(seed, most=most, X=(b, n, d), W_q=(p, d), W_k=(p, d), W_v=(v, d))
    sentence = torch.tensor(numbers)
    given = f"{code}; sentence = torch.tensor({numbers})"
    output, weights = _read_pair(attend(X, W_q, W_k, W_v, sentence))
    values, expected = X @ W_v.T, _compute_weights(X, W_q, W_k, mask=_allow(sentence))
    expect_close(
        weights,
        expected,
        claim="the weights are those of softmax attention to the same sentence, up to the token itself",
        given=given,
        hint=hint or "compute queries, keys, scores, mask and weights one by one and print each",
        mistakes=_list_wrong_masks(X, W_q, W_k, sentence) | _list_wrong_weights(X, W_q, W_k, _allow(sentence)),
    )
    expect_close(
        output,
        expected @ values,
        claim="the output is the weights times the values",
        given=given,
        hint="the weights are right: what are they multiplied with?",
        mistakes={
            "the weights mix values: where is W_v?": expected @ X,
            "the weights mix values, not keys": expected @ X @ W_k.T,
            "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_v": expected @ X @ W_v
            if v == d
            else torch.full_like(values, math.nan),
            "each row of the weights belongs to one query: do not transpose them": expected.mT @ values,
        },
    )


def _allow(sentence: Tensor) -> Tensor:
    """The mask (b, n, n): the same sentence, and not later."""
    return (sentence[:, :, None] == sentence[:, None]) & causal_mask(sentence.shape[1])


def _expect_extreme_scores(attend: Any) -> None:
    """Scores of up to 2**126 that are shown, or hidden, and scores that are as far below 0."""
    for high, numbers, hint in (
        # what the keys of the tokens are: their scores are as many times 2**126
        ([2, 1, 0, 1], [8, 8, 8, 8], OVERFLOW),
        ([3, 0, 0, 2], [8, 6, 6, 6], OUTWEIGHED),
        ([-3, -3, -3.5, -3.5], [2, 4, 2, 4], LOW),
        ([-3, -3, -3, 0], [1, 2, 3, 4], LOW),
    ):
        X, own = torch.tensor([[[1.0, number] for number in high]]), torch.tensor([numbers])
        W_q, W_k = FAR * torch.tensor([[1, 0], [0, 0]]), FAR * torch.tensor([[0, 1], [0, 0]])
        expect_close(
            _read_pair(attend(X, W_q, W_k, torch.eye(2), own))[1],
            _compute_weights(X, W_q, W_k, mask=_allow(own)),
            claim="a token that may not be seen has no influence, whatever the scores",
            given=f"X = torch.tensor({X.tolist()}); W_q = 2.0**63 * torch.tensor([[1, 0], [0, 0]]); "
            "W_k = 2.0**63 * torch.tensor([[0, 1], [0, 0]]); W_v = torch.eye(2); "
            f"sentence = torch.tensor([{numbers}])",
            hint=hint,
        )


def _read_pair(found: Any) -> tuple[Any, Any]:
    return expect_pair(found, claim="it returns two things", hint="return output, weights")


def _compute_weights(
    X: Tensor, W_q: Tensor, W_k: Tensor, *, mask: Tensor, scale: float | None = None, dim: int = 2
) -> Tensor:
    """Weights of masked self-attention, right unless told otherwise."""
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / (math.sqrt(len(W_q)) if scale is None else scale)
    return F.softmax(scores.masked_fill(~mask, -math.inf), dim)


def _list_wrong_masks(X: Tensor, W_q: Tensor, W_k: Tensor, sentence: Tensor) -> dict[str, Result | tuple[Result, ...]]:
    """What a wrong mask gives, by hint; none of them where there is one sentence."""
    b, n = sentence.shape
    causal, same = causal_mask(n), sentence[:, :, None] == sentence[:, None]
    runs = torch.cat([torch.zeros(b, 1), (sentence.diff(dim=1) != 0).cumsum(1)], 1)
    wrong: dict[str, tuple[Tensor, ...]] = {
        "True means may attend: your mask works the other way round": (~(same & causal), same & ~causal),
        "a token sees later ones: is there a causal mask, and is it used?": (same,),
        "the mask is transposed: row i is the token that asks": (same & causal.T,),
        "a token sees itself, or the first one would see nothing: is the diagonal of the mask True?": (
            same & causal.tril(-1),
        ),
        "the mask is one too wide: a token may not see the next one": (same & torch.ones(n, n).bool().tril(1),),
    }
    if (same & causal != causal).any():
        wrong |= {
            "a token sees another sentence: sentence is not used": (causal.expand(b, -1, -1),),
            "a token sees only the other sentences: same is True, not False": (~same & causal,),
            "each example has sentences of its own": ((same & causal)[:1].expand(b, -1, -1),),
            "the number decides, not the neighbours: a sentence may go on after another one": (_allow(runs),),
            "a token sees sentences with a smaller number: the number has to be the same": (
                (sentence[:, :, None] >= sentence[:, None]) & causal,
            ),
        }
    mistakes: dict[str, Result | tuple[Result, ...]] = {
        hint: tuple(_compute_weights(X, W_q, W_k, mask=mask) for mask in masks) for hint, masks in wrong.items()
    }
    if (sentence >= 10).any():
        mistakes["a sentence may have any whole number: which ones does your code tell apart?"] = tuple(
            weights.nan_to_num(nothing)
            for few in (_allow(sentence) & (sentence < 10)[:, :, None], _allow(sentence % 10))
            for weights in [_compute_weights(X, W_q, W_k, mask=few)]
            for nothing in (math.nan, 0.0, 1 / n)  # what a row without any key becomes
        )
    skipped = "a token does not skip itself: is the diagonal 0?"
    return mistakes | {skipped: _compute_weights(X, W_q, W_k, mask=same & causal.tril(-1)).nan_to_num()}


def _list_wrong_weights(X: Tensor, W_q: Tensor, W_k: Tensor, allowed: Tensor) -> dict[str, Result | tuple[Result, ...]]:
    """What well-known mistakes with the right mask give, by hint."""
    n, d, p = *X.shape[1:], len(W_q)
    everything = torch.ones_like(allowed)
    unmasked = _compute_weights(X, W_q, W_k, mask=everything)
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / math.sqrt(p)

    def compute(one: Tensor = W_q, other: Tensor = W_k, **changes: Any) -> Tensor:
        return _compute_weights(X, one, other, mask=allowed, **changes)

    mistakes: dict[str, Result | tuple[Result, ...]] = {
        "what must one query's weights add up to? In a batch, dim=1 are the queries": compute(dim=1),
        "no mask is used: who may see whom?": unmasked,
        "NaN: 0 times infinity? Or a softmax of nothing but -inf: along which dimension, and may a token see itself?": (
            torch.full_like(scores, math.nan)
        ),
        "your mask works the other way round: True means may attend": F.softmax(scores.masked_fill(allowed, -1e9), 2),
        "rows now sum to less than 1: mask the scores, not the weights": unmasked * allowed,
        "e⁰ is 1: the score of a masked key must be minus infinity": F.softmax(scores * allowed, 2),
        "the scores are not scaled": compute(scale=1.0),
        "a score is a sum of p products: you divide by p, not by its root": compute(scale=p),
        "the length of the sequence is not the width of the queries": compute(scale=n**0.5),
        "who asks, and who is asked? You swapped W_q and W_k": compute(W_k, W_q),
        "the keys have a projection of their own": compute(W_q, W_q),
        "the queries have a projection of their own": compute(W_k, W_k),
        "these are scores, not yet weights": scores.masked_fill(~allowed, -math.inf),
        "these are scores, neither masked nor weights yet": scores,
    }
    if p == d:
        transposed = compute(W_q.T, W_k.T)
        return mistakes | {"as in nn.Linear a projection is XWᵀ: you forgot to transpose W": transposed}
    return mistakes | {"the scale is the width of the queries, after the projection": compute(scale=d**0.5)}
