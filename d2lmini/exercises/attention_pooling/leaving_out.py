"""What a query would read without one of its keys."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.arguments import IN_PLACE
from d2lmini.exercises.core import Mistakes, checker, expect_close, expect_function, expect_unchanged
from d2lmini.exercises.extremes import FAR, LOW, OVERFLOW
from d2lmini.exercises.inputs import draw_inputs

_EMPTY = "is a query left without any key? Its softmax is 0/0, and so is the formula where αj is 1: return 0 there"
_SHARE = (
    "what is left for the other keys after the softmax? Hide key j before it; a finite penalty can be outweighed. "
    "Or are large scores cut off?"
)


@checker("masked-pooling")
def check_masked_pooling(leave_out: Any) -> str:
    """`leave_out(queries, keys, values, mask)`: for each query and each key the output without this key."""
    expect_function(leave_out)
    inputs, given = draw_inputs(3, queries=(2, 9), keys=(6, 9), values=(6, 3))
    arguments = [*inputs, torch.ones(2, 6).bool()]
    expect_close(
        _call(leave_out, arguments),
        _leave_out(*arguments),
        claim="entry [i, j] is softmax(QKᵀ/√d) V for query i without key j",
        given=f"{given}; mask = torch.ones(2, 6).bool()",
        hint="take one query and one key: compute scores, scale, weights and mixture one by one and print each",
        mistakes=_list_wrong_mixtures(*arguments),
    )
    _expect_masked(leave_out)
    _expect_shares(leave_out)
    _expect_extreme_scores(leave_out)
    return "right for several sizes, with masks, very high and very low scores, and queries left without a key"


def _call(leave_out: Any, arguments: list[Tensor]) -> Any:
    """What the answer returns; a changed argument is told first, since all that comes of it may be wrong."""
    found = leave_out(*arguments)
    for name, argument in zip(("queries", "keys", "values", "mask"), arguments, strict=True):
        expect_unchanged(name, argument, argument, IN_PLACE)
    return found


def _leave_out(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    divisor: float | None = None,
    dim: int = 2,
    hidden: float = -math.inf,
    empty: float = 0.0,
    outside: Tensor | None = None,
) -> Tensor:
    """The outputs, right unless told otherwise; `outside` are the keys that each entry hides, in place of key j."""
    m = len(keys)
    scores = queries @ keys.T / (math.sqrt(queries.shape[1]) if divisor is None else divisor)
    others = mask[:, None] & ~(torch.eye(m).bool() if outside is None else outside)  # (n, m, m)
    weights = F.softmax(scores[:, None].expand(-1, m, -1).masked_fill(~others, hidden), dim).nan_to_num()
    return (weights @ values).where(others.any(2, keepdim=True), empty)


def _list_wrong_mixtures(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Mistakes:
    """What well-known mistakes give where nothing is masked, by hint."""
    (n, d), m = queries.shape, len(keys)
    given = [queries, keys, values, mask]
    nobody, scores = torch.zeros(m, m).bool(), queries @ keys.T / math.sqrt(d)
    weights = F.softmax(scores, 1)  # (n, m)
    others = (~torch.eye(m).bool()).float()
    return {
        "is key j hidden? Your outputs are the same for each j": _leave_out(*given, outside=nobody),
        "you keep key j alone: it is the one to hide": values.expand(n, m, -1),
        "the others' weights now add up to less than 1: what is hidden has to be hidden before the softmax": (
            weights[:, None] * others @ values
        ),
        "e⁰ is 1: a score of 0 still gets a weight": _leave_out(*given, hidden=0.0),
        "what must one query's weights add up to? Here each key's do": _leave_out(*given, dim=1),
        "in your softmax the queries compete with each other: along which dimension are the keys?": (
            _leave_out(*given, dim=0)
        ),
        "0 throughout: does your mask hide every key (True means may attend), or do you write into a copy?": (
            torch.zeros(n, m, values.shape[1])
        ),
        "NaN: along which dimension does the softmax go? Or do you multiply 0 by infinity?": torch.full(
            (n, m, values.shape[1]), math.nan
        ),
        "what is the spread of a sum of d products? You divide by d": _leave_out(*given, divisor=d),
        "what is the spread of a sum of d products? You count the keys": _leave_out(*given, divisor=math.sqrt(m)),
        "what is the spread of a sum of d products? You count the keys that are left": (
            _leave_out(*given, divisor=math.sqrt(m - 1))
        ),
        "the scores are not scaled": _leave_out(*given, divisor=1.0),
        "the scale divides: you multiply by √d": _leave_out(*given, divisor=d**-0.5),
        "scores are not yet weights: where is the softmax?": scores[:, None] * others @ values,
        "that is the part of key j, not what the others say": (weights[:, :, None] * values),
        "that is by how much key j moves the output: return the output itself": (
            _leave_out(*given, outside=nobody) - _leave_out(*given),
            _leave_out(*given) - _leave_out(*given, outside=nobody),
        ),
    }


def _expect_masked(leave_out: Any) -> None:
    """Other sizes, a mask, and queries that are left with one key or none."""
    inputs, given = draw_inputs(8, queries=(3, 5), keys=(7, 5), values=(7, 2))
    mask = torch.tensor([[1, 0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 1, 0]]).bool()
    arguments = [*inputs, mask]
    nothing = torch.zeros_like(mask)
    expect_close(
        _call(leave_out, arguments),
        _leave_out(*arguments),
        claim="a masked key has no influence, whichever key is left out",
        given=f"{given}; mask = torch.tensor({mask.int().tolist()}).bool()",
        hint="does a number in your code stand for a size of the first example? Then look at one row of the mask",
        mistakes={
            "the mask is not used": _leave_out(*[*inputs, ~nothing]),
            "True means may attend: your mask works the other way round": (
                _leave_out(*[*inputs, ~mask]),
                _leave_out(*[*inputs, ~mask], empty=math.nan),
            ),
            "each query has a row of the mask to itself: you use one row for all of them": tuple(
                _leave_out(*[*inputs, mask[i].expand(3, -1)]) for i in range(3)
            ),
            "a key that is masked anyway: without it the output stays as it is, it does not become 0": (
                _leave_out(*arguments) * mask[:, :, None]
            ),
        },
    )
    _expect_empty(leave_out, inputs, given)


def _expect_empty(leave_out: Any, inputs: list[Tensor], given: str) -> None:
    few = torch.tensor([[0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1, 0]]).bool()
    arguments = [*inputs, few]
    expect_close(
        _call(leave_out, arguments),
        _leave_out(*arguments),
        claim="a query that is left without any key returns 0",
        given=f"{given}; mask = torch.tensor({few.int().tolist()}).bool()",
        hint="which pairs of query and key leave nothing to see? Which leave a single key?",
        mistakes={
            _EMPTY: (  # everywhere, or, by the formula, only where a single key is left out
                _leave_out(*arguments, empty=math.nan),
                _leave_out(*arguments).masked_fill((few & (few.sum(1, keepdim=True) == 1))[:, :, None], math.nan),
            ),
            "who sees nothing reads nothing: your query reads the mean of all values": (
                _leave_out(*[*inputs, few], hidden=-1e30, empty=math.nan).where(
                    (few[:, None] & ~torch.eye(7).bool()).any(2, keepdim=True), inputs[2].mean(0)
                )
            ),
            "a query with a single key loses it: it then returns 0, not the key's own value": (
                _leave_out(*arguments)
                + (few & (few.sum(1, keepdim=True) == 1))[:, :, None] * (few.float() @ inputs[2])[:, None]
            ),
        },
    )


def _expect_shares(leave_out: Any) -> None:
    """One key has nearly all the weight, from 0.96 to what is 1 in float64: without it, the others share it."""
    tops, keys, values = [4, 6, 9, 12, 14, 16, 20, 25, 30, 34, 36, 40], [[1], [0], [-1 / 32]], [[60000], [1], [3]]
    arguments = [torch.tensor([[float(top)] for top in tops]), *map(torch.Tensor, (keys, values))]
    given = f"queries = torch.tensor({tops})[:, None].float(); keys = torch.tensor({keys}); "
    arguments.append(torch.ones(len(tops), 3).bool())
    expect_close(
        _call(leave_out, arguments),
        _leave_out(*arguments),
        claim="without a key that has nearly all the weight, the others share it",
        given=f"{given}values = torch.tensor({values}).float(); mask = torch.ones({len(tops)}, 3).bool()",
        hint="how many digits are left of 1 - αj where αj is nearly 1? A second softmax, without key j, loses none",
    )


def _expect_extreme_scores(leave_out: Any) -> None:
    """Scores of up to 2**120, shown, then hidden or left out; and scores that are all as far below 0."""
    every, first = [[1, 1, 1], [1, 1, 1]], [[0, 1, 1], [1, 1, 1]]
    plain, huge = [[7], [1], [-8]], [[1e30], [1], [-8]]
    _expect_extreme(leave_out, [[60, 40, 0, 0]] * 2, [[60, 90, 0, 0]] * 3, plain, [[1, 1, 0], [1, 1, 1]], OVERFLOW, 1.0)
    apart = ([[1, 0, 0, 0], [0, 2, 1, 0]], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    for told, shown in ((plain, every), (plain, first), (plain, first[::-1]), (huge, [[0, 1, 1]] * 2)):
        _expect_extreme(leave_out, *apart, told, shown, _SHARE)
    _expect_extreme(leave_out, [[1, 0, 0, 0]] * 2, [[1, 0, 0, 0], [3, 0, 0, 0], [2, 0, 0, 0]], plain, first, _SHARE)
    low = [[-2.5, 0, 0, 0], [-3, 0, 0, 0], [-3, 0, 0, 0]]
    _expect_extreme(leave_out, [[1, 1, 1, 1]] * 2, low, [[0, 1], [3, 4], [6, 8]], [[1, 1, 0], [0, 1, 0]], LOW)
    high = ([[1, 0, 0, 0], [0, 1, 1, 0]], [[1, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0]])
    _expect_extreme(leave_out, *high, plain, [[1, 1, 0], [1, 1, 1]], OVERFLOW)


def _expect_extreme(
    leave_out: Any, queries: Any, keys: Any, values: Any, mask: Any, hint: str, factor: float = FAR
) -> None:
    """The right outputs where queries and keys are these times a factor."""
    arguments = [*(factor * torch.tensor(part) for part in (queries, keys)), torch.tensor(values).float()]
    times = "2.0**63" if factor == FAR else "1.0"
    arguments.append(torch.tensor(mask).bool())
    expect_close(
        _call(leave_out, arguments),
        _leave_out(*arguments),
        claim="a key that is left out or masked has no influence, whatever the scores",
        given=f"queries = {times} * torch.tensor({queries}); keys = {times} * torch.tensor({keys}); "
        f"values = torch.tensor({values}).float(); mask = torch.tensor({mask}).bool()",
        hint=hint,
        tolerance=0.01,
    )
