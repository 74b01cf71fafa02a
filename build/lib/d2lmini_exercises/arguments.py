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

from d2lmini_exercises.convert import convert_arrays
from d2lmini_exercises.reports import write_call
from d2lmini_exercises.same import describe_change, is_same


@dataclass(frozen=True)
class Change:
    """An argument that an answer has written into.

    Attributes:
        name: what the student calls it.
        own: the checker's own object.
        now: what became of it.
        given: all arguments of this call, as a report writes them.
    """

    name: str
    own: Any
    now: Any
    given: str

    @property
    def hint(self) -> str:
        """How this kind of argument is changed, and what to do about it."""
        return describe_change(self.own)


_changes: list[Change] = []
_returned: list[tuple[Any, Any]] = []  # what checkers were given in place of an array, and the array
_FAILED = "called with "


@contextmanager
def note_changes() -> Iterator[list[Change]]:
    """Begin a list of the arguments that the watched answer changes."""
    global _changes, _returned  # a checker within a checker has its own
    before = _changes, _returned
    _changes, _returned = [], []
    try:
        yield _changes
    finally:
        _changes, _returned = before


def find_change(own: Any) -> Any:
    """What the answer has made of this argument of the checker; the argument itself if it was left alone."""
    return next((change.now for change in _changes if change.own is own), own)


def find_given(own: Any) -> str:
    """The arguments of the call that changed this one; nothing if it was left alone."""
    return next((change.given for change in _changes if change.own is own), "")


def describe_call(error: BaseException) -> str:
    """The arguments of the watched call that stopped with this error; nothing if it was none."""
    notes = (note for note in getattr(error, "__notes__", []) if str(note).startswith(_FAILED))
    return next(notes, "").removeprefix(_FAILED)


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
        before = {key: _give_back(value) for key, value in own.items()}
        given = {key: _copy(value) for key, value in before.items()}
        modules = {key: _Module(value) for key, value in own.items() if isinstance(value, nn.Module)}
        try:
            found = function(*(given[i] for i in range(len(args))), **{key: given[key] for key in kwargs})
        except BaseException as error:
            _note_call(error, function, before)
            raise
        finally:
            for key, value in before.items():
                if modules[key].restore() if key in modules else not is_same(given[key], value):
                    now = None if key in modules else given[key]
                    _changes.append(Change(_name_argument(function, key), own[key], now, _write(function, before)))
        if isinstance(found, nn.Module):
            found.forward = _watch_call(found.forward)
        return _convert(found)

    return call


def _note_call(error: BaseException, function: Callable[..., Any], arguments: dict[Any, Any]) -> None:
    if not describe_call(error):  # the innermost call
        error.add_note(f"{_FAILED}{_write(function, arguments)}")


def _write(function: Callable[..., Any], arguments: dict[Any, Any]) -> str:
    try:
        for value in arguments.values():
            if isinstance(given := getattr(value, "given", None), str):  # a checker's own model or loss
                return given
        names = (_name_argument(function, key).replace("[", "_").removesuffix("]") for key in arguments)
        return write_call(dict(zip(names, arguments.values(), strict=True)))
    except Exception:  # what an answer has returned comes back as an argument, whatever it is
        return ""


def _convert(found: Any) -> Any:
    """With tensors for arrays; which array each of them was is noted, for an answer that is given it again."""
    converted = convert_arrays(found)
    if type(found) in (tuple, list):
        _returned.extend((now, own) for now, own in zip(converted, found, strict=True) if now is not own)
    return converted


def _give_back(value: Any) -> Any:
    return next((own for now, own in _returned if now is value), value)


def _copy(value: Any) -> Any:
    """A copy of tensors, also in lists and the like; anything else is passed on as it is."""
    if isinstance(value, (Tensor, np.ndarray)):
        return value.clone() if isinstance(value, Tensor) else value.copy()
    if type(value) is dict:
        return {key: _copy(entry) for key, entry in value.items()}
    return type(value)(map(_copy, value)) if type(value) in (list, tuple, set) else value


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
        self.settings = [setting for part, _ in self.modes for setting in self._list_settings(part)]

    @staticmethod
    def _list_settings(part: nn.Module) -> list[tuple[Any, str, bool]]:
        """The order of dimensions, and which parameters learn."""
        layout = [(part, "batch_first", part.batch_first)] if isinstance(part, nn.MultiheadAttention) else []
        return [*layout, *((own, "requires_grad", own.requires_grad) for own in part.parameters(recurse=False))]

    def restore(self) -> bool:
        """Put everything back, and tell whether a number or a setting had changed; the mode alone may."""
        changed = any(getattr(owner, name, None) != value for owner, name, value in self.settings)
        for owner, name, value in self.settings:
            setattr(owner, name, value)
        for part, training in self.modes:
            part.training = training
        for part, name, tensor, before in self.held:
            now = getattr(part, name, None)
            if not isinstance(now, Tensor) or not is_same(now.detach(), before):
                changed = True
                if tensor.dtype != before.dtype:
                    tensor.data = before
                with torch.no_grad():
                    tensor.copy_(before)
                setattr(part, name, tensor)
        return changed


def _name_argument(function: Callable[..., Any], key: int | str) -> str:
    """What the student calls the argument."""
    if isinstance(key, str):
        return key
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # some functions of C have no signature
        return f"number {key + 1}"
    for i, parameter in enumerate(parameters[: key + 1]):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{key - i}]"
    return parameters[key].name if key < len(parameters) else f"number {key + 1}"
