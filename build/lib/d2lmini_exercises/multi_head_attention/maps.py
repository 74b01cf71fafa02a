"""What each head looks at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import transpose_qkv
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import Mistakes, WrongAnswer, checker, expect_close, expect_function, is_near
from d2lmini_exercises.extremes import FAR, LOW, OVERFLOW

_OUTWEIGHED = "a mask after the softmax comes too late, and a finite penalty before it can be outweighed: -inf cannot"


@checker("weights-per-head")
def check_weights_per_head(weights_of: Any) -> str:
    """`weights_of(mha, X, valid_lens)`: the weights of each head of an `nn.MultiheadAttention`."""
    expect_function(weights_of)
    _expect_head_weights(weights_of, 1, 3, (2, 4, 6), [3, 1])
    _expect_head_weights(weights_of, 2, 2, (3, 5, 12), [2, 5, 4], dropout=0.5)
    _expect_head_weights(weights_of, 3, 2, (3, 6, 8), [6, 1, 3], bias=False)
    _expect_extreme_weights(weights_of)
    return "one map for each head, no weight on padding whatever the scores, for several sizes, with and without bias"


def _expect_head_weights(
    weights_of: Any,
    seed: int,
    h: int,
    sizes: tuple[int, int, int],
    lengths: list[int],
    *,
    bias: bool = True,
    dropout: float = 0.0,
) -> None:
    b, n, d = sizes
    torch.manual_seed(seed)
    mha = nn.MultiheadAttention(d, h, bias=bias, dropout=dropout, batch_first=True).eval()
    settings = f"{d}, {h}, bias={bias}, dropout={dropout}, batch_first=True"
    given = f"torch.manual_seed({seed}); mha = torch.nn.MultiheadAttention({settings}).eval(); "
    if bias:  # zeros until trained: an answer could forget it
        nn.init.normal_(mha.in_proj_bias)
        given += "torch.nn.init.normal_(mha.in_proj_bias); "
    X, lens = torch.randint(-2, 3, sizes).float(), torch.tensor(lengths)
    given += f"X = torch.randint(-2, 3, {sizes}).float(); valid_lens = torch.tensor({lengths})"
    scores = _score(mha, X)
    with torch.no_grad():
        got = weights_of(mha, X, lens)
    if isinstance(got, Tensor) and got.shape == (b, n, n):
        hint = "a mean over the heads is no head: it is PyTorch's default, look for average_attn_weights"
        raise WrongAnswer(
            "there is one map per head", hint, given=given, expected=f"{(b, h, n, n)}", got=f"{(b, n, n)}"
        )
    if isinstance(got, tuple):
        raise WrongAnswer("it returns the weights", "the layer returns a pair: take its second part", given=given)
    expect_close(
        got,
        _weigh(scores, h, valid_lens_mask(lens, n)),
        claim="these are the weights of each head",
        given=given,
        hint="compare with a loop over examples and heads, step by step: projections, biases, scores, scale, weights",
        mistakes={**_list_wrong_maps(scores, h, lens), **_list_wrong_scores(mha, X, lens)},
    )


def _score(
    mha: nn.MultiheadAttention,
    X: Tensor,
    *,
    bias: bool = True,
    divisor: float | None = None,
    split: Callable[[Tensor, int], Tensor] = transpose_qkv,
) -> Tensor:
    """The scores of all heads, (b h, n, n), right unless told otherwise."""
    d, h = mha.embed_dim, mha.num_heads
    shift = mha.in_proj_bias.detach() if bias and mha.in_proj_bias is not None else torch.zeros(3 * d)
    Q, K, _ = (X @ mha.in_proj_weight.detach().T + shift).chunk(3, 2)
    return split(Q, h) @ split(K, h).mT / (math.sqrt(d // h) if divisor is None else divisor)


def _list_wrong_scores(mha: nn.MultiheadAttention, X: Tensor, lens: Tensor) -> Mistakes:
    """What well-known mistakes before the softmax give, by hint."""
    (_, n, d), h = X.shape, mha.num_heads
    allowed = valid_lens_mask(lens, n)

    def weigh(**changes: Any) -> Tensor:
        return _weigh(_score(mha, X, **changes), h, allowed)

    right = weigh()
    spread = allowed.repeat(h, 1, 1)  # the examples of head 0, then those of head 1: not the order of the scores
    mistakes: dict[str, Any] = {
        "the layer has a bias: where is in_proj_bias?": weigh(bias=False),
        "how long is the dot product in one head? You divide by the root of d": weigh(divisor=math.sqrt(d)),
        "the scores are not scaled": weigh(divisor=1.0),
        "which numbers does a head own? Cut each token into heads, then transpose": (
            weigh(split=lambda part, h: part.reshape(len(part) * h, n, -1))
        ),
        "which example does each row of your mask belong to? The heads of one example stand next to each other": (
            masked_softmax(_score(mha, X), mask=spread).unflatten(0, (-1, h))
        ),
        "that is the mean over the heads, once for each head": right.mean(1, keepdim=True).expand_as(right),
    }
    return {hint: wrong for hint, wrong in mistakes.items() if not is_near(wrong, right, 1e-3)}


def _expect_extreme_weights(weights_of: Any) -> None:
    """Scores of up to 2**126 that are shown, or hidden, and scores that are as far below 0."""
    for high, lens, hint in (
        ([[2, 1, 0], [1, 2, 0]], [3, 2], OVERFLOW),
        ([[0, 0, 3], [0, 3, 3]], [2, 1], _OUTWEIGHED),
        ([[-3, -3.5, -3.5], [-3, -3, -3]], [2, 1], LOW),
    ):
        mha = nn.MultiheadAttention(4, 2, bias=False, batch_first=True).eval()
        with torch.no_grad():
            mha.in_proj_weight.zero_()
            mha.in_proj_weight[[0, 2], 0] = FAR
            mha.in_proj_weight[[4, 6], 1] = FAR
            X, own = torch.ones(2, 3, 4), torch.tensor(lens)
            X[:, :, 1] = torch.tensor(high)
            expect_close(
                weights_of(mha, X, own),
                _weigh(_score(mha, X), 2, valid_lens_mask(own, 3)),
                claim="a padded key gets no weight, whatever the scores",
                given="mha = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True).eval(); "
                "W = mha.in_proj_weight.data.zero_(); W[[0, 2], 0] = 2.0**63; W[[4, 6], 1] = 2.0**63; "
                f"X = torch.ones(2, 3, 4); X[:, :, 1] = torch.tensor({high}); valid_lens = torch.tensor({lens})",
                hint=hint,
            )


def _weigh(scores: Tensor, h: int, mask: Tensor | None) -> Tensor:
    """Weights (b, h, n, n) from the scores of all heads, (b h, n, n)."""
    spread = None if mask is None else mask.repeat_interleave(h, 0)
    return masked_softmax(scores, mask=spread).unflatten(0, (-1, h))


def _list_wrong_maps(scores: Tensor, h: int, lens: Tensor) -> Mistakes:
    n = scores.shape[1]
    allowed = valid_lens_mask(lens, n)
    everything, right = _weigh(scores, h, None), _weigh(scores, h, allowed)
    unmasked = everything * allowed[:, None]
    nothing: dict[str, Any] = {
        "NaN: 0 times infinity? Or a row of -inf: in nn.MultiheadAttention True means ignore": torch.full_like(
            right, math.nan
        ),
        "the mask is the wrong way round: in nn.MultiheadAttention True means ignore": (
            _weigh(scores, h, ~allowed),
            _weigh(scores, h, ~allowed).where(~allowed.all(2)[:, None, None], math.nan),
        ),
        "the padding has weight: where are the valid lengths?": everything,
        "one key too many: with valid length 3 the keys 0, 1 and 2 count": (
            _weigh(scores, h, valid_lens_mask((lens + 1).clamp(max=n), n))
        ),
        "the padding must be masked before the softmax: rows now sum to less than 1": unmasked,
        "what was left after the softmax does not tell what the weights would be without the padding": (
            unmasked / unmasked.sum(-1, keepdim=True),
            (unmasked / unmasked.sum(-1, keepdim=True)).nan_to_num(),
        ),
        "padded queries ask as well: only padded keys are hidden": right * allowed.mT[:, None],
        "each example has a length of its own": _weigh(scores, h, allowed[:1].expand(len(lens), -1, -1)),
        "that is causal: only padded keys are hidden": _weigh(scores, h, allowed & torch.ones(n, n).bool().tril()),
    }
    return {
        hint: wrong for hint, wrong in nothing.items() if isinstance(wrong, tuple) or not is_near(wrong, right, 1e-3)
    }
