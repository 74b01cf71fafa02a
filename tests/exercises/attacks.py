"""What an answer can be turned into: the same answer in another form, or one that is wrong in a single way."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

Change = Callable[[Any, tuple[Any, ...], int], Any]  # what was returned, for which arguments, in which call


def alter(answer: Callable[..., Any], change: Change, known: list[Any]) -> Callable[..., Any]:
    """The answer, with every result changed; the first results are known already where they are mere numbers."""
    calls = 0

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        result = known[calls] if calls < len(known) else function(*args, **kwargs)
        if isinstance(result, nn.Module):
            forward = result.forward
            result.forward = lambda *args, **kwargs: call(forward, *args, **kwargs)  # type: ignore[method-assign]
            return result
        calls += 1
        return change(result, (*args, *kwargs.values()), calls - 1)

    return lambda *args, **kwargs: call(answer, *args, **kwargs)


def each(result: Any, change: Callable[[Tensor], Any]) -> Any:
    """Change each tensor and each number of a result; anything else stays."""
    parts = result if type(result) in (tuple, list) else [result]
    if all(type(part) in (int, float) for part in parts):
        parts = [torch.tensor(part, dtype=torch.float64) for part in parts]
    if not parts or not all(isinstance(part, Tensor) for part in parts):
        return result
    changed = [change(part) for part in parts]
    if all(now is before for now, before in zip(changed, parts, strict=True)):
        return result  # itself: nothing was changed
    return type(result)(changed) if type(result) in (tuple, list) else changed[0]


def only_floats(change: Callable[[Tensor], Any]) -> Change:
    return lambda result, *_: each(result, lambda part: change(part) if part.is_floating_point() else part)


def to_numpy(part: Tensor) -> Any:
    return part.detach().numpy()


# The same numbers: each gets a tick.
FORMS: dict[str, Change] = {
    "float64": only_floats(Tensor.double),
    "float16": only_floats(lambda part: part.half()),
    "bfloat16": only_floats(lambda part: part.bfloat16()),
    "numpy": lambda result, *_: each(result, to_numpy),
    "list": lambda result, *_: result.tolist() if isinstance(result, Tensor) else result,
    "generator": lambda result, *_: iter(result) if isinstance(result, Tensor) and result.dim() else result,
    "column": lambda result, *_: result[:, None] if isinstance(result, Tensor) and result.dim() == 1 else result,
    "row": lambda result, *_: result[None] if isinstance(result, Tensor) and result.dim() == 1 else result,
    "gradient": only_floats(lambda part: part.detach().clone().requires_grad_()),
}
# Of these, the forms that have lost their gradient.
UNTRAINED = {"numpy", "list", "generator", "gradient"}


def move_entry(where: int) -> Change:
    """One entry is off by a tenth of the largest, or by one: the first, a middle or the last one."""

    def move(part: Tensor) -> Tensor:
        if not part.numel():
            return part
        moved = part.detach().clone().reshape(-1)
        sizes = moved[moved.isfinite()].abs() if moved.is_floating_point() else moved[:0]
        by = max(0.1, sizes.max().item() / 10) if sizes.numel() else 1
        moved[(0, moved.numel() // 2, -1)[where]] += by if moved.is_floating_point() else 1
        return moved.reshape(part.shape)

    return lambda result, *_: each(result, move)


def spoil_last(part: Tensor) -> Tensor:
    spoiled = part.detach().clone().reshape(-1)
    if part.numel():
        spoiled[-1] = torch.nan
    return spoiled.reshape(part.shape) if part.numel() else part


def keep_example(where: int) -> Change:
    """Only one example of a batch is right, the others are that one again."""

    def keep(part: Tensor) -> Tensor:
        kept = part[[where]].expand(part.shape).clone() if part.dim() > 1 and len(part) else part
        return part if torch.equal(kept, part) else kept

    return lambda result, *_: each(result, keep)


def measure_sizes(args: tuple[Any, ...]) -> list[Any]:
    return [
        tuple(arg.shape) if isinstance(arg, Tensor) else len(arg) if isinstance(arg, (list, dict)) else arg
        for arg in args
        if isinstance(arg, (Tensor, list, dict, int, float))
    ]


def only_first_sizes() -> Change:
    """Right for all that has the sizes of the first call, as if they were written into the answer; else one more."""
    first: list[Any] = []

    def change(result: Any, args: tuple[Any, ...], call: int) -> Any:
        first[:] = [measure_sizes(args)] if call == 0 else first
        return result if measure_sizes(args) == first[0] else each(result, lambda part: part + 1)

    return change


def keep_one() -> Change:
    """The first result, whatever is asked for."""
    first: list[Any] = []

    def change(result: Any, args: tuple[Any, ...], call: int) -> Any:
        first[:] = [result] if call == 0 else first
        return result if str(result) == str(first[0]) else first[0]

    return change


def take_example(answer: Callable[..., Any], where: int) -> tuple[Callable[..., Any], list[int]]:
    """An answer that looks at a single example of each batch, and how many examples there were in each call."""
    sizes: list[int] = []

    def take(*args: Any, **kwargs: Any) -> Any:
        batches = [arg for arg in args if isinstance(arg, Tensor) and arg.dim() > 2]
        size = len(batches[0]) if batches else 1
        sizes.append(size)
        chosen = [where % size]
        of_batch = [isinstance(arg, Tensor) and arg.dim() > 0 and len(arg) == size > 1 for arg in args]
        return answer(*(arg[chosen] if own else arg for arg, own in zip(args, of_batch, strict=True)), **kwargs)

    return take, sizes


def write_into(result: Any, args: tuple[Any, ...], call: int) -> Any:
    """Right, and then the arguments are written into."""
    if not any(isinstance(arg, (Tensor, list, nn.Module)) for arg in args):
        return result
    result = each(result, Tensor.clone)
    for arg in args:
        if isinstance(arg, Tensor):
            arg.data = arg.detach().logical_not() if arg.dtype == torch.bool else arg.detach() + 1
        elif isinstance(arg, list):
            arg.clear()
        elif isinstance(arg, nn.Module):
            for parameter in arg.parameters():
                parameter.data.add_(1)
    return result


# Wrong in one way: none gets a tick.
WRONGS: dict[str, Callable[[], Change]] = {
    "first entry": lambda: move_entry(0),
    "middle entry": lambda: move_entry(1),
    "last entry": lambda: move_entry(2),
    "NaN": lambda: only_floats(spoil_last),
    "complex": lambda: only_floats(lambda part: part + 7j),
    "first example": lambda: keep_example(0),
    "last example": lambda: keep_example(-1),
    "first sizes": only_first_sizes,
    "first result": keep_one,
    "arguments": lambda: write_into,
    "agreeable": lambda: agree,
    "agreeable when detached": lambda: lambda result, *_: each(result, detach_agreeably),
}


class Unwritable:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def count_up() -> Iterator[float]:
    number = 0.0
    while True:
        yield number
        number += 1


def nest() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return nested


class Agreeable:
    """Equal to everything."""

    def __eq__(self, _: object) -> bool:
        return True

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


class AgreeableText(Agreeable, str):
    pass


class AgreeableTensor(Tensor):
    """Near to everything: it answers each comparison itself."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", "")
        if name in ("isclose", "allclose", "equal", "eq", "__eq__", "le", "__le__"):
            return torch.ones((), dtype=torch.bool)
        return super().__torch_function__(function, types, args, kwargs or {})


def agree(result: Any, *_: Any) -> Any:
    """Other numbers, in a tensor that is near to everything."""
    return each(result, lambda part: (part.detach() + 1.0).as_subclass(AgreeableTensor) if part.numel() else part)


def detach_agreeably(part: Tensor) -> Tensor:
    """Other numbers, in a plain tensor that becomes near to everything where it is detached."""
    other = part.detach() + 1.0
    other.detach = lambda: torch.zeros(other.shape).as_subclass(AgreeableTensor)  # type: ignore[method-assign]
    return other if part.numel() else part


# What no exercise asks for.
HOSTILE: dict[str, Callable[[], Any]] = {
    "infinite generator": count_up,
    "pair of infinite generators": lambda: (count_up(), count_up()),
    "list within itself": nest,
    "huge view": lambda: torch.zeros(1).expand(10**12),
    "huge list": lambda: [0.5] * 10**6,
    "huge array": lambda: np.broadcast_to(np.zeros(1), (10**9,)),
    "huge number": lambda: 10 ** (10**5),
    "no text": Unwritable,
    "meta": lambda: torch.zeros(3, device="meta"),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "empty": lambda: torch.empty(0),
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "complex": lambda: 1j,
    "objects": lambda: np.array([Unwritable(), None]),
    "text": lambda: "7",
    "dict": lambda: {"a": 1.0},
    "agreeable": Agreeable,
    "agreeable text": lambda: AgreeableText("7"),
    "agreeable tensor": lambda: torch.tensor([0.4321] * 3).as_subclass(AgreeableTensor),
}


def softmax_with(prepare: Callable[[Tensor, int], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """A softmax that prepares its scores in another way than by each row's own maximum."""

    def softmax(scores: Tensor, dim: int) -> Tensor:
        powers = prepare(scores, dim).exp()
        return powers / powers.sum(dim, keepdim=True)

    return softmax


# What people write who have understood the formula and not the overflow, or the mask: right where scores are mild.
SOFTMAXES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "no maximum": softmax_with(lambda scores, _: scores),
    "one maximum for all rows": softmax_with(lambda scores, _: scores - scores.max()),
    "one maximum for a matrix": softmax_with(
        lambda scores, _: scores - (scores.amax((-2, -1), keepdim=True) if scores.dim() > 1 else scores.max())
    ),
    "a limit": softmax_with(lambda scores, _: scores.clamp(-80, 80)),
    "a finite penalty": lambda scores, dim: scores.masked_fill(scores == -torch.inf, -1e9).softmax(dim),
}


def replace_softmax(answer: Callable[..., Any], kind: str, patch: pytest.MonkeyPatch) -> tuple[Any, list[bool]]:
    """The answer with another softmax, and for each call of it whether it must show: where rows or a mask need more."""
    other, needed = SOFTMAXES[kind], list[bool]()

    def softmax(scores: Tensor, dim: int | None = -1, *_: Any, **__: Any) -> Tensor:
        dim = -1 if dim is None else dim
        rows = scores.numel() // scores.shape[dim]
        rows = rows if kind != "one maximum for a matrix" or scores.dim() < 2 else scores.shape[-2]
        masked = bool((scores == -torch.inf).any())
        needed.append(masked if kind == "a finite penalty" else rows > 1 or not kind.startswith("one"))
        patch.undo()  # what `other` calls is PyTorch's own
        found = other(scores, dim)
        enter()
        return found

    def enter() -> None:
        for place, name in ((F, "softmax"), (torch, "softmax"), (Tensor, "softmax")):
            patch.setattr(place, name, softmax)

    def changed(*args: Any, **kwargs: Any) -> Any:
        enter()
        try:
            return answer(*args, **kwargs)
        finally:
            patch.undo()

    return changed, needed
