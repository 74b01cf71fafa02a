"""What heads are: how many, how wide, and what their maps are for."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import transpose_qkv
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import WrongAnswer, read_number
from d2lmini_exercises.engine import Case, exercise
from d2lmini_exercises.extremes import LOW, OVERFLOW
from d2lmini_exercises.prediction import Number, prediction

_EQUAL = "here one mixture follows from the others, or a word never varies: a pseudo-inverse bears that. Does your way?"
_SMALL = "what is too small to count in your code? No mixture follows from the others here: a limit has to be relative"
_ONE, _TWO = [[0.5, 0.3, 0.2]], [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
_PLAIN = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
_UNEVEN = [[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 9.0]]
_RELATED = [[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 1.5]]
_FOUR = [[2.0, 0.5, 0.0, 1.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, -1.0], [1.0, 0.0, -1.0, 4.0]]


def explain(A: Tensor, C: Tensor) -> Tensor:
    """The covariance of the best read-outs."""
    return C @ A.T @ torch.linalg.pinv(A @ C @ A.T) @ A @ C


def project(A: Tensor) -> Tensor:
    return A.T @ torch.linalg.pinv(A @ A.T) @ A


def measure(
    weights: Tensor, covariance: Tensor,
    *, explain: Any = explain, relate: Any = lambda left, C: left.trace() / C.trace(),
) -> Tensor:  # fmt: skip
    """The relative error of the best linear read-out of all words from all heads, right unless told otherwise."""
    A, C = weights.double(), covariance.double()
    return relate(C - explain(A, C), C)


def use_measure(answer: Any, weights: Tensor, covariance: Tensor) -> Any:
    """The error, unless a matrix has no inverse, or chance is left in it."""
    claim = "it is the relative squared error of the best linear read-out"
    try:
        found = read_number(answer(weights, covariance))
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        raise WrongAnswer(claim, _EQUAL, got="a singular matrix") from error
    if 1.5e-3 < abs(found - float(measure(weights, covariance))) < 0.01:
        raise WrongAnswer(claim, "nearly: if you draw numbers, chance is left. C itself needs none", got=found)
    return found


def written(weights: Any, covariance: Any, hint: str = "") -> Case:
    return Case(f"weights = torch.tensor({weights}); covariance = torch.tensor({covariance})", hint, tolerance=1e-3)


exercise("measure-heads", measure,
    (
        written(_TWO, _RELATED), written(_ONE, _PLAIN), written(_TWO, _UNEVEN),
        written([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]], _FOUR), written(_PLAIN, _RELATED),
        written([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25]], _RELATED, _EQUAL),
        written(_ONE * 2, _UNEVEN, _EQUAL),
        written([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]], _EQUAL),
        # heads that are nearly the same, and words that hardly vary
        written([[0.5, 0.5], [0.52, 0.48]], [[1.0, 0.0], [0.0, 1.0]], _SMALL),
        written([[0.5, 0.5], [0.2, 0.8]], [[1e-9, 0.0], [0.0, 2e-9]], _SMALL),
    ),
    {
        "relative to what? Divide by the sum of all variances": {"relate": lambda left, C: left.trace()},
        "relative to what? You return the mean squared error of a word":
            {"relate": lambda left, C: left.trace() / len(C)},
        "squared error is asked for: you took a root":
            {"relate": lambda left, C: (left.trace() / C.trace()).clamp(min=0).sqrt()},
        "that is the part that is explained: what is left?": {"relate": lambda left, C: 1 - left.trace() / C.trace()},
        "one mixture per head: do not average the heads first": lambda A, C: measure(A.mean(0, keepdim=True), C),
        "the trace is asked for: errors of different words do not cancel":
            {"relate": lambda left, C: left.sum() / C.sum()},
        "related words tell something about each other: where is the rest of the covariance?":
            lambda A, C: measure(A, C.diagonal().diag()),
        "that is right for unrelated words of equal variance: where is the covariance?":
            lambda A, C: 1 - project(A).trace() / len(C),
        "that needs the covariance on both sides: the best factors depend on it":
            {"explain": lambda A, C: project(A) @ C},
        "add up the errors of all words, and then divide: no mean of ratios":
            {"relate": lambda left, C: (left.diagonal() / C.diagonal()).mean()},
        "that is the first word alone: all of them are asked for": {"relate": lambda left, C: left[0, 0] / C[0, 0]},
        "E[u u] is a matrix: the mixtures of two heads are related, too":
            {"explain": lambda A, C: C @ A.T / (A @ C @ A.T).diagonal() @ A @ C},
        "divide by the number of heads? The best read-out uses them together": lambda A, C: measure(A, C) / len(A),
    },
    claim="it is the relative squared error of the best linear read-out",
    verified="right for one to three heads, of related, uneven and silent words, and for two heads that are the same",
    hint="write the error of one word as in (3.3): what are E[v u] and E[u u] now?", use=use_measure,
)  # fmt: skip


prediction("use-heads",
    Number("the error of one head", 2 / 3, hint="choose any weights for one head, and the identity as the covariance",
        mistakes={
        "with two words it is one half. Here there are three": 0.5,
        "that is what is explained: what is left?": 1 / 3,
        "one head returns one number: can three be read from it?": 0.0,
    }, tolerance=0.005),
    Number("the error of two heads", 1 / 3,
        hint="two heads that are no multiples of each other, and the identity as the covariance", mistakes={
        "that is what is explained: what is left? Or are the two heads the same?": 2 / 3,
        "two heads return two numbers: can three be read from them?": 0.0,
        "the second head answers a whole word more, not half of what is left": 0.5,
    }, tolerance=0.005),
    Number("the error of three heads", 0.0,
        hint="three heads, none of which is a mixture of the others: the mixtures can be solved for the words",
        mistakes={
        "that is what is explained: what is left?": 1.0,
        "is one of your three heads a mixture of the others?": 1 / 3,
        "are your three heads the same?": 2 / 3,
    }, tolerance=0.005),
    Number("the least error of one head for related words", 1 / 3,
        hint="all three words have something in common: with which weights does one head read that?", mistakes={
        "that is a head that looks at a single word: what do the others add?": 0.5,
        "that is a head on two of the words: what does the third one add?": 7 / 18,
        "that is without the correlation": 2 / 3,
        "one head cannot tell everything: try equal weights": 0.0,
        "those weights have the wrong signs: the words rise and fall together": 5 / 6,
    }, tolerance=0.005),
    right="each new head answers one word of three, and one head is enough for what all words have in common",
)  # fmt: skip


def weigh(
    mha: nn.MultiheadAttention, X: Tensor, valid_lens: Tensor,
    *, bias: bool = True, split: Any = transpose_qkv, divide: Any = lambda d, h: math.sqrt(d / h),
    allow: Any = valid_lens_mask, spread: Any = lambda mask, h: mask.repeat_interleave(h, 0),
    after: Any = lambda weights, may: weights,
) -> Tensor:  # fmt: skip
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
exercise("weights-per-head", weigh,
    [
        *(
            f"torch.manual_seed({seed}); "
            f"mha = torch.nn.MultiheadAttention({d}, {h}, bias={bias}, dropout={dropout}, batch_first=True).eval(); "
            # zeros until trained: an answer could forget it
            f"{'torch.nn.init.normal_(mha.in_proj_bias); ' * bias}"
            f"X = torch.randint(-2, 3, {(len(lens), n, d)}).float(); valid_lens = torch.tensor({lens})"
            for seed, h, n, d, lens, dropout, bias in (
                (1, 3, 4, 6, [3, 1], 0.0, True), (2, 2, 5, 12, [2, 5, 4], 0.5, True),
                (3, 2, 6, 8, [6, 1, 3], 0.0, False),
            )
        ),
        *(
            # scores of up to 2**126 that are shown, or hidden, and scores that are as far below 0
            Case(
                "mha = torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True).eval(); "
                "W = mha.in_proj_weight.data.zero_(); W[[0, 2], 0] = 2.0**63; W[[4, 6], 1] = 2.0**63; "
                f"X = torch.ones(2, 3, 4); X[:, :, 1] = torch.tensor({high}); valid_lens = torch.tensor({lens})", hint,
                "a padded key gets no weight, whatever the scores",
            )
            for high, lens, hint in (
                ([[2, 1, 0], [1, 2, 0]], [3, 2], OVERFLOW),
                (
                    [[0, 0, 3], [0, 3, 3]], [2, 1],
                    "a mask after the softmax comes too late, and a finite penalty before it can be outweighed: "
                    "-inf cannot",
                ),
                ([[-3, -3.5, -3.5], [-3, -3, -3]], [2, 1], LOW),
            )
        ),
    ],
    {
        "a mean over the heads is no head: it is PyTorch's default, look for average_attn_weights":
            {"after": lambda weights, may: weights.mean(1)},
        "NaN: 0 times infinity? Or a row of -inf: in nn.MultiheadAttention True means ignore":
            {"after": lambda weights, may: weights * math.nan},
        "the mask is the wrong way round: in nn.MultiheadAttention True means ignore":
            (OPPOSITE, OPPOSITE | {"after": lambda weights, may: weights.where(~may.all(-1, keepdim=True), math.nan)}),
        "the padding has weight: where are the valid lengths?": {"allow": everything},
        "one key too many: with valid length 3 the keys 0, 1 and 2 count":
            {"allow": lambda lens, n: valid_lens_mask((lens + 1).clamp(max=n), n)},
        "the padding must be masked before the softmax: rows now sum to less than 1":
            {"allow": everything, "after": torch.mul},
        "what was left after the softmax does not tell what the weights would be without the padding": (
            {"allow": everything, "after": renormalise},
            {"allow": everything, "after": lambda weights, may: renormalise(weights, may).nan_to_num()},
        ),
        "padded queries ask as well: only padded keys are hidden": {"after": lambda weights, may: weights * may.mT},
        "each example has a length of its own": {"allow": lambda lens, n: valid_lens_mask(lens[:1].expand_as(lens), n)},
        "that is causal: only padded keys are hidden":
            {"allow": lambda lens, n: valid_lens_mask(lens, n) & torch.ones(n, n).bool().tril()},
        "the layer has a bias: where is in_proj_bias?": {"bias": False},
        "how long is the dot product in one head? You divide by the root of d": {"divide": lambda d, h: math.sqrt(d)},
        "the scores are not scaled": {"divide": lambda d, h: 1.0},
        "which numbers does a head own? Cut each token into heads, then transpose":
            {"split": lambda part, h: part.reshape(len(part) * h, part.shape[1], -1)},
        "which example does each row of your mask belong to? The heads of one example stand next to each other":
            {"spread": lambda mask, h: mask.repeat(h, 1, 1)},
        "that is the mean over the heads, once for each head":
            {"after": lambda weights, may: weights.mean(1, keepdim=True).expand_as(weights)},
    },
    claim="these are the weights of each head",
    verified="one map for each head, no weight on padding whatever the scores, for several sizes, "
    "with and without bias",
    hint="compare with a loop over examples and heads, step by step: projections, biases, scores, scale, weights",
    use=use,
)  # fmt: skip
