"""An answer works on copies of its arguments, and what it does to them is seen, whatever holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from d2lmini_exercises.arguments import describe_call, find_change, note_changes, watch
from d2lmini_exercises.convert import convert_tensor
from d2lmini_exercises.core import WrongAnswer, expect_close, expect_unchanged, is_near
from d2lmini_exercises.inputs import draw_inputs


def write(value: Any) -> None:
    """Change a value in the way that its type has for it."""
    if isinstance(value, nn.Module):
        value.table = torch.ones(2)
    elif isinstance(value, list):
        value.append(7)
    elif isinstance(value, dict):
        value["a"] = 7
    elif isinstance(value, set):
        value.add(7)
    else:
        value[0] = 7


class Table(nn.Module):
    """A module with a parameter, a buffer, and a tensor that is neither."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.table = nn.Parameter(torch.zeros(2)), torch.zeros(2)
        self.register_buffer("mean", torch.zeros(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2),
        lambda: np.zeros(2),
        lambda: [1, 2],
        lambda: {"a": 1},
        lambda: {1, 2},
        Table,
    ],
    ids=["tensor", "array", "list", "dict", "set", "module"],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_change_is_noted_and_undone(make: Callable[[], Any], by_name: bool) -> None:
    own, other = make(), make()
    with note_changes() as changes:
        watched = watch(lambda given, again: write(again))
        watched(other, again=own) if by_name else watched(other, own)
        assert [change.name for change in changes] == ["again"] and changes[0].own is own
        assert find_change(other) is other and find_change(own) is not own
    for value in (own, other):
        assert str(value) == str(make()) and str(getattr(value, "table", 0)) == str(getattr(make(), "table", 0))


@pytest.mark.parametrize("part", ["weight", "mean", "table"])
def test_a_module_is_put_back(part: str) -> None:
    module = Table().eval()

    def train(module: Any) -> None:
        module.train()
        with torch.no_grad():
            getattr(module, part).add_(1)

    with note_changes() as changes:
        watch(train)(module)
    assert len(changes) == 1 and not module.training and not getattr(module, part).any()


def test_an_array_comes_back_as_it_was_returned() -> None:
    with note_changes() as changes:
        watched = watch(lambda given: (given, np.ones(2)))
        _, own = watched(None)
        assert isinstance(own, Tensor) and isinstance(watched(own)[0], Tensor)
        kinds: list[type] = []
        watch(lambda given: kinds.append(type(given)))(own)
        watch(lambda given: given.fill(0))(own)
    assert kinds == [np.ndarray] and len(changes) == 1 and changes[0].own is own and own.tolist() == [1, 1]


def test_an_error_tells_for_which_arguments() -> None:
    (X,), draw = draw_inputs(3, X=(7, 8))

    def answer(X: Tensor, size: int, *rest: Any) -> None:
        raise KeyError

    with note_changes(), pytest.raises(KeyError) as caught:
        watch(answer)(X, 2, torch.tensor([True]), torch.zeros(99), [1, "a"], print)
    shown = describe_call(caught.value)
    assert shown == f"{draw}; size = 2; rest_0 = torch.tensor([True]); rest_1 of shape (99,); rest_2 = [1, 'a']"


@pytest.mark.parametrize(("make", "hint"), [(lambda: [1, 2], "list itself"), (lambda: torch.ones(2), "ends in _")])
def test_a_change_has_the_hint_for_its_kind(make: Callable[[], Any], hint: str) -> None:
    with note_changes() as changes:
        watch(write)(make())
    assert hint in changes[0].hint and changes[0].given.startswith("value = ")


class Unwritable:
    @property
    def given(self) -> str:
        raise RuntimeError("no text")


def test_an_argument_that_cannot_be_written_hides_no_error() -> None:
    with note_changes(), pytest.raises(ZeroDivisionError) as raised:
        watch(lambda x: 1 / 0)(Unwritable())
    assert not describe_call(raised.value)


def test_of_two_calls_the_inner_one_is_told() -> None:
    inner = watch(lambda x: 1 / 0)
    with note_changes(), pytest.raises(ZeroDivisionError) as raised:
        watch(lambda y: inner(y + 1))(torch.tensor([1.0]))
    assert "x = " in describe_call(raised.value) and "y = " not in describe_call(raised.value)


def test_another_shape_is_a_change() -> None:
    own = torch.zeros(2)
    with note_changes() as changes:
        watch(lambda given: given.unsqueeze_(0))(own)
    assert changes[0].now.shape == (1, 2) and own.shape == (2,)


def test_reading_is_no_change() -> None:
    nothing = torch.tensor([torch.nan, 1.0])
    with note_changes() as changes:
        watch(lambda *arguments: str(arguments))(nothing, [nothing, (1, "a")], {"a": nothing}, np.ones(2), Table())
    assert not changes


def test_a_gradient_reaches_the_argument() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with note_changes():
        watch(torch.square)(leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2, 2]


def test_a_module_that_is_made_is_watched() -> None:
    class Adding(nn.Module):
        def forward(self, X: Tensor) -> Tensor:
            return X.add_(1)

    X = torch.zeros(2)
    for make in (watch(Adding), lambda: watch(Adding())):
        with note_changes() as changes:
            assert make()(X).tolist() == [1, 1]
        assert X.tolist() == [0, 0] and changes[0].name == "X"


def test_a_function_without_a_signature_has_numbered_arguments() -> None:
    with note_changes() as changes:
        watch(torch.Tensor.zero_)(torch.ones(2))
    assert changes[0].name == "number 1"


def test_the_checker_s_own_hint_comes_first() -> None:
    own = torch.zeros(2)
    with note_changes(), pytest.raises(WrongAnswer, match="the argument P is left unchanged"):
        watch(torch.Tensor.zero_)(torch.zeros(2))  # nothing to see
        watch(torch.Tensor.exp_)(own)
        expect_unchanged("P", own, torch.zeros(2))


def count() -> Iterator[int]:
    yield from (1, 2, 3)


@pytest.mark.parametrize(
    "found",
    [
        [1, 2, 3],
        (1.0, torch.tensor(2.0), np.float32(3)),
        np.array([1, 2, 3], dtype=np.int8),
        count(),
        {"a": 1, "b": 2, "c": 3}.values(),
        [[1], [2], [3]],
        torch.tensor([[1, 2, 3]]),
        [Fraction(1), True + 1, 3],
        torch.tensor([1.0, 2, 3]).to_sparse(),
        torch.tensor([1 + 0j, 2, 3]),
    ],
    ids=lambda found: type(found).__name__,
)
def test_numbers_are_read_from_anything_with_an_order(found: Any) -> None:
    assert expect_close(found, torch.tensor([1.0, 2, 3]), claim="", given="", hint="").tolist() == [1, 2, 3]


@pytest.mark.parametrize("found", ["123", {1, 2, 3}, {1: 1, 2: 2, 3: 3}, [1, "2", 3], None, np.array(["1", "2", "3"])])
def test_what_has_no_order_or_no_numbers_is_refused(found: Any) -> None:
    assert convert_tensor(found, torch.zeros(3)) is None


def test_a_matrix_keeps_its_shape() -> None:
    found = convert_tensor(torch.zeros(3), torch.zeros(1, 3))
    assert found is not None and found.shape == (3,)


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [
        (torch.float16, 2e-3, 1e-2),
        (torch.bfloat16, 2e-2, 8e-2),
        (torch.float32, 9e-5, 2e-4),
        (torch.float64, 9e-5, 2e-4),
    ],
)
def test_tolerances_follow_the_dtype(dtype: torch.dtype, near: float, far: float) -> None:
    one = torch.ones(3, dtype=torch.float64)
    assert is_near((one + near).to(dtype), one, 1e-4)
    assert not is_near((one + far).to(dtype), one, 1e-4)


def test_an_imaginary_part_is_seen() -> None:
    with pytest.raises(WrongAnswer) as wrong:
        expect_close(torch.tensor([1 + 7j]), torch.tensor([1.0]), claim="", given="", hint="")
    assert "where does the imaginary part come from?" in wrong.value.hint
