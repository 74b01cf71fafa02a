"""An exercise as data: what is right, what goes wrong, and the inputs on which it shows. One engine judges them all.

A right answer, a mistake and what a student wrote are the same kind of thing, an answer, and are used in the same way.
So the list of mistakes is also a list of tests: each mistake, handed in, must get its own hint.
"""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini_exercises.engine.convert import convert_arrays, convert_tensor
from d2lmini_exercises.engine.core import CALLED, WrongAnswer, expect_close, expect_function, is_near, register
from d2lmini_exercises.engine.edge_cases import EDGES
from d2lmini_exercises.engine.equality import are_equal, describe_change
from d2lmini_exercises.engine.gradients import expect_gradients

__all__ = ["Case", "Exercise", "call", "draw", "exercise"]

Answer = Callable[..., Any]
Mistake = Mapping[str, Any] | Answer  # keywords of the right answer, or an answer of its own
Given = dict[str, Any]
Outcome = Any  # what an answer returned, or the exception that it raised
Run = Callable[..., Any]  # an answer as a function of the arguments of a case


def draw(seed: int, *, most: int = 2, **shapes: tuple[int, ...]) -> str:
    """The line of code that draws tensors of whole numbers from -most to most, one for each name."""
    draws = (f"{name} = 1.0 * torch.randint({-most}, {most + 1}, {shape})" for name, shape in shapes.items())
    return "; ".join([f"torch.manual_seed({seed})", *draws])


def call(answer: Answer, *given: Any) -> Any:
    """How most answers are used."""
    return answer(*given)


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        code: a line that a student can paste; it defines the arguments by their names.
        hint: for what makes none of the mistakes on this input; without it, that of the edge, or of the exercise.
        claim: what holds on this input; without it, the claim of the exercise.
        tolerance: how far a number may be off.
        trained: whether its gradient counts, if that of the exercise does.
        edge: which of the edge cases it is, by its name in `edge_cases`.
    """

    code: str
    hint: str = ""
    claim: str = ""
    tolerance: float = 1e-4
    trained: bool = True
    edge: str = ""


@dataclass(frozen=True, eq=False)
class Exercise:
    """What is asked for, and all that is known of how it goes wrong.

    Attributes:
        name: as in the chapter.
        right: a right answer; its keywords make it wrong. It returns a tensor, a number, or several.
        cases: inputs, the plainest first.
        mistakes: the hint for each, and what makes it: keywords of `right`, or an answer; or several of these.
        claim: what a right answer is, as a sentence; `{}` stands for the part.
        verified: the sentence for a right answer.
        hint: for what makes none of the mistakes.
        use: how an answer is used on the arguments of a case, which it names behind the answer. It may raise
            `WrongAnswer` for what is no answer at all.
        reference: how `right` is used, with or without keywords, if it is called in another way than an answer.
        trained: whether the gradient must be right as well.
        together: how many mistakes may be made at once.
        parts: what several results are called in a report, if the answer returns more than one.
        untried: what a tick does not say; without it, gradients (unless `trained`), dtypes, devices and speed.
    """

    name: str
    right: Answer
    cases: tuple[Case, ...]
    mistakes: Mapping[str, Mistake | tuple[Mistake, ...]]
    claim: str
    verified: str
    hint: str
    use: Callable[..., Any] = call
    reference: Callable[..., Any] | None = None
    trained: bool = False
    together: int = 1
    parts: tuple[str, ...] = ()
    untried: str = ""

    def __call__(self, answer: Any) -> str:
        """Judge an answer: the sentence for a right one.

        Raises:
            WrongAnswer: if it is none, or as `judge` does.
        """
        expect_function(answer)
        return self.judge(partial(self.use, answer))

    def judge(self, run: Run) -> str:
        """Judge what is called with the arguments of a case: the sentence for what is right.

        Raises:
            WrongAnswer: with the first input on which it is wrong, and the hint for the mistake that agrees with it so
                far.
        """
        found: list[Outcome] = []
        written: WrongAnswer | None = None  # raised last, since a wrong number with a hint says more
        for i, case in enumerate(self.cases):
            given = self.make(i)
            own = copy.deepcopy(given)
            found.append(self._run(run, case, own))
            changed = next((name for name in given if not are_equal(own[name], given[name])), "")
            wrong = not self._agrees(found[-1], self._expect(i), case.tolerance)
            hint = self._explain(found) if wrong else ""
            if changed and not written:
                claim = f"the argument {changed} is left unchanged"
                written = WrongAnswer(claim, describe_change(given[changed]), given=case.code, got=own[changed])
            if wrong and (hint or not written):
                self._refuse(found[-1], i, hint)
            if wrong:
                break
        if written:
            raise written
        for i, case in enumerate(self.cases):
            if self.trained and case.trained:
                self._compare_gradients(run, i)
        return self.verified

    def _compare_gradients(self, run: Run, case: int) -> None:
        given = self.make(case)
        floats = {name: own for name, own in given.items() if isinstance(own, Tensor) and own.is_floating_point()}

        def differentiate(one: Run, *leaves: Tensor) -> Any:
            found = _call(one, {**self.make(case), **dict(zip(floats, leaves, strict=True))})
            return torch.cat([part.flatten() for part in found]) if self.parts else found

        right = partial(differentiate, self._refer())
        expect_gradients(partial(differentiate, run), right, given=self.cases[case].code, **floats)

    def describe_untried(self) -> str:
        """What a tick does not say."""
        first = self._expect(0)[0] if self.parts else self._expect(0)
        if isinstance(first, Tensor) and first.is_floating_point() and not self.untried:
            return f"{'' if self.trained else 'gradients, '}other dtypes, a GPU, how fast it is"
        return self.untried or "how fast it is"

    def make(self, case: int) -> Given:
        """The arguments that the code of a case defines."""
        names: Given = {"torch": torch, "nn": nn, "F": F, "d2l": d2l}
        exec(self.cases[case].code, names)  # noqa: S102 (our own line)
        used = self.right if self.use is call else self.use
        names_used = [p.name for p in inspect.signature(used).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        return {name: names[name] for name in names_used[self.use is not call :]}

    def list_mistakes(self) -> list[tuple[str, Callable[[], str]]]:
        """The hint for each mistake, and what judges it."""
        return [(hint, partial(self.judge, self._bind(one))) for hint, one in self._list_single()]

    def _list_single(self) -> Iterator[tuple[str, Mistake]]:
        for hint, some in self.mistakes.items():
            yield from ((hint, one) for one in (some if isinstance(some, tuple) else (some,)))

    def _refer(self, **keywords: Any) -> Run:
        """The right answer, or what these keywords make of it."""
        return partial(self.reference or self.use, partial(self.right, **keywords))

    def _bind(self, mistake: Mistake) -> Run:
        return partial(self.use, mistake) if callable(mistake) else self._refer(**mistake)

    @cached_property
    def _wrong(self) -> list[tuple[str, Callable[[int, torch.dtype], Outcome]]]:
        """The mistakes, then those of several at once, with the hint of the first: what each gives for a case in the
        default dtype.
        """
        runs = [(hint, self._bind(one)) for hint, one in self._list_single()]
        by_keywords = [(hint, one) for hint, one in self._list_single() if not callable(one)]
        for size in range(2, self.together + 1):
            for some in combinations(by_keywords, size):
                keywords = {key: one[key] for _, one in some for key in one}
                if len(keywords) == sum(len(one) for _, one in some):  # no two of the same line
                    runs.append((some[0][0], self._refer(**keywords)))
        return [(hint, cache(partial(self._try, run))) for hint, run in runs]

    def _try(self, run: Run, case: int, _: torch.dtype) -> Outcome:
        try:
            return _call(run, self.make(case))
        except Exception as error:
            return error

    @cached_property
    def _expected(self) -> Callable[[int, torch.dtype], Outcome]:
        return cache(lambda case, _: _call(self._refer(), self.make(case)))

    def _expect(self, case: int) -> Outcome:
        """What the right answer gives for a case, in the default dtype."""
        return self._expected(case, torch.get_default_dtype())

    def _run(self, run: Run, case: Case, given: Given) -> Outcome:
        try:
            return _call(run, given)
        except WrongAnswer as wrong:
            claim, *rest = wrong.symptom.split("\n")
            if not any(line.startswith("  for ") for line in rest):
                wrong.symptom = "\n".join([claim, f"  for      {case.code}", *rest])
            raise
        except NotImplementedError:
            raise
        except Exception as error:
            error.add_note(CALLED + case.code)
            return error

    def _explain(self, found: list[Outcome]) -> str:
        """The hint for the first mistake that gives what the answer has given, on all inputs so far."""
        dtype = torch.get_default_dtype()
        for hint, outcome in self._wrong:
            if all(self._agrees(one, outcome(i, dtype), self.cases[i].tolerance) for i, one in enumerate(found)):
                return hint
        return ""

    def _agrees(self, found: Outcome, expected: Outcome, tolerance: float) -> bool:
        """Whether two outcomes are the same: numbers, whatever holds them, or errors of one kind."""
        if isinstance(found, Exception) or isinstance(expected, Exception):
            return type(found) is type(expected) and str(found) == str(expected)
        if not self.parts:
            return _is_near(found, expected, tolerance)
        several = isinstance(found, (tuple, list)) and isinstance(expected, (tuple, list))
        pairs = zip(found, expected, strict=True) if several and len(found) == len(expected) else [(None, None)]
        return all(_is_near(one, other, tolerance) for one, other in pairs)

    def _refuse(self, got: Outcome, i: int, hint: str) -> None:
        """Say what is wrong with the result for case i."""
        case, expected = self.cases[i], self._expect(i)
        claim = case.claim or self.claim
        if isinstance(got, Exception):
            if not hint:
                raise got
            raise WrongAnswer("it runs", hint, given=case.code, got=got) from got
        pairs = [(got, expected, claim)]
        if self.parts:
            if not isinstance(got, (tuple, list)) or len(got) != len(self.parts):
                form = f"return {' and '.join(self.parts)}, in a tuple"
                raise WrongAnswer(claim.replace("{}", "it"), hint or form, given=case.code, got=type(got).__name__)
            claim = claim if "{}" in claim else f"{claim}: {{}}"
            pairs = [(*both, claim.replace("{}", part)) for *both, part in zip(got, expected, self.parts, strict=True)]
        hint_used = hint or case.hint or (EDGES[case.edge] if case.edge else self.hint)
        for one, right, claim in pairs:
            wanted = torch.as_tensor(right, dtype=None if isinstance(right, Tensor) else torch.float64)
            tensor = convert_tensor(one, wanted)
            if tensor is not None and tensor.shape != wanted.shape and hint:
                shapes = tuple(wanted.shape), tuple(tensor.shape)
                raise WrongAnswer(claim, hint, given=case.code, expected=shapes[0], got=shapes[1])
            expect_close(one, wanted, claim=claim, given=case.code, hint=hint_used, tolerance=case.tolerance)


def _call(run: Run, given: Given) -> Any:
    torch.manual_seed(0)  # who draws numbers draws the same ones
    return convert_arrays(run(*given.values()))


def _is_near(found: Any, expected: Any, tolerance: float) -> bool:
    wanted = expected if isinstance(expected, Tensor) else convert_tensor(expected)
    if wanted is None:
        return False
    tensor = convert_tensor(found, wanted)
    if tensor is None or tensor.is_meta or tensor.shape != wanted.shape:
        return False
    if tensor.is_complex():
        return bool(tensor.imag.abs().max() <= tolerance) and is_near(tensor.real, wanted, tolerance)
    return is_near(tensor, wanted, tolerance)


def exercise(
    name: str,
    right: Answer,
    cases: Sequence[Case | str],
    mistakes: Mapping[str, Mistake | tuple[Mistake, ...]],
    **rest: Any,
) -> Exercise:
    """Register an exercise; a case may be its line of code alone. What else there is to tell, see `Exercise`."""
    found = Exercise(name, right, tuple(Case(one) if isinstance(one, str) else one for one in cases), mistakes, **rest)
    register(name, found, trained=found.trained, untried=found.describe_untried)
    return found
