"""Whatever an answer does: `check` reports it in a few lines, in time, and leaves everything as it was."""

import asyncio
import contextlib
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import d2lmini as d2l
from d2lmini_exercises.engine import sandbox
from d2lmini_exercises.engine.core import judge
from d2lmini_exercises.engine.reports import WrongAnswer, shorten
from tests.exercises.attacks import Unwritable


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class UnheardOf(BaseException):
    pass


def check_measurement(answer: Callable[[float, int], Any], capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed about an answer to a quick exercise that asks for a number."""
    d2l.check("measure-window", answer)
    return capsys.readouterr().out


def raises(error: BaseException) -> Callable[..., Any]:
    def answer(*_: Any) -> Any:
        raise error

    return answer


ERRORS = [SilentError(), UnheardOf("oops"), GeneratorExit(), asyncio.CancelledError(), SystemExit(3), RecursionError()]


TICK = "\n✓ measure-window: \r✓ Exercise 11.3, measure-window: \u2028✓\x1b[2K"
NAMED: Any = type(TICK, (Exception,), {"__str__": lambda _: TICK.replace("\n", "")})
NOTED = ValueError("no")
NOTED.__notes__ = [f"called with {TICK}"]
MISNOTED = ValueError("no")
MISNOTED.__notes__ = 3  # type: ignore[assignment]
FALSE: Any = type("False", (WrongAnswer,), {"__bool__": lambda _: False})


@pytest.mark.parametrize(
    "answer", [lambda *_: TICK, lambda *_: NAMED(), *map(raises, (NAMED(), FALSE(TICK, TICK), NOTED, MISNOTED))]
)
def test_what_an_answer_says_is_no_line_of_its_own(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out = check_measurement(answer, capsys)
    first, *lines = out.splitlines()
    assert judge("measure-window", answer).result == "wrong" and first.startswith("✗ Exercise ")
    assert all(line.startswith("  ") and line.isprintable() for line in lines), out


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_is_reported(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"stopped with an error\n  {type(error).__name__}: " in check_measurement(raises(error), capsys)


def test_a_keyboard_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        d2l.check("measure-window", raises(KeyboardInterrupt()))


def test_a_long_message_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(check_measurement(raises(ValueError("a" * 10**6)), capsys)) < 500


def test_a_half_done_answer_is_attempted(capsys: pytest.CaptureFixture[str]) -> None:
    def half_done(length: float, p: int) -> float:
        if p == 8:
            return 1.0
        raise NotImplementedError

    def helped(length: float, p: int) -> float:
        return unwritten()

    def unwritten() -> float:
        raise NotImplementedError

    for answer in (half_done, helped, lambda length, p: torch.empty(2, device="meta").tolist()):
        assert "stopped with an error\n  NotImplementedError: " in check_measurement(answer, capsys)


def test_a_class_is_not_attempted_while_its_method_is_the_starter_s(capsys: pytest.CaptureFixture[str]) -> None:
    class Positions(torch.nn.Module):
        def __init__(self, num_hiddens: int, max_len: int) -> None:
            super().__init__()

        def forward(self, X: torch.Tensor, offset: int = 0) -> torch.Tensor:
            """Add the encodings."""
            raise NotImplementedError

    class NoForward(torch.nn.Module):
        def __init__(self, num_hiddens: int, max_len: int) -> None:
            super().__init__()

    d2l.check("learnable-positions", Positions)
    assert capsys.readouterr().out == "Exercise 5.5, learnable-positions: not attempted yet\n"
    d2l.check("learnable-positions", NoForward)
    assert "NotImplementedError" in capsys.readouterr().out


def loop(*_: Any) -> None:
    while True:
        pass


def loop_and_catch(*_: Any) -> None:
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.001)


def wait(*_: Any) -> None:
    time.sleep(10**6)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
@pytest.mark.parametrize("answer", [loop, loop_and_catch, wait])
def test_an_endless_answer_ends(answer: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.05)
    monkeypatch.setattr(sandbox, "_AGAIN", 0.01)
    handler = signal.getsignal(signal.SIGALRM)
    assert "your answer had not ended after 0.05 seconds, and was stopped" in check_measurement(answer, capsys)
    assert signal.getsignal(signal.SIGALRM) is handler and signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_another_alarm_goes_on() -> None:
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 1000, 500)
    try:
        d2l.check("measure-window", lambda length, p: 1.0)
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 1000 and interval == 500 and signal.getsignal(signal.SIGALRM) == signal.SIG_IGN
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_another_thread_may_check(capsys: pytest.CaptureFixture[str]) -> None:
    thread = threading.Thread(target=d2l.check, args=("predict-mixture", (10, 12, 7)))
    thread.start()
    thread.join()
    assert capsys.readouterr().out.startswith("✓ Exercise 1.1, predict-mixture: ")


def look() -> list[Any]:
    """Everything that an answer must leave as it is."""
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.are_deterministic_algorithms_enabled()
    drawn = torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate()
    shown = str(torch.full((2, 2), 1 / 3)), str(np.full((2, 2), 1 / 3)), warnings.filters[:], sys.stdout, sys.stderr
    return [torch.get_default_dtype(), torch.empty(0).device, torch.get_num_threads(), *modes, *drawn, *shown]


def test_everything_is_left_as_it_was() -> None:
    def meddle(length: float, p: int) -> float:
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_num_threads(3)
        torch.use_deterministic_algorithms(True)
        torch.set_printoptions(precision=1, sci_mode=True)
        np.set_printoptions(precision=1)
        warnings.simplefilter("ignore")
        sys.stdout = sys.stderr = None  # type: ignore[assignment]
        torch.set_default_device("meta")
        return 1.0

    before = look()
    d2l.check("measure-window", meddle)
    assert look() == before


def test_an_answer_by_chance_is_right_or_wrong_for_good(capsys: pytest.CaptureFixture[str]) -> None:
    told = set()
    for seed in range(3):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        told.add(check_measurement(lambda *_: random.random() + np.random.rand() + torch.rand(()).item(), capsys))
    assert len(told) == 1 and "got" in told.pop()


def test_printing_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    def chatter(length: float, p: int) -> float:
        print("a few words", flush=True)
        sys.stdout.writelines(["b" * 1000] * 10)
        for _ in range(1000):
            print("c" * 100)
        return 1.0

    out = check_measurement(chatter, capsys)
    assert out.startswith("a few words\nb") and out.count("prints more than is shown") == 1
    assert len(out) < 4500 and ", measure-window: this does not hold yet" in out


SELF: list[Any] = []
SELF.append(SELF)


@pytest.mark.parametrize(
    ("value", "beginning"),
    [
        (torch.zeros(1).expand(10**12), "[0, 0, 0"),
        (torch.zeros(3, device="meta"), "shape (3,)"),
        ([[1] * 10**6] * 10**6, "[[1, 1"),
        (SELF, "[[[["),
        ("x" * 10**7, "xxx"),
        (dict.fromkeys(range(10**4)), "dict of 10000"),
        (10**10**5, "int"),
        (Unwritable(), "Unwritable"),
        (torch.tensor([1 + 2j]), "[(1+2j)]"),
        (torch.tensor([1.0, 0.1234567]), "[1, 0.1235]"),
        (range(10**9), "range(0, 1000000000)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_cut_before_it_is_written(value: Any, beginning: str) -> None:
    assert shorten(value).startswith(beginning) and len(shorten(value)) < 250
