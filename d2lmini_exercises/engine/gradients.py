"""Whether what an answer returns can be trained: its gradient, compared with the right one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine.core import WrongAnswer, expect_close

_CLAIM = "it can be trained: the gradient with respect to {} is the right one"
_CUT = "what cuts the result off? detach(), .data, no_grad, item(), tolist() and a tensor made again from numbers do"


def expect_gradients(answer: Any, right: Callable[..., Tensor], *, given: str, **inputs: Tensor) -> None:
    """Check that gradients flow from the result of an answer to all of its inputs as they do in the right function.

    Args:
        answer: the function of these inputs; its numbers have been looked at already.
        right: the function that it should be.
        given: code that makes the inputs.
        inputs: what each is called, in the order of the arguments.

    Raises:
        WrongAnswer: if the result is no tensor, is cut off from an input, or has another gradient.
    """
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs.values()]
    expected = right(*leaves)
    # small whole numbers, which are exact in half precision, too
    factors = torch.arange(1.0, 1 + expected.numel()).reshape(expected.shape).remainder(7) - 3
    wanted = torch.autograd.grad((expected * factors).sum(), leaves, allow_unused=True)
    given = "; ".join([given, *(f"{name}.requires_grad_()" for name in inputs)])
    found = _run(answer, leaves, _CLAIM.format(", ".join(inputs)), given)
    try:
        gradients = torch.autograd.grad((found * factors).sum(), leaves, allow_unused=True)
    except RuntimeError as error:
        hint = "a tensor that PyTorch needs for the gradient was written into: make a new one instead"
        got = str(error).partition(":")[0]
        raise WrongAnswer(_CLAIM.format(", ".join(inputs)), hint, given=given, got=got) from error
    for name, gradient, own in zip(inputs, gradients, wanted, strict=True):
        claim = _CLAIM.format(name)
        if own is None:  # the result does not depend on it
            continue
        if gradient is None:
            raise WrongAnswer(claim, _CUT, given=given, got="no gradient")
        hint = "the numbers are right, their gradient is not: is a part of the way cut off?"
        if gradient.isnan().any():
            hint = "to replace NaN at the end is too late for the gradient: let no row of -inf reach the softmax"
        # Processors round float32 differently, and a gradient of 100 shows it.
        tolerance = 1e-4 * max(10.0, own.abs().max().item())
        expect_close(gradient.to(found.dtype), own, claim=claim, given=given, hint=hint, tolerance=tolerance)


def _run(answer: Any, leaves: list[Tensor], claim: str, given: str) -> Tensor:
    """What the answer returns, if it has a gradient."""
    try:
        found = answer(*leaves)
    except RuntimeError as error:
        if "numpy" not in str(error):
            raise
        hint = "NumPy knows no gradients: compute in torch from the first line to the last"
        raise WrongAnswer(claim, hint, given=given, got=str(error).partition(".")[0]) from error
    if not isinstance(found, Tensor):
        hint = "return one tensor, made from the arguments by operations of torch"
        raise WrongAnswer(claim, hint, given=given, got=type(found).__name__)
    if not found.requires_grad:
        raise WrongAnswer(claim, _CUT, given=given, got="a tensor without a gradient")
    return found
