"""All exercises, attacked alike: found by the registry, so that a new one is attacked without a line written for it.

A right answer in another form gets a tick, unless the form loses a gradient that the exercise asks for; one that is
made wrong in a single way gets none; what no exercise asks for is refused in a few lines; an endless loop ends. What a
checker does not see yet stands in KNOWN, with the reason; it fails here as soon as it is seen.
"""

from functools import cache
from typing import Any

import pytest
import torch

from d2lmini_exercises import list_exercises
from d2lmini_exercises.engine import sandbox
from d2lmini_exercises.engine.core import judge
from tests.exercises.answers import RIGHT
from tests.exercises.attacks import (
    FORMS,
    HOSTILE,
    SOFTMAXES,
    UNTRAINED,
    WRONGS,
    Change,
    alter,
    replace_softmax,
    take_example,
)

pytestmark = pytest.mark.recipe("An exercise")

FUNCTIONS = [name for name in list_exercises() if callable(RIGHT[name][0])]
NUMBERS = [name for name in list_exercises() if name not in FUNCTIONS]
_DTYPE = "the exercise asks for the dtype of X"
KNOWN = {
    **{("debug-masked-softmax", kind): _DTYPE for kind in ("float64", "float16", "bfloat16")},
    ("debug-maximum", "float16"): "its states reach -1e30, which is no number in float16",
    ("measure-heads", "bfloat16"): "three digits are asked for, and bfloat16 has two",
    **{("measure-window", kind): "no score is above 0" for kind in ("no maximum", "a limit")},
    ("test-decoder", "arguments"): "each decoder is given once, so that nobody sees what becomes of it",
}


# One engine judges most exercises: what it does to one of a kind it does to all of that kind. The others once a week.
KINDS = {"masked-attention", "debug-reader", "debug-block", "predict-mixture", "learnable-positions", "test-softmax"}


def parametrize(names: list[str], kinds: Any, *, by_kind: bool = False) -> pytest.MarkDecorator:
    """Each exercise with each kind of attack; known gaps are expected to fail, and must."""

    def mark(name: str, kind: str) -> list[pytest.MarkDecorator]:
        known = [pytest.mark.xfail(strict=True, reason=KNOWN[name, kind])] if (name, kind) in KNOWN else []
        return known + [pytest.mark.thorough] * (by_kind and name not in KINDS)

    cases = [pytest.param(name, kind, marks=mark(name, kind)) for name in names for kind in kinds]
    return pytest.mark.parametrize(("name", "kind"), cases)


@cache
def record(name: str) -> tuple[list[Any], bool]:
    """What a right answer returns, call by call, where these are mere numbers; and whether the answer got a tick."""
    results: list[Any] = []

    def keep(result: Any, *_: Any) -> Any:
        results.append(result)
        return result

    out = run(name, alter(RIGHT[name][0], keep, []))
    return results if all(isinstance(result, (int, float, type(None))) for result in results) else [], out[0] == "✓"


def run(name: str, answer: Any) -> str:
    return str(judge(name, answer))


def attack(name: str, change: Change) -> tuple[str, bool]:
    """What is said to the changed answer, and whether anything was changed."""
    changed = False

    def watch(result: Any, args: tuple[Any, ...], call: int) -> Any:
        nonlocal changed
        found = change(result, args, call)
        changed |= found is not result
        return found

    known, right = record(name)
    assert right
    return run(name, alter(RIGHT[name][0], watch, known)), changed


@parametrize(FUNCTIONS, FORMS, by_kind=True)
def test_right_is_right_in_any_form(name: str, kind: str) -> None:
    out, changed = attack(name, FORMS[kind])
    lost = changed and kind in UNTRAINED and name in list_exercises(trained=True)
    assert out.startswith("✗" if lost else "✓"), out


@parametrize(FUNCTIONS, WRONGS, by_kind=True)
def test_wrong_is_wrong(name: str, kind: str) -> None:
    out, changed = attack(name, WRONGS[kind]())
    assert out.startswith("✗") or not changed, out


@parametrize(FUNCTIONS, ("only the first", "only the last"))
def test_one_example_of_a_batch_is_not_enough(name: str, kind: str) -> None:
    answer, sizes = take_example(RIGHT[name][0], 0 if kind == "only the first" else -1)
    out = run(name, answer)
    assert out.startswith("✗") or max(sizes, default=1) == 1, out


@parametrize(list_exercises(), HOSTILE, by_kind=True)
def test_what_is_not_asked_for_is_refused_in_a_few_lines(name: str, kind: str) -> None:
    answer = HOSTILE[kind]
    out = run(name, answer() if name in NUMBERS else lambda *_, **__: answer())
    assert out.startswith("✗") and len(out) < 1500, out


@parametrize(FUNCTIONS, SOFTMAXES)
def test_a_softmax_that_holds_for_mild_scores_alone_is_refused(name: str, kind: str) -> None:
    for right in filter(callable, RIGHT[name]):
        with pytest.MonkeyPatch.context() as patch:
            answer, needed = replace_softmax(right, kind, patch)
            out = run(name, answer)
        assert out.startswith("✗") or not any(needed), out


def loop(*_: Any, **__: Any) -> None:
    while True:
        pass


@parametrize(FUNCTIONS, ["loop"], by_kind=True)
def test_an_endless_loop_ends(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.02)
    assert "and was stopped" in run(name, loop)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_numbers_in_any_form(name: str) -> None:
    answer = RIGHT[name][0]
    numbers = torch.as_tensor(answer, dtype=torch.float64).reshape(-1)
    forms: list[Any] = [numbers, numbers.numpy(), numbers[:, None], numbers[None], iter(numbers), numbers.tolist()]
    forms += [tuple(numbers), dict(enumerate(numbers)).values(), map(float, numbers), [[x] for x in numbers]]
    for form in forms:
        out = run(name, form)
        assert out.startswith("✓"), f"{type(form)} {out}"
