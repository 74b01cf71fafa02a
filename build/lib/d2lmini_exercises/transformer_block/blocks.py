"""What is counted, and what is added and normed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_unchanged
from d2lmini_exercises.gradients import expect_gradients
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.prediction import Number, prediction

# Parameters of an encoder block, the hidden width of a gated network, the size of a residual stream.
prediction(
    "predict-block",
    Number(
        "(a)",
        49728,
        hint="four d x d projections, two matrices of (7.4) with their biases, two norms",
        mistakes={
            "the matrices are all there. (7.4) has two biases, and a norm learns two vectors": 49152,
            "the norms learn something, too: gamma and b": 49472,
            "(7.4) has two biases: of which sizes?": 49408,
            "how many norms are there, and how many vectors does each of them learn?": 49600,
            "the attention has no bias here": 49984,
            "the feed-forward network has two matrices": 33344,
            "the hidden layer has the width 4d": 24960,
            "that is a decoder block": 66240,
            "four projections: do not forget W_o": 45632,
        },
    ),
    Number(
        "(b)",
        128,
        hint="three matrices of h x d in place of two of 4d x d",
        mistakes={
            "that is the width of the plain network": 192,
            "two of the three matrices read the token; what does the third one do?": 96,
            "three matrices in place of two: how much narrower must each of them be?": 64,
            "all three have d on one side and h on the other": 288,
        },
    ),
    Number(
        "(c)",
        5,
        hint="the mean square of a sum of independent vectors is the sum of their mean squares",
        mistakes={
            "mean squares add up, sizes do not": 25,
            "the tokens themselves are in the stream, too": 24**0.5,
            "how many layers does a block have?": 13**0.5,
            "two layers in each of the 12 blocks": 12**0.5,
            "in pre-norm no norm stands in the stream": 1,
        },
    ),
    right="49728, 128 and 5: all three are right",
)


def _norm(X: Tensor, dim: int | tuple[int, ...] = -1, eps: float = 1e-5, *, unbiased: bool = False) -> Tensor:
    mean = X.mean(dim=dim, keepdim=True)
    return (X - mean) / (X.var(dim=dim, keepdim=True, unbiased=unbiased) + eps).sqrt()


Layer = Callable[[Tensor], Tensor]
Order = Callable[[Tensor, Layer, Layer], Tensor]

_ORDERS: dict[bool, Order] = {
    False: lambda X, f, norm: norm(X + f(X)),
    True: lambda X, f, norm: X + f(norm(X)),
}
# A wrong order of addition and norm, by the hint for it.
_WRONG_ORDERS: dict[bool, dict[str, Order]] = {
    False: {
        "post-norm: the norm is over the sum. What is the mean of your output?": lambda X, f, norm: X + norm(f(X)),
        "norm_first is False: which of the two orders of (7.3) is that?": lambda X, f, norm: X + f(norm(X)),
        "one norm for each layer is enough, after the sum": lambda X, f, norm: norm(norm(X) + norm(f(X))),
        "post-norm: the layer gets X itself": lambda X, f, norm: norm(X + f(norm(X))),
        "where is the X that is added?": lambda X, f, norm: norm(f(X)),
        "and the norm after each sum?": lambda X, f, norm: X + f(X),
    },
    True: {
        "norm_first is True: which of the two orders of (7.3) is that?": lambda X, f, norm: norm(X + f(X)),
        "pre-norm adds to the stream itself, not to what the norm has made of it": lambda X, f, norm: (
            norm(X) + f(norm(X))
        ),
        "pre-norm: the norm comes before the layer": lambda X, f, norm: X + norm(f(X)),
        "where is the stream that is added to?": lambda X, f, norm: f(norm(X)),
        "pre-norm has no norm after each sum": lambda X, f, norm: norm(X + f(norm(X))),
    },
}
_WRONG_NORMS: dict[str, Layer] = {
    "which numbers are normed together? Those of one token: the last dimension": lambda X: _norm(X, dim=1),
    "each token has a mean of its own": lambda X: _norm(X, dim=(1, 2)),
    "each token has a mean of its own, not the whole batch": lambda X: _norm(X, dim=(0, 1, 2)),
    "the norm runs over the features of one token, not over the batch": lambda X: _norm(X, dim=(0, 1)),
    "the norm runs over the features of a token, not over the batch": lambda X: _norm(X, dim=0),
    "var and std divide by d - 1 unless told otherwise: unbiased=False": lambda X: _norm(X, unbiased=True),
    "divide by the standard deviation, which is the root of the variance": lambda X: (
        (X - X.mean(-1, keepdim=True)) / (X.var(-1, keepdim=True, unbiased=False) + 1e-5)
    ),
    "subtract the mean": lambda X: X / (X.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt(),
    "subtract the mean: the variance is the mean square of what is left": lambda X: (
        X / (X.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    ),
    "epsilon belongs under the root": lambda X: (
        (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True, unbiased=False) + 1e-5)
    ),
    "once is enough: yours norms what has been normed already": lambda X: _norm(_norm(X)),
    "and epsilon? A token of equal numbers has the variance 0": lambda X: _norm(X, eps=0.0),
    "epsilon is added, not a lower bound of the variance": lambda X: (
        (X - X.mean(-1, keepdim=True)) / X.var(-1, keepdim=True, unbiased=False).clamp(min=1e-5).sqrt()
    ),
    "which epsilon? (7.2) has 1e-5": lambda X: _norm(X, eps=1e-6),
    "which epsilon is yours? (7.2) has 1e-5": lambda X: _norm(X, eps=1e-8),
}


_MIX = "mix = lambda X: X.flip(1) + X.mean(dim=1, keepdim=True)"


class _Mix:
    """A layer that looks at all tokens of a sequence, and asks for sequences of the size of `X`."""

    __name__ = "mix"

    def __init__(self, shape: torch.Size) -> None:
        self.shape = shape

    def __call__(self, X: Tensor) -> Tensor:
        if X.dim() != 3 or X.shape[1:] != self.shape[1:]:
            hint = "a layer may look at all tokens of a sequence, as attention does: give it the whole stream"
            claim = "each layer is given (batch, n, d)"
            raise WrongAnswer(claim, hint, expected=tuple(self.shape), got=tuple(X.shape))
        return X.flip(1) + X.mean(dim=1, keepdim=True)


@checker("add-norm", trained=True)
def check_add_norm(run_stack: Any) -> str:
    """`run_stack(X, layers, norm_first)`: layers in the residual stream, in both orders."""
    expect_function(run_stack)
    (X,), draw = draw_inputs(4, most=9, X=(2, 3, 4))
    (longer,), draw_longer = draw_inputs(5, most=9, X=(3, 2, 5))
    three: list[Layer] = [torch.sin, torch.cos, torch.tanh]
    two: list[Layer] = [torch.cos, _Mix(longer.shape)]
    one: list[Layer] = [torch.sin]
    nothing: list[Layer] = [torch.zeros_like]
    tiny = torch.tensor([[[0.00005, 0.0001, 0.00015, 0.0002], [0.008, 0.008, 0.012, 0.018]]])
    for tokens, given, layers, tolerance in (
        (X, draw, three, 1e-3),  # which epsilon it is does not show yet
        (longer, draw_longer, two, 1e-3),
        (torch.full((1, 2, 4), 2.0), "torch.manual_seed(0); X = torch.full((1, 2, 4), 2.0)", one, 1e-4),
        (tiny, f"X = torch.tensor({tiny.tolist()})", nothing, 1e-4),  # here the last norm is the first one, too
        (tiny, f"X = torch.tensor({tiny.tolist()})", 2 * nothing, 1e-4),
        (X / 2000, f"{draw}; X = X / 2000", one, 1e-4),
        (X, draw, [*three, torch.sin], 1e-3),
    ):
        names = ["mix" if layer is two[1] else f"torch.{layer.__name__}" for layer in layers]
        code = f"layers = [{', '.join(names)}]"
        code = f"{given}; {_MIX}; {code}" if layers is two else f"{given}; {code}"
        for norm_first in (False, True):
            expect_close(
                run_stack(tokens, list(layers), norm_first),
                _run_stack(tokens, layers, _ORDERS[norm_first], last=norm_first),
                claim="each layer adds to the stream, and the norms stand where (7.3) has them",
                given=f"{code}; norm_first = {norm_first}",
                hint="print the stream after each step: layer, sum, norm",
                mistakes=(_list_wrong_stacks if tokens is not tiny else _list_wrong_norms)(tokens, layers, norm_first),
                tolerance=tolerance,
            )
            expect_unchanged("X", tokens, tokens, "X += ... changes the caller's tensor")
    for norm_first in (False, True):
        order = _ORDERS[norm_first]
        expect_gradients(
            _fix(run_stack, list(three), norm_first),
            partial(_run_stack, layers=three, order=order, last=norm_first),
            given=f"{draw}; layers = [torch.sin, torch.cos, torch.tanh]; norm_first = {norm_first}",
            X=X,
        )
    return "both orders, also of layers that mix tokens; each token normed, epsilon under the root; gradients too"


def _fix(run_stack: Any, layers: list[Layer], norm_first: bool) -> Callable[[Tensor], Any]:
    return lambda X: run_stack(X, layers, norm_first)


def _run_stack(X: Tensor, layers: list[Layer], order: Order, norm: Layer = _norm, *, last: bool) -> Tensor:
    for layer in layers:
        X = order(X, layer, norm)
    return norm(X) if last else X


def _list_wrong_stacks(X: Tensor, layers: list[Layer], norm_first: bool) -> dict[str, tuple[Tensor, ...]]:
    right = _ORDERS[norm_first]
    first = X + sum(layer(_norm(X) if norm_first else X) for layer in layers)
    wrong = {
        "the second layer reads what the first one has left in the stream, not X": (_norm(first), first),
        "the layers come one after the other, the first one first": (
            _run_stack(X, layers[::-1], right, last=norm_first),
        ),
        "how many layers are there? Each of them adds something": (
            _run_stack(X, layers[:1], right, last=norm_first),
            _run_stack(X, layers[:-1], right, last=norm_first),
            _run_stack(X, layers[-1:], right, last=norm_first),
        ),
    }
    wrong = {} if len(layers) == 1 else wrong
    if not norm_first:
        wrong["the first layer of post-norm reads X as it is: no norm comes before it"] = (
            _run_stack(_norm(X), layers, right, last=False),
        )
    if norm_first:
        wrong["a stack of pre-norm layers is not normed at its end: which norm is missing?"] = (
            _run_stack(X, layers, right, last=False),
        )
    for hint, order in _WRONG_ORDERS[norm_first].items():
        wrong[hint] = tuple(_run_stack(X, layers, order, last=last) for last in (True, False))
    return wrong | _list_wrong_norms(X, layers, norm_first)


def _list_wrong_norms(X: Tensor, layers: list[Layer], norm_first: bool) -> dict[str, tuple[Tensor, ...]]:
    """Stacks in the right order with a wrong norm: everywhere, or at the end of pre-norm alone."""
    order, unnormed = _ORDERS[norm_first], _run_stack(X, layers, _ORDERS[norm_first], last=False)
    ends = {hint: (norm(unnormed),) if norm_first else () for hint, norm in _WRONG_NORMS.items()}
    return {
        hint: (_run_stack(X, layers, order, norm, last=norm_first), *ends[hint]) for hint, norm in _WRONG_NORMS.items()
    }
