"""The maps of the heads of PyTorch's own layer."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.layout import transpose_qkv
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.engine import LOW, OVERFLOW, Case, WrongAnswer, exercise


def weigh(
    mha: nn.MultiheadAttention,
    X: Tensor,
    valid_lens: Tensor,
    *,
    bias: bool = True,
    split: Any = transpose_qkv,
    divide: Any = lambda d, h: math.sqrt(d / h),
    allow: Any = valid_lens_mask,
    spread: Any = lambda mask, h: mask.repeat_interleave(h, 0),
    after: Any = lambda weights, may: weights,
) -> Tensor:
    """The weights of each head, (b, h, n, n), right unless told otherwise."""
    n, d, h = X.shape[1], mha.embed_dim, mha.num_heads
    shift = mha.in_proj_bias if bias and mha.in_proj_bias is not None else 0
    Q, K, _ = (split(part, h) for part in (X @ mha.in_proj_weight.T + shift).chunk(3, 2))  # (b h, n, d / h)
    weights = masked_softmax(Q @ K.mT / divide(d, h), mask=spread(allow(valid_lens, n), h))
    return after(weights.unflatten(0, (-1, h)), valid_lens_mask(valid_lens, n)[:, None])


def use(weights_of: Any, mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor) -> Any:
    """The weights, without a gradient."""
    with torch.no_grad():
        found = weights_of(mha, X, valid_lens)
    if isinstance(found, tuple):
        raise WrongAnswer("it returns the weights", "the layer returns a pair: take its second part")
    return found


def everything(lens: Tensor, n: int) -> Tensor:
    return torch.ones(len(lens), 1, n, dtype=torch.bool)


def renormalise(weights: Tensor, may: Tensor) -> Tensor:
    return weights * may / (weights * may).sum(-1, keepdim=True)


OPPOSITE: dict[str, Any] = {"allow": lambda lens, n: ~valid_lens_mask(lens, n)}
exercise(
    "weights-per-head",
    weigh,
    [
        *(
            f"torch.manual_seed({seed}); "
            f"mha = torch.nn.MultiheadAttention({d}, {h}, bias={bias}, dropout={dropout}, batch_first=True).eval(); "
            # zeros until trained: an answer could forget it
            f"{'torch.nn.init.normal_(mha.in_proj_bias); ' * bias}"
            f"X = torch.randint(-2, 3, {(len(lens), n, d)}).float(); valid_lens = torch.tensor({lens})"
            for seed, h, n, d, lens, dropout, bias in (
                (1, 3, 4, 6, [3, 1], 0.0, True),
                (2, 2, 5, 12, [2, 5, 4], 0.5, True),
                (3, 2, 6, 8, [6, 1, 3], 0.0, False),
            )
        ),
        *(
            # scores of up to 2**126 that are shown, or hidden, and scores that are as far below 0
            Case(
                "mha = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True).eval(); "
                "W = mha.in_proj_weight.data.zero_(); W[[0, 2], 0] = 2.0**63; W[[4, 6], 1] = 2.0**63; "
                f"X = torch.ones(2, 3, 4); X[:, :, 1] = torch.tensor({high}); valid_lens = torch.tensor({lens})",
                hint,
                "a padded key gets no weight, whatever the scores",
            )
            for high, lens, hint in (
                ([[2, 1, 0], [1, 2, 0]], [3, 2], OVERFLOW),
                (
                    [[0, 0, 3], [0, 3, 3]],
                    [2, 1],
                    "a mask after the softmax comes too late, and a finite penalty before it can be outweighed: "
                    "-inf cannot",
                ),
                ([[-3, -3.5, -3.5], [-3, -3, -3]], [2, 1], LOW),
            )
        ),
    ],
    {
        "a mean over the heads is no head: it is PyTorch's default, look for average_attn_weights": {
            "after": lambda weights, may: weights.mean(1)
        },
        "NaN: 0 times infinity? Or a row of -inf: in nn.MultiheadAttention True means ignore": {
            "after": lambda weights, may: weights * math.nan
        },
        "the mask is the wrong way round: in nn.MultiheadAttention True means ignore": (
            OPPOSITE,
            OPPOSITE | {"after": lambda weights, may: weights.where(~may.all(-1, keepdim=True), math.nan)},
        ),
        "the padding has weight: where are the valid lengths?": {"allow": everything},
        "one key too many: with valid length 3 the keys 0, 1 and 2 count": {
            "allow": lambda lens, n: valid_lens_mask((lens + 1).clamp(max=n), n)
        },
        "the padding must be masked before the softmax: rows now sum to less than 1": {
            "allow": everything,
            "after": torch.mul,
        },
        "what was left after the softmax does not tell what the weights would be without the padding": (
            {"allow": everything, "after": renormalise},
            {"allow": everything, "after": lambda weights, may: renormalise(weights, may).nan_to_num()},
        ),
        "padded queries ask as well: only padded keys are hidden": {"after": lambda weights, may: weights * may.mT},
        "each example has a length of its own": {"allow": lambda lens, n: valid_lens_mask(lens[:1].expand_as(lens), n)},
        "that is causal: only padded keys are hidden": {
            "allow": lambda lens, n: valid_lens_mask(lens, n) & torch.ones(n, n).bool().tril()
        },
        "the layer has a bias: where is in_proj_bias?": {"bias": False},
        "how long is the dot product in one head? You divide by the root of d": {"divide": lambda d, h: math.sqrt(d)},
        "the scores are not scaled": {"divide": lambda d, h: 1.0},
        "which numbers does a head own? Cut each token into heads, then transpose": {
            "split": lambda part, h: part.reshape(len(part) * h, part.shape[1], -1)
        },
        "which example does each row of your mask belong to? The heads of one example stand next to each other": {
            "spread": lambda mask, h: mask.repeat(h, 1, 1)
        },
        "that is the mean over the heads, once for each head": {
            "after": lambda weights, may: weights.mean(1, keepdim=True).expand_as(weights)
        },
    },
    claim="these are the weights of each head",
    verified="one map for each head, no weight on padding whatever the scores, for several sizes, "
    "with and without bias",
    hint="compare with a loop over examples and heads, step by step: projections, biases, scores, scale, weights",
    use=use,
)
