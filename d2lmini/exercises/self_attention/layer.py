"""What a layer of self-attention computes, and what it learns."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini.exercises.core import (
    Mistakes,
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
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
    otherwise = "which keys may 吃 see, and what is 2 to their scores?"
    if abs(sum(got) - 1) > 0.01:
        otherwise = "what must the weights of one query add up to?"
    raise WrongAnswer("these are the four weights", find_hint(torch.tensor(got), mistakes, otherwise, 0.01), got=got)


@checker("causal-self-attention")
def check_causal_self_attention(attend: Any) -> str:
    """`attend(X, W_q, W_k, W_v)`: output and weights of causal self-attention for a batch."""
    expect_function(attend)
    for b, n, d, p, v in ((1, 5, 3, 3, 3), (2, 4, 3, 2, 5)):
        X = torch.randn(b, n, d)
        Ws = [torch.randn(size, d) for size in (p, p, v)]
        given = f"random X of shape {(b, n, d)}, W_q and W_k {(p, d)}, W_v {(v, d)}"
        output, weights = _read_pair(attend(X, *Ws))
        values, expected = X @ Ws[2].T, _compute_weights(X, *Ws[:2])
        expect_close(
            weights,
            expected,
            claim="the weights are those of softmax attention to the token itself and earlier ones",
            given=given,
            hint="compute queries, keys, scores, mask and weights one by one and print each",
            mistakes=_list_wrong_weights(X, *Ws[:2]),
        )
        expect_close(
            output,
            expected @ values,
            claim="the output is the weights times the values",
            given=given,
            hint="the weights are right: what are they multiplied with?",
            mistakes={
                "the weights mix values: where is W_v?": expected @ X,
                "the weights mix values, not keys": expected @ X @ Ws[1].T,
                "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_v": expected @ X @ Ws[2]
                if v == d
                else values,
                "each row of the weights belongs to one query: do not transpose them": expected.mT @ values,
            },
        )
    _expect_best_hidden(attend)
    return "weights and output are right, for two sets of sizes"


def _expect_best_hidden(attend: Any) -> None:
    """A later key whose score is thousands above the others: no penalty outweighs it, and nothing is left for them."""
    X = torch.tensor([[[1.0, 0], [1, 0], [1, 3]]])
    W_q, W_k = torch.tensor([[50.0, 0], [0, 0]]), torch.tensor([[0.0, 50], [0, 0]])
    expect_close(
        _read_pair(attend(X, W_q, W_k, torch.eye(2)))[1],
        torch.tensor([[[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]]),
        claim="a later token has no influence, however high its score is",
        given=f"X {X.int().tolist()}, W_q {W_q.int().tolist()}, W_k {W_k.int().tolist()}",
        hint="what is left for the others after the softmax? Mask before it; only minus infinity makes a weight 0",
    )


def _read_pair(found: Any) -> tuple[Any, Any]:
    return expect_pair(found, claim="it returns two things", hint="return output, weights")


def _compute_weights(
    X: Tensor, W_q: Tensor, W_k: Tensor, *, scale: float | None = None, dim: int = 2, mask: Tensor | None = None
) -> Tensor:
    """Weights of causal self-attention, right unless told otherwise."""
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / (math.sqrt(len(W_q)) if scale is None else scale)
    mask = causal_mask(X.shape[1]) if mask is None else mask
    return F.softmax(scores.masked_fill(~mask, -math.inf), dim)


def _list_wrong_weights(X: Tensor, W_q: Tensor, W_k: Tensor) -> dict[str, Tensor]:
    """What well-known mistakes give, by hint."""
    n, d, p = *X.shape[1:], len(W_q)
    causal, everything = causal_mask(n), torch.ones(n, n, dtype=torch.bool)
    unmasked = _compute_weights(X, W_q, W_k, mask=everything)
    scores = (X @ W_q.T) @ (X @ W_k.T).mT / math.sqrt(p)
    mistakes = {
        "what must one query's weights add up to? In a batch, dim=1 are the queries": _compute_weights(
            X, W_q, W_k, dim=1
        ),
        "the mask is not used: row 0 may see one key": unmasked,
        "NaN: a token without any key. Does it see itself? And is True where it may attend?": _compute_weights(
            X, W_q, W_k, mask=~causal
        ),
        "a token does not skip itself, and the first one then sees nothing": _compute_weights(
            X, W_q, W_k, mask=causal.tril(-1)
        ),
        "the mask is one too wide: token 0 may not see token 1": _compute_weights(X, W_q, W_k, mask=everything.tril(1)),
        "the mask is transposed: row 0 may see one key": _compute_weights(X, W_q, W_k, mask=causal.T),
        "a token does not skip itself: is the diagonal 0?": _compute_weights(
            X, W_q, W_k, mask=causal.tril(-1)
        ).nan_to_num(),
        "True means may attend: your mask works the other way round": F.softmax(scores.masked_fill(causal, -1e9), 2),
        "rows now sum to less than 1: mask the scores, not the weights": unmasked * causal,
        "e⁰ is 1: the score of a masked key must be minus infinity": F.softmax(scores * causal, 2),
        "the scores are not scaled": _compute_weights(X, W_q, W_k, scale=1.0),
        "a score is a sum of p products: you divide by p, not by its root": _compute_weights(X, W_q, W_k, scale=p),
        "the length of the sequence is not the width of the queries": _compute_weights(X, W_q, W_k, scale=n**0.5),
        "who asks, and who is asked? You swapped W_q and W_k": _compute_weights(X, W_k, W_q),
        "the keys have a projection of their own": _compute_weights(X, W_q, W_q),
        "these are scores, not yet weights": scores.masked_fill(~causal, -math.inf),
        "these are scores, neither masked nor weights yet": scores,
    }
    if p == d:
        transposed = _compute_weights(X, W_q.T, W_k.T)
        return mistakes | {"as in nn.Linear a projection is XWᵀ: you forgot to transpose W": transposed}
    too_wide = _compute_weights(X, W_q, W_k, scale=d**0.5)
    return mistakes | {"the scale is the width of the queries, after the projection": too_wide}


@checker("debug-self-attention")
def check_debug_self_attention(make: Any) -> str:
    """A class of self-attention freed of its faults: parameters, scale, axis, and weights instead of scores."""
    if isinstance(make, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses after its name")
    expect_function(make)
    layer, X = make(5), torch.randn(3, 4, 5)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class of modules", "pass the class itself", got=type(layer).__name__)
    layer(X)  # lazy layers learn their sizes
    _expect_parameters(layer)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    output, weights = _read_pair(layer(X))
    if not torch.equal(output, _read_pair(layer(X))[0]):
        hint = "does forward make new random layers, drop something at random, or change X?"
        raise WrongAnswer("two calls give the same", hint)
    _expect_attention(output, weights, X, *(getattr(layer, f"W_{letter}")(X) for letter in "qkv"))
    _expect_gradients(layer, output)
    return "it learns, scales by √d, and each query's weights add up to 1"


def _expect_attention(output: Any, weights: Any, X: Tensor, Q: Tensor, K: Tensor, V: Tensor) -> None:
    given = "a batch of 3 sequences of 4 tokens of width 5"

    def softmax(width: int, dim: int) -> Tensor:
        return F.softmax(Q @ K.transpose(1, 2) / math.sqrt(width), dim)

    expect_close(
        output,
        softmax(5, 2) @ V,
        claim="the output is softmax(QKᵀ/√d) V",
        given=given,
        hint="write the shape of each step next to it, and say which dimension is which",
        mistakes={
            "what must one query's weights add up to? In a batch, dim=1 are the queries": softmax(5, 1) @ V,
            "X.shape[1] is the length of the sequence, not its width": softmax(4, 2) @ V,
            "two faults are left: which dimension is the width, and which are the keys?": softmax(4, 1) @ V,
            "the scores are not scaled": softmax(1, 2) @ V,
            "the weights mix values: where is W_v?": softmax(5, 2) @ X,
        },
    )
    expect_close(
        weights,
        softmax(5, 2),
        claim="the second result are the weights",
        given=given,
        hint="return what the values were multiplied with",
        mistakes={
            "scores are not yet weights: some are negative": Q @ K.transpose(1, 2) / math.sqrt(5),
            "scores are not yet weights: these are not even scaled": Q @ K.transpose(1, 2),
        },
    )


def _expect_gradients(layer: nn.Module, output: Tensor) -> None:
    if output.requires_grad:
        output.square().sum().backward()
    lost = [name for name, parameter in layer.named_parameters() if parameter.grad is None or not parameter.grad.any()]
    if lost:
        raise WrongAnswer("every parameter gets a gradient", "what cuts the output off from the parameters?", got=lost)


def _expect_parameters(layer: nn.Module) -> None:
    names = sorted(name for name, _ in layer.named_parameters())
    if names != sorted(f"W_{letter}.{part}" for letter in "qkv" for part in ("weight", "bias")):
        hint = "W_q, W_k and W_v, each with weight and bias, and no others"
        if not names:
            hint = "an optimiser sees only layers that are attributes, made once in __init__ with self.W_q = ..."
        raise WrongAnswer("its parameters are those of W_q, W_k and W_v", hint, got=names)
