"""What a query would read without one of its keys."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.exercises.arguments import IN_PLACE
from d2lmini.exercises.core import Mistakes, checker, expect_close, expect_function, expect_unchanged
from d2lmini.exercises.inputs import draw_inputs

_EMPTY = "is a query left without any key? Its softmax is 0/0, and it should return 0"
_SHARE = "what is left for the other keys after the softmax? Hide key j before it; a finite penalty can be outweighed"


@checker("masked-pooling")
def check_masked_pooling(leave_out: Any) -> str:
    """`leave_out(queries, keys, values, mask)`: for each query and each key the output without this key."""
    expect_function(leave_out)
    inputs, given = draw_inputs(3, queries=(2, 9), keys=(6, 9), values=(6, 3))
    arguments = [*inputs, torch.ones(2, 6).bool()]
    expect_close(
        leave_out(*arguments),
        _leave_out(*arguments),
        claim="entry [i, j] is softmax(QKᵀ/√d) V for query i without key j",
        given=f"{given}; mask = torch.ones(2, 6).bool()",
        hint="take one query and one key: compute scores, scale, weights and mixture one by one and print each",
        mistakes=_list_wrong_mixtures(*arguments),
    )
    for name, argument in zip(("queries", "keys", "values", "mask"), arguments, strict=True):
        expect_unchanged(name, argument, argument, IN_PLACE, given=given)
    _expect_masked(leave_out)
    _expect_extreme_scores(leave_out)
    return "right for two sets of sizes, with masks, very high and very low scores, and queries left without a key"


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
        "True means may attend: your mask works the other way round": torch.zeros(n, m, values.shape[1]),
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
        leave_out(*arguments),
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
            "only key j is hidden in its row: where are the keys that the mask hides?": (
                _leave_out(*[*inputs, mask[:1].expand(3, -1)])
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
        leave_out(*arguments),
        _leave_out(*arguments),
        claim="a query that is left without any key returns 0",
        given=f"{given}; mask = torch.tensor({few.int().tolist()}).bool()",
        hint="which pairs of query and key leave nothing to see? Which leave a single key?",
        mistakes={
            _EMPTY: _leave_out(*arguments, empty=math.nan),
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


def _expect_extreme_scores(leave_out: Any) -> None:
    """A key whose score is tens of thousands above the others, hidden or left out; and scores that are all very low."""
    queries, keys = torch.tensor([[600.0, 0, 0, 0], [0, 600, 600, 0]]), torch.eye(4)[:3] * 100
    values, mask = torch.tensor([[7.0], [1], [-8]]), torch.tensor([[True, True, True], [False, True, True]])
    hidden, huge = torch.tensor([[False, True, True]] * 2), torch.tensor([[1e30], [1], [-8]])
    given = "queries [[600, 0, 0, 0], [0, 600, 600, 0]], keys [[100, 0, 0, 0], [0, 100, 0, 0], [0, 0, 100, 0]], "
    for shown, told in ((mask, values), (mask.flip(0), values), (hidden, huge)):
        expect_close(
            leave_out(queries, keys, told, shown),
            _leave_out(queries, keys, told, shown),
            claim="a key that is left out or masked has no influence, however high its score is",
            given=f"{given}values {told.tolist()}, mask {shown.int().tolist()}",
            hint=_SHARE,
        )
    low = torch.tensor([[-900.0] * 9, [-901] + [-900] * 8])
    keys = torch.stack([torch.full((9,), 10.0 + i / 9000) for i in range(5)])
    values, mask = torch.arange(15.0).reshape(5, 3), torch.tensor([[1, 0, 1, 0, 1], [0, 1, 1, 0, 1]]).bool()
    expect_close(
        leave_out(low, keys, values, mask),
        _leave_out(low, keys, values, mask),
        claim="a key that is left out or masked has no influence, however low the other scores are",
        given="queries = torch.full((2, 9), -900.0); queries[1, 0] = -901; keys 10 + i/9000 throughout in row i of 5; "
        f"values torch.arange(15.0).reshape(5, 3); mask {mask.int().tolist()}",
        hint="all scores are near -27000 here: which number is below every score?",
        tolerance=0.05,
    )
