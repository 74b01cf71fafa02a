"""Nothing gets out: an answer runs for a limited time, prints a limited text, and leaves Python and torch unchanged."""

import copy
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from time import monotonic
from types import FunctionType
from typing import Any

import numpy as np
import torch

SECONDS = 60.0  # after which an answer is stopped; the slowest right answer takes a few
_AGAIN = 0.1  # an answer that catches everything is stopped again and again
_PRINTED = 4000  # characters that an answer may print


class TooLong(BaseException):
    """An answer has run for too long."""


def _stop(*_: Any) -> None:
    raise TooLong


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the code inside after this many seconds.

    It needs a timer, which Windows lacks, and the main thread, where a notebook's cells run: elsewhere there is no
    limit. A single long call into C, such as the product of two huge matrices, comes to its end first.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    handler, begin = signal.signal(signal.SIGALRM, _stop), monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # somebody else's alarm
            signal.setitimer(signal.ITIMER_REAL, max(left - (monotonic() - begin), 0.001), interval)


@contextmanager
def limit_printing() -> Iterator[None]:
    """Cut what is printed inside, to the output and as an error, after a few thousand characters each."""
    out: Any = _Limited(sys.stdout)
    err: Any = _Limited(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        yield


class _Limited:
    """A stream that passes on so many characters, and no more."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.room = stream, _PRINTED

    def write(self, text: str) -> int:
        """Pass on what there is room for."""
        if self.room > 0:
            self.stream.write(text[: self.room])
            if len(text) > self.room:
                self.stream.write(" ...\n(your answer prints more than is shown)\n")
        self.room -= len(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Pass on what there is room for."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def keep_state() -> Iterator[None]:
    """Begin with fixed random numbers and gradients, and leave everything that is global as it was.

    Kept are the random numbers of torch, NumPy and Python, default dtype and device, the mode of gradients, the number
    of threads, deterministic algorithms, printing options and filters of warnings.
    """
    devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
    states, restore = (random.getstate(), np.random.get_state()), _note_settings()
    with (
        torch.random.fork_rng(devices=devices),
        torch.inference_mode(False),
        torch.set_grad_enabled(True),
        warnings.catch_warnings(),
        np.printoptions(),
    ):
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)  # the same inputs each time: an answer is right or wrong, never by chance
        try:
            yield
        finally:
            restore()
            random.setstate(states[0])
            np.random.set_state(states[1])


def _note_settings() -> Callable[[], None]:
    """A function that puts torch's settings back to what they are now."""
    dtype, device, threads = torch.get_default_dtype(), torch.empty(0).device, torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    options = copy.copy(torch._tensor_str.PRINT_OPTS)

    def restore() -> None:
        torch.set_default_dtype(dtype)
        if torch.empty(0).device != device:  # None rather than "cpu": it costs nothing in each call
            torch.set_default_device(None if device.type == "cpu" else device)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict[0], warn_only=strict[1])
        vars(torch._tensor_str.PRINT_OPTS).update(vars(options))

    return restore


def is_untouched(error: NotImplementedError, answer: Any) -> bool:
    """Whether the starter's own line raised the error: a function, or a method of a class, whose only line it is."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    functions = [answer, *(vars(answer).values() if isinstance(answer, type) else ())]
    for function in functions:
        if isinstance(function, FunctionType) and trace is not None and trace.tb_frame.f_code is function.__code__:
            code = function.__code__
            lines = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
            return len(lines) <= 1 and code.co_names == ("NotImplementedError",)
    return False
