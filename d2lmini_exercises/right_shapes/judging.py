"""A student's test is judged: it must accept what is right and refuse every mutant, by what they return."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from d2lmini_exercises.engine import WrongAnswer, expect_function, shorten

Note = Callable[[], None]  # to be called whenever the test calls what it is given


@dataclass(frozen=True)
class Subject:
    """Something that a test is tried on.

    Attributes:
        hint: for a wrong verdict on it.
        make: makes the arguments of the test: the same to look at for each subject, whatever they compute.
    """

    hint: str
    make: Callable[[Note], tuple[Any, ...]]


def disguise(function: Callable[..., Any], note: Note) -> Callable[..., Any]:
    """The function behind one that looks the same for all: a test must judge by what it returns."""

    def subject(*args: Any, **kwargs: Any) -> Any:
        note()
        return function(*args, **kwargs)

    return subject


def judge(answer: Any, right: Sequence[Subject], mutants: Sequence[Subject]) -> str:
    """Try the test on all, twice: the second time in another order and with other random numbers, new in each check.

    Raises:
        WrongAnswer: if the test gives a wrong verdict, none at all, or two on one subject.
    """
    expect_function(answer)
    named = [(subject, subject.hint) for subject in right]
    named[1:1] = [(mutant, f"a mutant that {mutant.hint}: an error is no verdict") for mutant in mutants]
    verdicts = [_try(answer, *subject, first=subject is named[0]) for subject in named]
    _expect_both_verdicts(verdicts)
    refused = [
        subject.hint
        for (subject, _), accepted in zip(named, verdicts, strict=True)
        if subject in right and not accepted
    ]
    if refused:
        raise WrongAnswer("your test accepts what is right", f"it refuses {refused[0]}", got=f"{len(refused)} refused")
    survivors = [mutant for mutant, accepted in zip(mutants, verdicts[1:], strict=False) if accepted]
    if survivors:
        claim, killed = f"your test refuses all {len(mutants)} mutants", f"{len(mutants) - len(survivors)} of them"
        raise WrongAnswer(claim, f"a survivor {survivors[0].hint}", got=killed)
    again = [*zip(named, verdicts, strict=True)]
    random.SystemRandom().shuffle(again)
    for subject, accepted in again:
        _seed_anew()
        if _try_again(answer, *subject) != accepted:
            hint = "it draws new numbers, or remembers: begin it with torch.manual_seed(0), and count nothing"
            raise WrongAnswer("your test gives one verdict each time it is tried on the same", hint, got="two verdicts")
    return f"it accepts {len(right)} that are right, and refuses {len(mutants)} mutants"


def _try_again(answer: Callable[..., Any], subject: Subject, name: str) -> bool | None:
    """The verdict of a test that has come to one before; none if it stops now."""
    try:
        return _try(answer, subject, name, first=False)
    except WrongAnswer:
        return None


def _seed_anew() -> None:
    """Other random numbers for whoever draws some without a seed of his own."""
    seed = random.SystemRandom().getrandbits(32)
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def _expect_both_verdicts(verdicts: list[bool]) -> None:
    if all(verdicts):
        hint = "it accepts whatever it is given: on what input would a wrong one show?"
        raise WrongAnswer("your test refuses the mutants", hint, got="none of them")
    if not any(verdicts):
        hint = "it refuses whatever it is given, right ones too: what does it give on a right one of your own?"
        raise WrongAnswer("your test accepts what is right", hint, got="all refused")


def _try(answer: Callable[..., Any], subject: Subject, name: str, *, first: bool) -> bool:
    """The verdict of the test; an error on the first subject is the student's own and is passed on."""
    calls = []
    try:
        found = answer(*subject.make(lambda: calls.append(1)))
    except AssertionError:
        found = False
    except (WrongAnswer, NotImplementedError):
        raise
    except Exception as error:
        if first:
            raise
        got = f"{type(error).__name__}: {shorten(error)}"
        raise WrongAnswer("your test comes to a verdict", f"it stops on {name}", got=got) from error
    verdict = _read_verdict(found)
    if not calls:
        hint = "it looks at something else: judge a function or a module by what it returns"
        raise WrongAnswer("your test calls what it is given", hint, got="no call")
    return verdict


def _read_verdict(found: Any) -> bool:
    if found is None:
        return True
    if getattr(found, "ndim", 0) == 0 and str(getattr(found, "dtype", type(found))).endswith(("bool", "bool'>")):
        return bool(found)
    claim = "a test returns True or False, or raises AssertionError"
    if isinstance(found, (int, float)):
        raise WrongAnswer(claim, "it returns a number: compare it with one", got=found)
    hint = "one verdict for all: does a comparison need .all()? Nothing returned counts as accepted"
    raise WrongAnswer(claim, hint, got=found if isinstance(found, str) else type(found).__name__)
