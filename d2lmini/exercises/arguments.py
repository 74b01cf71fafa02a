"""Arguments belong to the checker: an answer works on copies, and what it does to them is noted."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from d2lmini.exercises.convert import convert_arrays

IN_PLACE = "an operation that ends in _ works in place, and so do /= and x[...] = y"


@dataclass(frozen=True)
class Change:
    """An argument that an answer has written into: its name, the checker's own object, and what became of it."""

    name: str
    own: Any
    now: Any


_changes: list[Change] = []


@contextmanager
def note_changes() -> Iterator[list[Change]]:
    """Begin a list of the arguments that the watched answer changes."""
    global _changes  # noqa: PLW0603 - a checker within a checker has its own
    before, _changes = _changes, []
    try:
        yield _changes
    finally:
        _changes = before


def find_change(own: Any) -> Any:
    """What the answer has made of this argument of the checker; the argument itself if it was left alone."""
    return next((change.now for change in _changes if change.own is own), own)


def watch(answer: Any) -> Any:
    """The answer, called with copies of its arguments; the modules that it makes are watched as well."""
    if isinstance(answer, nn.Module):
        module = copy.copy(answer)  # the student's own keeps its forward
        module.forward = _watch_call(answer.forward)
        return module
    return _watch_call(answer) if callable(answer) else answer


def _watch_call(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        own: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        given = {key: _copy(value) for key, value in own.items()}
        modules = {key: _Module(value) for key, value in own.items() if isinstance(value, nn.Module)}
        try:
            found = function(*(given[i] for i in range(len(args))), **{key: given[key] for key in kwargs})
        finally:
            for key, value in own.items():
                if modules[key].restore() if key in modules else not is_same(given[key], value):
                    now = None if key in modules else given[key]
                    _changes.append(Change(_name_argument(function, key), value, now))
        if isinstance(found, nn.Module):
            found.forward = _watch_call(found.forward)
        return convert_arrays(found)

    return call


def _copy(value: Any) -> Any:
    """A copy of tensors, also in lists and the like; anything else is passed on as it is."""
    if isinstance(value, (Tensor, np.ndarray)):
        return value.clone() if isinstance(value, Tensor) else value.copy()
    if type(value) is dict:
        return {key: _copy(entry) for key, entry in value.items()}
    return type(value)(map(_copy, value)) if type(value) in (list, tuple, set) else value


def is_same(now: Any, before: Any) -> bool:
    """Whether two values are equal, tensors entry by entry; NaN is NaN."""
    if isinstance(before, Tensor):
        if now.shape != before.shape or now.dtype != before.dtype:
            return False
        return bool(((now == before) | (now.isnan() & before.isnan())).all())
    if isinstance(before, np.ndarray):
        return np.array_equal(now, before)
    if type(before) is dict:
        return [*now] == [*before] and all(is_same(now[key], entry) for key, entry in before.items())
    if type(before) in (list, tuple):
        return len(now) == len(before) and all(map(is_same, now, before))
    return now is before or bool(now == before)


class _Module:
    """What a module holds, to be put back after an answer has used it."""

    def __init__(self, module: nn.Module) -> None:
        self.modes = [(part, part.training) for part in module.modules()]
        self.held = [
            (part, name, tensor, tensor.detach().clone())
            for part, _ in self.modes
            for name, tensor in [*part.__dict__.items(), *part._parameters.items(), *part._buffers.items()]
            if isinstance(tensor, Tensor)
        ]

    def restore(self) -> bool:
        """Put everything back, and tell whether a number had changed; the mode alone may."""
        changed = False
        for part, training in self.modes:
            part.training = training
        for part, name, tensor, before in self.held:
            now = getattr(part, name, None)
            if not isinstance(now, Tensor) or not is_same(now.detach(), before):
                changed = True
                with torch.no_grad():
                    tensor.copy_(before)
                setattr(part, name, tensor)
        return changed


def _name_argument(function: Callable[..., Any], key: int | str) -> str:
    """What the student calls the argument."""
    try:
        names = [*inspect.signature(function).parameters]
    except (TypeError, ValueError):  # some functions of C have no signature
        names = []
    if isinstance(key, int):
        return names[min(key, len(names) - 1)] if names else f"number {key + 1}"
    return key
