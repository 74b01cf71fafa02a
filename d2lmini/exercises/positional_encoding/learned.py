"""Positions that are learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_unchanged, name_shape


@checker("learnable-positions")
def check_learnable_positions(answer: Any) -> str:
    """`answer(num_hiddens, max_len)`: a module with `forward(X, offset=0)` that adds learned positions."""
    if isinstance(answer, nn.Module):
        raise WrongAnswer("the answer is a class", "pass the class itself, without parentheses")
    expect_function(answer)
    layer, X = answer(6, 10), torch.randn(2, 4, 6)
    if not isinstance(layer, nn.Module):
        raise WrongAnswer("the answer is a class made from nn.Module", "class LearnedPositions(nn.Module): ...")
    layer.eval()  # without dropout
    with torch.no_grad():
        for parameter in layer.parameters():  # vectors that are 0 at first are allowed
            parameter.add_(0.1 * torch.randn(parameter.shape))
    before, first = X.clone(), layer(X)
    if not isinstance(first, Tensor) or first.shape != X.shape:
        hint = "return X plus the encodings, for all sequences of the batch"
        raise WrongAnswer("forward returns (b, n, d)", hint, expected=name_shape(X), got=name_shape(first))
    expect_unchanged("X", X, before, "X += ... changes the caller's tensor")
    _expect_trainable(layer, first)
    with torch.no_grad():
        _expect_added(layer, X)
        _expect_offset(layer, X)
    return "trained by gradients, added by position, with an offset, and nothing beyond max_len"


def _expect_trainable(layer: nn.Module, output: Tensor) -> None:
    parameters = [parameter for parameter in layer.parameters() if parameter.requires_grad]
    if not parameters:
        hint = "the optimiser asks for layer.parameters(): a plain tensor is not among them, an nn.Parameter is"
        raise WrongAnswer("it has parameters", hint)
    if output.requires_grad:
        weights = torch.randn(output.shape)
        gradients = torch.autograd.grad((output * weights).sum(), parameters, allow_unused=True, retain_graph=True)
    if not output.requires_grad or not any(grad is not None and grad.any() for grad in gradients):
        hint = "something cuts the gradient: detach, .data, no_grad, or a tensor made anew from numbers"
        raise WrongAnswer("the output has a gradient with respect to the parameters", hint)
    between = ((output - output.mean(dim=1, keepdim=True)) * weights).sum()
    gradients = torch.autograd.grad(between, parameters, allow_unused=True)
    if not any(grad is not None and grad.abs().max() > 1e-5 for grad in gradients):
        hint = "the parameters add the same to every position: what differs between positions must be learned"
        raise WrongAnswer("what differs between positions is learned", hint)


def _expect_added(layer: nn.Module, X: Tensor) -> None:
    added = layer(X) - X
    if not torch.allclose(layer(X) - X, added, atol=1e-5):
        raise WrongAnswer("two calls give the same", "what is made in forward is new in each call: make it in __init__")
    other = torch.randn_like(X)
    if not torch.allclose(layer(other) - other, added, atol=1e-5):
        raise WrongAnswer("what is added does not depend on the tokens", "is it added to X, or does it multiply X?")
    if not torch.allclose(added[0], added[1], atol=1e-5):
        hint = "position 0 is position 0 in each sequence: does a dimension of your table stand for the batch?"
        raise WrongAnswer("all sequences of a batch get the same encodings", hint)
    if torch.cdist(added[0], added[0]).fill_diagonal_(1.0).min() < 1e-4:
        raise WrongAnswer("different positions get different vectors", "one vector for each position, not one for all")


def _expect_offset(layer: nn.Module, X: Tensor) -> None:
    shifted = layer(X[:, 1:], offset=1)
    if not torch.allclose(shifted, layer(X)[:, 1:], atol=1e-5):
        unmoved = torch.allclose(shifted, layer(X[:, 1:]), atol=1e-5)
        hint = (
            "the first token of X stands at position offset. Does position 1 get the same vector in a shorter sequence?"
        )
        raise WrongAnswer("token i stands at offset + i", "offset is not used" if unmoved else hint, given="offset = 1")
    full = torch.zeros(1, 10, 6)
    if not torch.allclose(layer(full)[:, 6:], layer(full[:, 6:], offset=6), atol=1e-5):
        raise WrongAnswer("token i stands at offset + i", "look at the last positions", given="offset = 6")
    for length, offset in ((11, 0), (4, 7), (1, 10)):
        given = f"max_len = 10, a sequence of length {length}, offset = {offset}"
        try:
            layer(torch.zeros(1, length, 6), offset=offset)
        except ValueError:
            continue
        except Exception as error:
            hint = "compare the last position with max_len and raise ValueError yourself, with a clear message"
            got = type(error).__name__
            raise WrongAnswer("a position beyond max_len is a ValueError", hint, given=given, got=got) from error
        hint = "the last position is offset + n - 1: compare it with max_len, and raise ValueError"
        raise WrongAnswer("a position beyond max_len is a ValueError", hint, given=given)
