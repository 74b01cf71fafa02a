"""Positions that are learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini_exercises.convert import get_rounding
from d2lmini_exercises.core import WrongAnswer, checker, expect_function, expect_unchanged, name_shape
from d2lmini_exercises.inputs import draw_inputs

_SHARE = 4  # a table may be so many times larger


@checker("learnable-positions", trained=True)
def check_learnable_positions(answer: Any) -> str:
    """`answer(num_hiddens, max_len)`: a module with `forward(X, offset=0)` that adds positions, from few parameters."""
    if isinstance(answer, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses")
    expect_function(answer)
    for num_hiddens, max_len in ((6, 100), (32, 100), (4, 100), (8, 200), (2, 200)):
        sizes = f"num_hiddens, max_len = {num_hiddens}, {max_len}"
        layer = answer(num_hiddens, max_len)
        if not isinstance(layer, nn.Module):
            raise WrongAnswer("the answer is a class made from nn.Module", "class LearnedPositions(nn.Module): ...")
        (X,), given = draw_inputs(5, X=(3, 12, num_hiddens))
        given = f"{given}; {sizes}"
        layer.eval()  # without dropout
        first = layer(before := X.clone())  # lazy layers have numbers now
        if not isinstance(first, Tensor) or first.shape != X.shape or first.is_complex():
            hint = "return X plus the encodings, for all sequences of the batch"
            got = name_shape(first)
            raise WrongAnswer("forward returns (b, n, d)", hint, given=given, expected=name_shape(X), got=got)
        expect_unchanged("X", before, X, "X += ... changes the caller's tensor", given=given)
        trained = _read_parameters(layer, num_hiddens, max_len)
        with torch.no_grad():
            _expect_added(layer, X, given)
            _expect_end(layer, num_hiddens, max_len, [(max_len, 0)])
        _expect_gradients(layer, X, trained, sizes)
        _expect_learned(layer, trained, num_hiddens, max_len)
        with torch.no_grad():
            _expect_offset(layer, X, max_len, given)
            ends = [(1, max_len - 1), (max_len + 1, 0), (4, max_len - 3), (1, max_len)]
            _expect_end(layer, num_hiddens, max_len, ends)
    return "few parameters, each position learned and added at its place, with an offset, and nothing beyond max_len"


def _read_parameters(layer: nn.Module, num_hiddens: int, max_len: int) -> dict[str, Tensor]:
    """The parameters that are trained, by their names, moved a little: they may begin at 0."""
    given = f"num_hiddens, max_len = {num_hiddens}, {max_len}"
    held: dict[str, Tensor] = {name: parameter for name, parameter in layer.named_parameters() if parameter.numel()}
    trained: dict[str, Tensor] = {name: parameter for name, parameter in held.items() if parameter.requires_grad}
    if not trained:
        raise WrongAnswer("it has parameters that are trained", _explain_none(layer, held), given=given)
    count, most = sum(parameter.numel() for parameter in trained.values()), num_hiddens * max_len // _SHARE
    if count > most:
        hint = "positions have to share numbers: two small tables (for what?), or a function of i with a few parameters"
        expected = f"{most} trained numbers at most"
        raise WrongAnswer("it has few parameters", hint, given=given, expected=expected, got=f"{count}")
    with torch.no_grad():
        for parameter in trained.values():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return trained


def _explain_none(layer: nn.Module, held: dict[str, Tensor]) -> str:
    """Why a layer has no number to train; `held` are its parameters with at least one number."""
    if held:
        return f"frozen: {', '.join(held)}. No optimiser moves what has requires_grad=False: what is left to train?"
    if any(True for _ in layer.parameters()):
        return "your parameters are empty at this width: what does a size like num_hiddens // 4 come to?"
    hint = "the optimiser asks for layer.parameters(): neither a plain tensor nor what is in a Python list is there"
    return f"{hint}; an nn.Parameter is, and so are an nn.ParameterList and an nn.ModuleList"


def _expect_gradients(layer: nn.Module, X: Tensor, trained: dict[str, Tensor], sizes: str) -> None:
    """Compare the gradient of each parameter with what moving the parameter does to the output."""
    output = layer(X)
    weights = torch.randn(output.shape, dtype=torch.float64)
    gradients: list[Tensor | None] = [None] * len(trained)
    if output.requires_grad:
        total = (output.double() * weights).sum()
        gradients = list(torch.autograd.grad(total, [*trained.values()], allow_unused=True))
    rounding = get_rounding(output)
    step = rounding ** (1 / 3)  # neither so small that it is lost in rounding, nor so large that it curves
    noise = 0.1 + 2 * rounding * output.numel() ** 0.5 / step
    moves = False
    for (name, parameter), gradient in zip(trained.items(), gradients, strict=True):
        direction = torch.randn_like(parameter)
        with torch.no_grad():
            ends = []
            for sign in (1, -1):
                parameter.add_(sign * step * direction)
                ends.append((layer(X).double() * weights).sum().item())
                parameter.add_(-sign * step * direction)
        change = (ends[0] - ends[1]) / (2 * step)
        told = 0.0 if gradient is None else (gradient * direction).sum().item()
        if abs(change - told) > 0.05 * (abs(change) + abs(told)) + noise:
            hint = "something cuts or changes the gradient: detach, .data, no_grad, or a tensor made anew from numbers"
            if abs(change) < noise < abs(told):
                hint = "the gradient is there, but moving the parameter moves nothing: what is computed from it only "
                hint += "once, in __init__, does not follow it. Is there such a thing? Or is it subtracted again?"
            given = f"the parameter {name}, of shape {tuple(parameter.shape)}; {sizes}"
            raise WrongAnswer("gradients tell what moving a parameter does", hint, given=given)
        moves |= gradient is not None and bool(gradient.abs().max() > 1e-5)
    if not moves:
        hint = "are the parameters used in forward at all?"
        raise WrongAnswer("the output depends on the parameters", hint, given=sizes)


def _expect_learned(layer: nn.Module, trained: dict[str, Tensor], num_hiddens: int, max_len: int) -> None:
    """What differs between two positions must depend on a parameter."""
    rows = layer(torch.zeros(1, max_len, num_hiddens))[0]
    weights = torch.randn(num_hiddens).to(rows.dtype)
    for i in range(max_len - 1):
        step = ((rows[i + 1] - rows[i]) * weights).sum()
        gradients = torch.autograd.grad(step, [*trained.values()], allow_unused=True, retain_graph=True)
        if not any(gradient is not None and gradient.abs().max() > 1e-6 for gradient in gradients):
            hint = "the parameters add the same to these two: what differs between positions must be learned"
            given = f"num_hiddens, max_len = {num_hiddens}, {max_len}; positions {i} and {i + 1}"
            raise WrongAnswer("what differs between positions is learned", hint, given=given)


def _differ(a: Tensor, b: Tensor) -> bool:
    tolerance = max(1e-5, get_rounding(a), get_rounding(b))
    return not torch.allclose(a.double(), b.double(), atol=4 * tolerance, rtol=tolerance)


def _expect_added(layer: nn.Module, X: Tensor, given: str) -> None:
    output = layer(X)
    if _differ(layer(X), output):
        hint = "what is random in forward is new in each call: make it in __init__"
        raise WrongAnswer("two calls give the same", hint, given=given)
    rows = layer(torch.zeros_like(X))
    if _differ(output, X + rows):
        hint = "is it added to X, or does it multiply X? And is it added to every token of every sequence?"
        raise WrongAnswer("what is added does not depend on the tokens", hint, given=given)
    if _differ(layer(100 * X), 100 * X + rows):
        hint = "for small numbers, too? What happens to large entries of X on the way?"
        raise WrongAnswer("what is added does not depend on the tokens", hint, given=f"{given}; X = 100 * X")
    if _differ(rows, rows[:1].expand_as(rows)):
        hint = "position 0 is position 0 in each sequence: does a dimension of your table stand for the batch?"
        raise WrongAnswer("all sequences of a batch get the same encodings", hint, given=given)


def _expect_offset(layer: nn.Module, X: Tensor, max_len: int, given: str) -> None:
    claim = "token i stands at offset + i"
    rows = layer(torch.zeros(1, max_len, X.shape[2]))
    if _differ(layer(X), X + rows[:, : X.shape[1]]):
        hint = "does position 1 get the same vector in a shorter sequence?"
        raise WrongAnswer(claim, hint, given=f"{given}; longer = torch.zeros(1, {max_len}, {X.shape[2]})")
    for offset in (1, 7, max_len // 2, max_len - X.shape[1]):
        shifted = layer(X, offset=offset)
        if _differ(shifted, X + rows[:, offset : offset + X.shape[1]]):
            hint = "the first token of X stands at position offset, the next one after it"
            if not _differ(shifted, layer(X)):
                hint = "offset is not used"
            raise WrongAnswer(claim, hint, given=f"{given}; offset = {offset}")
    distances = torch.cdist(rows.double(), rows.double())[0].fill_diagonal_(1)
    if distances.min() < 1e-4:
        first, second = divmod(int(distances.argmin()), max_len)
        alike = f"positions {first} and {second} are alike"
        hint = "one vector for each position: which positions share one?"
        raise WrongAnswer("different positions get different vectors", hint, given=given, got=alike)


def _expect_end(layer: nn.Module, num_hiddens: int, max_len: int, ends: list[tuple[int, int]]) -> None:
    claim = "max_len positions fit, and one more is a ValueError"
    for length, offset in ends:
        given = f"num_hiddens, max_len, n, offset = {num_hiddens}, {max_len}, {length}, {offset}"
        X, fits = torch.zeros(2, length, num_hiddens), offset + length <= max_len
        try:
            layer(X, offset=offset)
        except Exception as error:
            name = type(error).__name__
            if fits:
                hint = "the last position, offset + n - 1, is max_len - 1 here: that still fits"
                raise WrongAnswer(claim, hint, given=given, got=name) from error
            if isinstance(error, ValueError):
                continue
            hint = "compare the last position with max_len and raise ValueError yourself, with a clear message"
            raise WrongAnswer(claim, hint, given=given, expected="ValueError", got=name) from error
        if not fits:
            hint = "the last position is offset + n - 1: compare it with max_len, and raise ValueError"
            raise WrongAnswer(claim, hint, given=given, expected="ValueError")
