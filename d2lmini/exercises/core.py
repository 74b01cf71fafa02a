"""How an answer is checked: a registry of checkers, and the comparisons they are written with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

Checker = Callable[[Any], str]
_CHECKERS: dict[str, Checker] = {}
_LONGEST = 240  # characters of an expected or given value


class WrongAnswer(Exception):
    """An answer without a property that it must have.

    Args:
        claim: the property, as a sentence.
        hint: a question or an observation that helps to find the mistake.
        given: the tiny input on which it shows.
        expected: what a right answer gives there; ``None`` where that would give the solution away.
        got: what the answer gave.
    """

    def __init__(self, claim: str, hint: str, *, given: str = "", expected: Any = None, got: Any = None) -> None:
        super().__init__(claim)
        lines = [f"this does not hold yet: {claim}"]
        lines += [f"for      {given}"] if given else []
        lines += [f"expected {_short(expected)}"] if expected is not None else []
        lines += [f"got      {_short(got)}"] if got is not None else []
        self.report = "\n  ".join([*lines, f"hint: {hint}"])


def checker(name: str) -> Callable[[Checker], Checker]:
    """Register a function as the checker of the exercise ``name``.

    It takes the answer and returns what was verified, as a sentence; it raises :class:`WrongAnswer` for a wrong one.

    Raises:
        ValueError: if the name is taken.
    """

    def register(function: Checker) -> Checker:
        if name in _CHECKERS:
            raise ValueError(f"there is already a checker named {name!r}")
        _CHECKERS[name] = function
        return function

    return register


def check(name: str, answer: Any) -> None:
    """Print whether ``answer`` solves the exercise ``name``, and if not, what is wrong and a hint.

    A wrong answer never raises: an error in the student's code is reported like any other mistake. The state of
    torch's random numbers, its default dtype and its gradient mode are left as they were.

    Args:
        name: name of the exercise, as in the chapter.
        answer: the function, class or number asked for. ``None``, or a function that raises ``NotImplementedError``,
            counts as not attempted.

    Raises:
        ValueError: if there is no exercise of that name.
    """
    if name not in _CHECKERS:
        raise ValueError(f"there is no exercise named {name!r}; there are {', '.join(sorted(_CHECKERS))}")
    if answer is None:
        print(f"{name}: not attempted yet")
        return
    dtype = torch.get_default_dtype()
    try:
        with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(True):
            torch.manual_seed(0)  # the same inputs each time: an answer is right or wrong, never by chance
            verified = _CHECKERS[name](answer)
    except NotImplementedError as error:
        if re.search("not implemented for|Could not run|missing the required", str(error)):  # PyTorch's own
            _report_error(name, error)
        else:
            print(f"{name}: not attempted yet")
    except WrongAnswer as wrong:
        print(f"✗ {name}: {wrong.report}")
    except (Exception, SystemExit) as error:
        _report_error(name, error)
    else:
        print(f"✓ {name}: {verified}")
    finally:
        torch.set_default_dtype(dtype)


def _report_error(name: str, error: BaseException) -> None:
    first_line = str(error).partition("\n")[0]
    print(f"✗ {name}: your answer stopped with an error\n  {type(error).__name__}: {first_line}")
    print("  hint: run it yourself on a small input and look at the shapes")


def expect_function(answer: Any) -> None:
    """Check that the answer can be called.

    Raises:
        WrongAnswer: if not.
    """
    if not callable(answer):
        hint = "pass the function itself, without parentheses after its name"
        raise WrongAnswer("the answer is a function", hint, got=type(answer).__name__)


def numbers(answer: Any, count: int) -> list[float]:
    """The ``count`` numbers of a prediction.

    Raises:
        WrongAnswer: if there are more, fewer, or something else.
    """
    entries = answer.tolist() if hasattr(answer, "tolist") else answer  # tensors and arrays
    several = isinstance(entries, Sequence) and not isinstance(entries, (str, bytes))
    entries = list(entries) if several else [entries]
    try:
        found = [float(entry) for entry in entries]
    except (TypeError, ValueError):
        found = []
    if len(found) != count:
        raise WrongAnswer(f"the answer is {count} number(s)", "look at the starter's form", got=repr(answer))
    return found


def one_number(answer: Any) -> float:
    """The one number that a measurement returned.

    Raises:
        WrongAnswer: if it is something else.
    """
    try:
        return float(answer.detach() if isinstance(answer, Tensor) else answer)
    except (TypeError, ValueError, RuntimeError) as error:
        hint = "return a float, or a tensor of one entry; max(dim=...) and median(dim=...) give a pair of tensors"
        raise WrongAnswer("it returns one number", hint, got=type(answer).__name__) from error


def hint_for(got: float, mistakes: Mapping[str, float], otherwise: str, tolerance: float = 1e-4) -> str:
    """The hint of the well-known mistake that gives this number; ``mistakes`` maps hints to numbers."""
    return next((hint for hint, wrong in mistakes.items() if abs(got - wrong) <= tolerance), otherwise)


def expect_measured(
    answer: Any,
    expected: float,
    *,
    claim: str,
    given: str,
    hint: str,
    mistakes: Mapping[str, float],
    tolerance: float = 1e-4,
) -> None:
    """Check a measured or computed number; ``mistakes`` maps the hint for a well-known mistake to what it gives.

    Raises:
        WrongAnswer: if ``answer`` is no number, or further than ``tolerance`` from ``expected``.
    """
    got = one_number(answer)
    if not abs(got - expected) <= tolerance:
        hint = hint_for(got, mistakes, hint, tolerance)
        raise WrongAnswer(claim, hint, given=given, expected=round(expected, 4), got=round(got, 4))


def expect_number(
    name: str, got: float, expected: float, *, mistakes: Mapping[float, str], hint: str, tolerance: float = 0.01
) -> None:
    """Check a predicted number without giving it away; ``mistakes`` maps a well-known wrong number to its hint.

    Raises:
        WrongAnswer: if ``got`` is further than ``tolerance`` from ``expected``.
    """
    if abs(got - expected) <= tolerance:
        return
    hint = next((text for number, text in mistakes.items() if abs(got - number) <= tolerance), hint)
    raise WrongAnswer(f"{name} is another number", hint, got=got)


def expect_close(
    got: Any,
    expected: Tensor,
    *,
    claim: str,
    given: str,
    hint: str,
    mistakes: Mapping[str, Tensor] | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Check a result against the right one; ``mistakes`` maps the hint for a well-known mistake to what it gives.

    Raises:
        WrongAnswer: if ``got`` is no tensor, has another shape, or differs by more than ``tolerance``.
    """
    if not isinstance(got, Tensor):
        raise WrongAnswer(claim, "return a tensor", given=given, got=type(got).__name__)
    if got.shape != expected.shape:
        shapes = {"expected": f"shape {tuple(expected.shape)}", "got": f"shape {tuple(got.shape)}"}
        raise WrongAnswer(claim, "write the shape of each step next to it", given=given, **shapes)
    if _near(got, expected, tolerance):
        return
    hint = next((text for text, wrong in (mistakes or {}).items() if _near(got, wrong, tolerance)), hint)
    raise WrongAnswer(claim, hint, given=given, expected=expected, got=got)


def expect_unchanged(name: str, now: Tensor, before: Tensor, hint: str = "work on a new tensor") -> None:
    """Check that an answer has left its argument alone.

    Raises:
        WrongAnswer: if not.
    """
    if not torch.equal(now, before):
        raise WrongAnswer(f"the argument {name} is left unchanged", hint, got=now)


def _near(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return a.shape == b.shape and torch.allclose(
        a.detach().double(), b.double(), rtol=0.0, atol=tolerance, equal_nan=True
    )


def _short(value: Any) -> str:
    """One line, cut where it is long: numbers with six digits at most."""
    line = _one_line(value)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _one_line(value: Any) -> str:
    if isinstance(value, Tensor):
        value = value.detach().double().cpu().tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_one_line(entry) for entry in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
