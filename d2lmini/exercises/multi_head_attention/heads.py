"""What several heads know together, and what each of them looks at."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import transpose_qkv
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.attention.pooling import masked_softmax
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, find_hint, loosen, read_number


@checker("measure-heads")
def check_measure_heads(measure: Any) -> str:
    """`measure(weights, values)`: the relative error of the best linear read-out of all words from all heads."""
    expect_function(measure)
    signs = torch.cartesian_prod(*[torch.tensor([1.0, -1])] * 3)
    uneven = signs * torch.tensor([1.0, 2, 3])
    related = signs @ torch.tensor([[1.0, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    one = [[0.5, 0.3, 0.2]]
    two = [[0.5, 0.5, 0], [0, 0.25, 0.75]]
    for name, values, weights in (
        ("three uncorrelated words, one head", signs, one),
        ("standard deviations 1, 2 and 3, two heads", uneven, two),
        ("three correlated words, two heads", related, two),
        ("three uncorrelated words, one head twice", signs, one * 2),
    ):
        heads = torch.tensor(weights)
        claim, given = "it is the relative squared error of the best linear read-out", f"{name}, weights {weights}"
        equal = "two equal mixtures: no inverse exists, and lstsq must not use the driver 'gels'"
        try:
            answer = measure(heads.clone(), values.clone())
            got = read_number(answer)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise WrongAnswer(claim, equal, given=given, got="a singular matrix") from error
        expected = _measure_error(heads, values)
        if not abs(got - expected) <= loosen(1e-3, answer, expected):
            otherwise = equal if math.isnan(got) else "print the mixtures: (cases, heads)"
            hint = find_hint(got, _list_wrong_errors(heads, values), otherwise, 1e-3)
            raise WrongAnswer(claim, hint, given=given, expected=round(expected, 4), got=round(got, 4))
    return "right for one head, two heads, and two that are the same"


def _measure_error(weights: Tensor, values: Tensor) -> float:
    values = values.double()
    mixtures = values @ weights.double().T
    rest = values - mixtures @ torch.linalg.pinv(mixtures) @ values
    return (rest.square().sum() / values.square().sum()).item()


def _list_wrong_errors(weights: Tensor, values: Tensor) -> dict[str, float]:
    mixtures = values @ weights.T
    error = _measure_error(weights, values)
    per_word = [(values - mixtures @ torch.linalg.pinv(mixtures) @ values).square().sum(0), values.square().sum(0)]
    return {
        "relative to what? Divide by the sum of all squared values": error * values.square().sum().item(),
        "relative to what? You return the mean squared error": error * values.square().mean().item(),
        "squared error is asked for: you took a root": math.sqrt(max(error, 0.0)),
        "that is the part that is explained: what is left?": 1 - error,
        "one mixture a head: do not average the heads first": _measure_error(weights.mean(0, keepdim=True), values),
        "one mixture a head: do not add the heads up": _measure_error(weights.sum(0, keepdim=True), values),
        "divide the sums over all words: neither a count of heads nor a mean of ratios weighs large words more": (
            per_word[0] / per_word[1]
        )
        .mean()
        .item(),
        "that is the first word alone: all of them are asked for": (per_word[0][0] / per_word[1][0]).item(),
        "read out: each word is some multiple of the mixture, not the mixture itself": (
            (values - mixtures.mean(1, keepdim=True)).square().sum() / values.square().sum()
        ).item(),
        "a head's weights can be read back, but with the best factors: solve a least-squares problem": (
            (values - mixtures @ weights).square().sum() / values.square().sum()
        ).item(),
    }


@checker("weights-per-head")
def check_weights_per_head(weights_of: Any) -> str:
    """`weights_of(mha, X, valid_lens)`: the weights of each head of an `nn.MultiheadAttention`."""
    expect_function(weights_of)
    _expect_head_weights(weights_of, 3, 3 * torch.randn(2, 4, 6), torch.tensor([3, 1]))
    # other sizes, and hidden keys with scores hundreds above the others
    _expect_head_weights(weights_of, 2, 25 * torch.randn(3, 5, 8), torch.tensor([2, 4, 3]))
    return "one map a head, padding without weight"


def _expect_head_weights(weights_of: Any, h: int, X: Tensor, lens: Tensor) -> None:
    b, n, d = X.shape
    mha = nn.MultiheadAttention(d, h, batch_first=True).eval()
    nn.init.normal_(mha.in_proj_bias)  # zeros until trained: an answer could forget it
    Q, K, _ = (X @ mha.in_proj_weight.detach().T + mha.in_proj_bias.detach()).chunk(3, 2)
    scores = transpose_qkv(Q, h) @ transpose_qkv(K, h).mT / math.sqrt(d // h)

    def softmax(mask: Tensor | None) -> Tensor:
        return masked_softmax(scores, mask=None if mask is None else mask.repeat_interleave(h, 0)).unflatten(0, (b, h))

    allowed = valid_lens_mask(lens, n)
    right, opposite = softmax(allowed), softmax(~allowed)
    with torch.no_grad():
        got = weights_of(mha, X.clone(), lens.clone())
    given = f"{h} heads, X of shape {(b, n, d)}, valid_lens {lens.tolist()}"
    if isinstance(got, Tensor) and got.shape == (b, n, n):
        hint = "a mean over the heads is no head: it is PyTorch's default, look for average_attn_weights"
        raise WrongAnswer("there is one map a head", hint, given=given, expected=f"{(b, h, n, n)}", got=f"{(b, n, n)}")
    if isinstance(got, tuple):
        raise WrongAnswer("it returns the weights", "the layer returns a pair: take its second part", given=given)
    expect_close(
        got,
        right,
        claim="these are the weights of each head",
        given=given,
        hint="compare the sum of each row, and the padded columns, with what they should be",
        mistakes={
            "the mask is the wrong way round: in nn.MultiheadAttention True means ignore": opposite,
            "the padding has weight: where are the valid lengths?": softmax(None),
            "one key too many: with valid length 3 the keys 0, 1 and 2 count": softmax(valid_lens_mask(lens + 1, n)),
            "the padding must be masked before the softmax: rows now sum to less than 1": softmax(None)
            * allowed[:, None],
        },
    )
