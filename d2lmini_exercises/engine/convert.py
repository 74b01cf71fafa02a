"""Right is right, however it is written: an answer as a tensor or as numbers, whatever holds them."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from d2lmini_exercises.engine.reports import WrongForm, shorten

_HUGE = 10**7
_MANY = 10**4
_NO_SEQUENCE = (str, bytes, dict, set, frozenset)  # text, and what has no order


def convert_arrays(found: Any) -> Any:
    """What an answer returned, with tensors in place of NumPy's arrays, also in a tuple or a list."""
    if isinstance(found, np.ndarray):
        return _convert_array(found)
    if type(found) in (tuple, list) and any(isinstance(part, np.ndarray) for part in found):
        return type(found)(convert_arrays(part) if isinstance(part, np.ndarray) else part for part in found)
    return found


def convert_tensor(found: Any, expected: Tensor | None = None) -> Tensor | None:
    """The tensor that an answer means: from a tensor, an array, a number, or anything with an order of numbers.

    A column or a row counts as the sequence that is expected, and one entry as a number. No more is read than it takes
    to see that it is too much. `None` if these are no numbers.
    """
    try:
        tensor = _gather(found, _MANY if expected is None else expected.numel())
    except (TypeError, ValueError, RuntimeError, RecursionError, OverflowError):
        return None
    if expected is None:
        return tensor
    sides = sorted(tensor.shape)
    if (expected.dim() == 1 and tensor.dim() == 2 and sides[0] == 1) or expected.dim() == 0:
        return tensor.reshape(expected.shape) if tensor.numel() == expected.numel() else tensor
    return tensor


def _gather(found: Any, count: int) -> Tensor:
    if isinstance(found, Tensor):
        with torch._C.DisableTorchFunctionSubclass():  # a subclass would answer our comparisons itself
            dense = found if found.layout == torch.strided else Tensor.to_dense(found)
            return Tensor.as_subclass(dense, Tensor)  # without what was set on the answer, such as a `detach`
    if isinstance(found, np.ndarray) and isinstance(array := _convert_array(found), Tensor):
        return array
    if isinstance(found, _NO_SEQUENCE):
        raise TypeError
    if not isinstance(found, Iterable):
        return torch.tensor(found if isinstance(found, complex) else float(found), dtype=_get_dtype(found))
    entries = [_gather(entry, count) for entry in islice(found, count + 1)]
    return torch.stack(entries) if entries else torch.empty(0)


def _convert_array(array: np.ndarray[Any, Any]) -> Any:
    if array.size > _HUGE:  # perhaps only a view of one number: its shape is enough
        return torch.empty(array.shape, device="meta")
    return torch.from_numpy(np.array(array)) if array.dtype.kind in "biufc" else array


def _get_dtype(number: Any) -> torch.dtype:
    if isinstance(number, np.floating):
        return torch.from_numpy(np.array(number)).dtype
    return torch.complex128 if isinstance(number, complex) else torch.float64


def read_numbers(answer: Any, count: int) -> list[float]:
    """The `count` numbers of a prediction, in whatever holds them in order.

    Raises:
        WrongForm: if there are more or fewer, or they are not numbers.
    """
    found = convert_tensor(answer, torch.empty(count))
    if found is not None and found.dim() == 0:
        found = found[None]
    if found is None or found.shape != (count,) or found.is_complex() or found.is_meta:
        hint = "one number, without quotes or brackets" if count == 1 else "look at the starter's form"
        raise WrongForm(f"the answer is {count} number(s)", hint, got=shorten(answer))
    return [float(number) for number in found.tolist()]


def read_number(answer: Any, *, given: str = "") -> float:
    """The one number that a measurement returned; `given` is the tiny input that it was for.

    Raises:
        WrongForm: if it returned something else.
    """
    try:
        if isinstance(answer, _NO_SEQUENCE):
            raise TypeError
        return float(answer.detach() if isinstance(answer, Tensor) else answer)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        hint = "return a float, or a tensor of one entry"
        if type(answer).__module__ == "torch.return_types":
            hint += "; max(dim=...) and median(dim=...) give a pair of tensors"
        raise WrongForm("it returns one number", hint, given=given, got=type(answer).__name__) from error


def get_rounding(found: Any) -> float:
    """By how much, relatively, a right number may be off in its own precision: four of its smallest steps."""
    if isinstance(found, Tensor) and found.is_floating_point():
        return 4 * torch.finfo(found.dtype).eps
    return 4 * float(np.finfo(found.dtype).eps) if isinstance(found, np.floating) else 0.0
