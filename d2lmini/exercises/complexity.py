"""Checkers of the chapter "CNN, RNN, self-attention: what it costs"."""

from __future__ import annotations

from itertools import islice
from operator import index
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import SelfAttention
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_measured, expect_pair, read_number
from d2lmini.exercises.prediction import Number, prediction
from d2lmini.instruments.layers import Convolution, SeparableConvolution

# FLOPs for n = 10, d = 4 of a convolution with kernel 5, a GRU, and multi-head self-attention with 2 heads.
prediction(
    "predict-stack",
    Number(
        "the convolution's count",
        1600,
        hint="each of n outputs has d features, and each of them is made from all features of k tokens",
        mistakes={
            "a multiply-add is 2 FLOPs in this book": 800,
            "each output feature is made from all 4 input features": 400,
            "that is a linear layer: the kernel covers 5 tokens": 320,
            "that is the number of outputs: how many products does each of them need?": 40,
            "n stands in the formula once": 8000,
            "there are zeros around the sequence: 10 outputs, not 6": 960,
        },
    ),
    Number(
        "the GRU's count",
        1920,
        hint="each step multiplies token and state by three matrices each",
        mistakes={
            "a multiply-add is 2 FLOPs in this book. Or did you forget the matrices of the state?": 960,
            "a GRU has three pairs of matrices: two gates and a candidate": 640,
            "that is an LSTM: a GRU has one pair of matrices less": 2560,
            "that is one step: there are 10": 192,
        },
    ),
    Number(
        "multi-head self-attention's count",
        2880,
        hint="four projections, the scores and the mixture",
        mistakes={
            "a multiply-add is 2 FLOPs in this book": 1440,
            "that is the mixing alone: where are the projections?": 1600,
            "those are the projections alone: where is the mixing?": 1280,
            "and after the concatenation? There are four projections": 2560,
            "the number of heads does not multiply the mixing: width per head?": 4480,
            "width per head? Two heads are half as wide each": 5760,
            "scores only, or one head only? The weights also meet the values": 2080,
        },
    ),
    right="1600, 1920 and 2880: all three are right",
)


@checker("design-dilations")
def check_design_dilations(design: Any) -> str:
    """`design(n, num_layers)`: the smallest kernel and dilations with which the last output sees all n tokens."""
    expect_function(design)
    for n, num_layers in ((9, 2), (100, 4), (64, 6), (65, 6), (12, 1), (1, 2)):
        given = f"n = {n}, num_layers = {num_layers}"
        kernel, dilations = _read_design(design(n, num_layers), num_layers, given)
        seen = {0}
        for dilation in dilations:  # what lies before the first token does not count
            seen = {place for offset in seen for place in range(offset, n, dilation)[:kernel]}
        missing = set(range(n)) - seen
        if missing:
            hint = "two dilations are so alike that their taps meet in the same places"
            if sum(dilations) * (kernel - 1) < n - 1:
                hint = "it does not reach the first token: how far back does each layer go?"
            elif dilations == sorted(dilations) and len(set(dilations)) == num_layers:
                hint = "there are gaps: the next dilation may be no larger than what the layers below reach together"
            raise WrongAnswer("the last output depends on each token", hint, given=given, got=(kernel, dilations))
        smallest = next(k for k in range(1, n + 1) if k**num_layers >= n)
        if kernel > smallest:
            hint = "a path chooses one of k taps in each layer: how many different ways are there in L layers?"
            hint = "for one token a kernel of 1 is enough" if n == 1 else hint
            raise WrongAnswer("no smaller kernel would do", hint, given=given, got=(kernel, dilations))
    return "six designs reach every token with the smallest kernel"


def _read_design(answer: Any, num_layers: int, given: str) -> tuple[int, list[int]]:
    claim = "it returns (kernel_size, dilations)"
    first, second = expect_pair(answer, claim=claim, hint="two things", given=given)
    try:
        kernel, dilations = index(first), [index(dilation) for dilation in islice(second, num_layers + 1)]
    except TypeError as error:
        hint = "a whole number, and a list with a whole dilation for each layer"
        raise WrongAnswer(claim, hint, given=given, got=answer) from error
    if len(dilations) != num_layers or min(dilations) < 1 or kernel < 1:
        hint = "one dilation of at least 1 for each layer"
        raise WrongAnswer("there is a dilation for each layer", hint, given=given, got=(kernel, dilations))
    return kernel, dilations


@checker("debug-counter")
def check_debug_counter(count: Any) -> str:
    """`count(n, d, num_heads)`: FLOPs of multi-head self-attention."""
    expect_function(count)
    for n, d, num_heads in ((5, 6, 1), (5, 6, 3), (7, 8, 4)):
        projection, mixing = 2 * n * d * d, 2 * n * n * d
        heads = "width per head? The number of heads cancels"
        mistakes = {
            "and after the concatenation? W_o is a projection, too": 3 * projection + 2 * mixing,
            "our unit is 2: it belongs to every product, also to scores and mixture": 4 * projection + mixing,
            "two things: W_o is missing, and the unit 2 belongs to scores and mixture as well": 3 * projection + mixing,
            "our unit is 2: a multiplication and an addition": 2 * projection + mixing,
            heads: 4 * projection + 2 * mixing * num_heads,
            f"{heads}. And W_o is missing": 3 * projection + 2 * mixing * num_heads,
            f"{heads}. And the unit 2 belongs to scores and mixture as well": 4 * projection + mixing * num_heads,
            f"{heads}. And this is not the only fault": 3 * projection + mixing * num_heads,
            "one of scores and mixture still has width d": 4 * projection + mixing + mixing * num_heads,
        }
        expect_measured(
            count(n, d, num_heads),
            4 * projection + 2 * mixing,
            claim="it counts four projections, the scores and the mixture",
            given=f"n = {n}, d = {d}, num_heads = {num_heads}",
            hint="count the parts one by one: what is the product of an a×b and a b×c matrix?",
            mistakes=mistakes,
        )
    return "right for one, three and four heads"


@checker("measure-additive")
def check_measure_additive(formula: Any) -> str:
    """`formula(n, d)`: the FLOPs of additive self-attention with num_hiddens = d."""
    expect_function(formula)
    for n, d in ((5, 6), (9, 4), (3, 16)):
        mistakes = {
            "that is the dot product's layer: additive attention has no projection of the values, and no W_o": 8
            * n
            * d
            * d
            + 4 * n * n * d,
            "additive attention does not project the values": 6 * n * d * d + 4 * n * n * d,
            "where does w_v come in? It meets d numbers for each pair of tokens": 4 * n * d * d + 2 * n * n * d,
            "the queries and the keys have a projection each": 2 * n * d * d + 4 * n * n * d,
            "the projections work on n tokens, not on n² pairs": 4 * n * n * d * d + 4 * n * n * d,
            "that is the part that grows with n²: what is left when you take it away?": 4 * n * n * d,
            "that is the projections only": 4 * n * d * d,
            "the second difference is twice the factor of n²: halve it": 4 * n * d * d + 8 * n * n * d,
            "w_v meets d numbers for each pair of tokens, not one": 4 * n * d * d + 2 * n * n * d + 2 * n * n,
            "a multiply-add is 2 FLOPs": 2 * n * d * d + 2 * n * n * d,
        }
        expect_measured(
            formula(n, d),
            4 * n * d * d + 4 * n * n * d,
            claim="the formula gives what the instrument counts",
            given=f"n = {n}, d = {d}",
            hint="take the second difference in n first, then look at what is left",
            mistakes=mistakes,
        )
    return "right at three sizes"


@checker("find-crossover")
def check_find_crossover(find: Any) -> str:
    """`find(f, g, d)`: the smallest n at which f needs at least as many FLOPs as g, up to 40, or None."""
    expect_function(find)
    dtype = torch.get_default_dtype()
    pooling = DotProductAttention(0.0)

    def mixing(X: Tensor) -> Any:
        return pooling(X, X, X)

    def gru(d: int) -> nn.Module:
        return nn.GRU(d, d, batch_first=True)

    probes = (
        ("self-attention and a GRU", SelfAttention, gru, 6, 9),
        ("self-attention and a GRU", SelfAttention, gru, 5, 8),
        ("self-attention and a convolution with kernel 3", SelfAttention, lambda d: Convolution(d, 3), 4, 1),
        ("mixing and a separable convolution", lambda d: mixing, lambda d: SeparableConvolution(d, 3), 9, 6),
        ("self-attention and a convolution with kernel 9", SelfAttention, lambda d: Convolution(d, 9), 13, 39),
        ("self-attention and a convolution with kernel 11", SelfAttention, lambda d: Convolution(d, 11), 10, 40),
        ("self-attention and a convolution with kernel 11", SelfAttention, lambda d: Convolution(d, 11), 12, None),
        ("a GRU and an LSTM", gru, lambda d: nn.LSTM(d, d, batch_first=True), 2, None),
    )
    for name, f, g, d, expected in probes:
        torch.set_default_dtype(dtype)
        got = find(f(d), g(d), d)
        if got is not None and not isinstance(got, bool):
            number = read_number(got)
            got = int(number) if number.is_integer() else number
        if got == expected and not isinstance(got, bool):
            continue
        hint = _find_crossover_hint(got, expected)
        raise WrongAnswer(
            "it finds the crossover", hint, given=f"{name}, d = {d}", expected=str(expected), got=str(got)
        )
    return "right for eight pairs of layers"


def _find_crossover_hint(got: Any, expected: int | None) -> str:
    hint = "count both for n = 1, 2, 3, ... and compare"
    if expected is None:
        hint = "up to n = 40, f is cheaper: return None then"
    elif isinstance(got, bool):
        hint = "return n itself"
    elif got is None:
        hint = "do you wait for an equality? With odd d they never cost exactly the same"
        hint = "go on up to n = 40" if expected >= 39 else hint
    elif got == 2 and expected == 1:
        hint = "begin at n = 1"
    elif got == expected + 1:
        hint = "at least as many: an equality counts"
    elif isinstance(got, float) and not got.is_integer():
        hint = "n is a whole number"
    elif got == 1:
        hint = "is it the other way round? f must cost at least as much as g"
    return hint
