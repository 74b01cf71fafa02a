"""Whether an answer has written into what it was given."""

from typing import Any

import numpy as np
from torch import Tensor, nn

IN_PLACE = "an operation that ends in _ works in place, and so do += or /= and x[...] = y"
_OF_CONTAINERS = "append, pop, clear, sort, del and x[...] = y change the {kind} itself: work on a copy"
_OF_MODULES = f"{IN_PLACE}. Its dtype, requires_grad and batch_first stay as they are, too"


def describe_change(own: Any) -> str:
    """How this kind of argument is changed, and what to do about it."""
    if isinstance(own, nn.Module):
        return _OF_MODULES
    kind = type(own)
    return _OF_CONTAINERS.format(kind=kind.__name__) if kind in (list, dict, set) else IN_PLACE


def are_equal(now: Any, before: Any) -> bool:  # noqa: PLR0911 (a line for each kind of value)
    """Whether two values are equal, tensors entry by entry; NaN is NaN. Of a module the numbers and settings count."""
    if type(now) is not type(before):
        return False
    if isinstance(before, Tensor):
        kind = (before.shape, before.dtype, before.requires_grad)
        same = (now.shape, now.dtype, now.requires_grad) == kind
        return same and bool(((now == before) | (now.isnan() & before.isnan())).all())
    if isinstance(before, nn.Module):
        return are_equal(_hold(now), _hold(before))
    if isinstance(before, dict):
        return [*now] == [*before] and all(are_equal(now[key], entry) for key, entry in before.items())
    if isinstance(before, (list, tuple)):
        return len(now) == len(before) and all(map(are_equal, now, before))
    if "__eq__" not in vars(type(before)) and hasattr(before, "__dict__"):  # a copy of an object of our own
        return now is before or are_equal(vars(now), vars(before))
    return bool(np.all(now == before))


def _hold(module: nn.Module) -> dict[str, Any]:
    """The tensors of a module, in parameters, buffers and elsewhere, and the order of its dimensions."""
    return {
        f"{place}.{name}": value
        for place, part in module.named_modules()
        for name, value in [*vars(part).items(), *part._parameters.items(), *part._buffers.items()]
        if isinstance(value, Tensor) or name == "batch_first"
    }
