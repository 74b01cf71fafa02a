"""Checkers of the chapter "What is kept"."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import (
    IN_PLACE,
    Case,
    Number,
    Task,
    WrongAnswer,
    are_equal,
    call,
    convert_tensor,
    draw,
    exercise,
    list_in_order,
    prediction,
)

# Numbers of 2 bytes: keys and values of 32 layers and 8 groups; 61 layers of latent ones; the first with a window.
prediction(
    "three-caches",
    {
        Number(
            "the cache of Llama 3 8B, a token", 128.0, "layers, groups, numbers, keys and values, bytes: multiply"
        ): {
            "this is half of it: keys and values are kept, and a number has 2 bytes": 64.0,
            "this is twice as much: count keys once, values once, and 2 bytes a number": 256.0,
            "a KiB is 1024 bytes": 131.072,
            "there are 32 layers": 4.0,
        },
        Number("that of DeepSeek-V3", 68.625, "layers, numbers, bytes: multiply", tolerance=0.05): {
            "the 512 numbers stand for keys and values alike, 2 bytes each: do not double": (137.25, 129.625),
            "64 numbers for positions are kept as well": 61.0,
            "a number has 2 bytes": 34.3125,
            "a KiB is 1024 bytes": 70.272,
            "there are 61 layers": 1.125,
        },
        Number(
            "that of Mistral 7B",
            512.0,
            "how many tokens does a window keep, and how much does each take?",
            tolerance=0.2,
        ): {
            "asked is for all that is kept, not for one token": (128.0, 0.125),
            "in MiB: 1024 KiB each": 524288.0,
            "a MiB is 1024 KiB of 1024 bytes": 536.870912,
        },
    },
    right="groups, latent numbers and windows: three ways to keep less",
)


def step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    S: Tensor,
    z: Tensor,
    *,
    late: bool = False,
    divide: bool = True,
    count: bool = True,
    total: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """One token of linear attention, right unless told otherwise."""
    new_S, new_z = S + torch.outer(k, v), z + k if count else z
    read_S, read_z = (S, z) if late else (new_S, new_z)
    return q @ read_S / (q @ read_z if divide else 1), new_S if total else torch.outer(k, v), new_z


def draw_token(seed: int, p: int, r: int) -> str:
    """A line of code: one token, and what is kept of those before."""
    return (
        f"{draw(seed, q=(p,), k=(p,), v=(r,), S=(p, r))}; q, k, z = q.abs() + 1, k.abs() + 1, torch.arange({p}) + 2.0"
    )


exercise(
    "linear-step",
    step,
    (
        draw_token(0, 2, 3),
        draw_token(1, 3, 2),
        Case(
            "q = torch.ones(2); k = torch.tensor([1.0, 3]); v = torch.tensor([5.0]); S = torch.zeros(2, 1); "
            "z = torch.zeros(2)",
            hint="the first token sees itself alone: its output is its own value",
            edge="one token",
        ),
        Case(
            "q = k = torch.tensor([1e-4, 1e-5]); v = torch.tensor([3.0, 2]); S = torch.zeros(2, 2); z = torch.zeros(2)",
            hint="q and k may be small, and so may their product: what do you add to it, or cut off?",
            edge="small numbers",
        ),
        Case(draw_token(3, 3, 3), edge="as wide as long"),
        Case(draw_token(4, 1, 1), edge="width 1"),
    ),
    {
        "a token may see itself: add before you read": {"late": True},
        "weights add up to 1: divide by the product of q and z": {"divide": False},
        "z is a sum of keys, this token's included": {"count": False},
        "S is a sum over all tokens: add to the old one": {"total": False},
    },
    claim="{} is that after this token",
    verified="a state of fixed size, however long the text is",
    hint="the output is a sum over tokens divided by another: which term does each sum get now?",
    together=2,
    parts=("the output", "S", "z"),
)


def write_difference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    S: Tensor,
    alpha: float,
    beta: float,
    *,
    old: Callable[[Tensor, float], Tensor] = lambda S, alpha: alpha * S,
    found: Callable[[Tensor, Tensor, float], Tensor] = lambda S, k, alpha: alpha * S.T @ k,
    rate: bool = True,
    read: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q,
    late: bool = False,
) -> tuple[Tensor, Tensor]:
    """One token of the gated delta rule, right unless told otherwise."""
    new = old(S, alpha) + (beta if rate else 1) * torch.outer(k, v - found(S, k, alpha))
    return read(q, k) @ (S if late else new), new


GATES = "with a gate of 1 nothing fades, with one of 0 all does; with a rate of 0 nothing is written"


def draw_written(seed: int, p: int, r: int, alpha: float, beta: float) -> str:
    drawn = draw(seed, q=(p,), k=(p,), v=(r,), S=(p, r))
    return f"{drawn}; k[0] = 3; k = k / k.norm(); alpha, beta = {alpha}, {beta}"


exercise(
    "delta-step",
    write_difference,
    (
        draw_written(2, 2, 3, 0.9, 0.3),
        draw_written(1, 3, 2, 0.5, 0.5),
        *(Case(draw_written(3, 3, 3, *gates), GATES) for gates in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0))),
        Case(
            "q = k = torch.tensor([1.0, 0]); v = torch.tensor([20.0]); S = torch.tensor([[10.0], [5]]); "
            "alpha = beta = 1.0",
            "a new value replaces the old one, and a key that is orthogonal keeps its own",
        ),
        Case(
            "q = k = torch.ones(1); v = torch.tensor([7.0]); S = torch.zeros(1, 1); alpha, beta = 0.5, 0.25",
            edge="width 1",
        ),
    ),
    {
        "the old value is still there: write what v differs by from what k finds": {"found": lambda S, k, a: 0 * S[0]},
        "first everything fades, then the key looks: which S does it look into?": {"found": lambda S, k, a: S.T @ k},
        "alpha lets all that is kept fade": (
            {"old": lambda S, alpha: S, "found": lambda S, k, a: S.T @ k},
            {"old": lambda S, alpha: S},
        ),
        "beta says how much of the difference is written": {"rate": False},
        "alpha says how much is kept, not how much is forgotten": {
            "old": lambda S, alpha: (1 - alpha) * S,
            "found": lambda S, k, alpha: (1 - alpha) * S.T @ k,
        },
        "write first, and then read: the query sees its own token": {"late": True},
        "the key writes, the query reads": {"read": lambda q, k: k},
    },
    claim="{} is that after this token",
    verified="the difference is written, and a new value replaces the old one; also where a gate is 0 or 1",
    hint="write both formulas of (15.2) as two lines, and read last",
    parts=("the output", "S"),
)


ALONE = "with w = 1 a query sees itself alone, and K[-0:] is all of K"


def write_all(
    queries: Tensor, keys: Tensor, values: Tensor, w: int, *, sees: Callable[[int], int] = lambda w: w
) -> Tensor:
    """The outputs of a text that is read at once, each query with a window of `sees(w)` tokens."""
    behind = torch.arange(len(queries))[:, None] - torch.arange(len(keys))
    scores = (queries @ keys.T).masked_fill((behind < 0) | (behind >= sees(w)), -torch.inf)
    return scores.softmax(dim=1) @ values


def use(answer: Any, queries: Tensor, keys: Tensor, values: Tensor, w: int) -> Any:
    """The outputs of a text that is written token by token."""
    K, V, outputs = keys[:0], values[:0], []
    for q, k, v in zip(queries, keys, values, strict=True):
        given, own = (q, k, v, K, V), [X.clone() for X in (q, k, v, K, V)]
        found = answer(*own, w)
        several = isinstance(found, (tuple, list)) and len(found) == 3
        output, more_keys, more_values = map(convert_tensor, found) if several else (None, None, None)
        if output is None or more_keys is None or more_values is None:
            hint = "return the output, the keys and the values, in a tuple"
            raise WrongAnswer("a step returns three tensors", hint, got=type(found).__name__)
        if not are_equal(own, [*given]):
            raise WrongAnswer("the arguments of a step are left unchanged", IN_PLACE)
        if max(len(more_keys), len(more_values)) > w:
            hint = ALONE if w == 1 else "what no query sees any more leaves the cache"
            raise WrongAnswer(
                "a cache holds at most w tokens",
                hint,
                got=f"{len(more_keys)} keys and {len(more_values)} values, with w = {w}",
            )
        K, V = more_keys.to(keys), more_values.to(values)
        outputs.append(output)
    return torch.stack(outputs)


HIGH = draw(1, most=60, queries=(5, 2), keys=(5, 2), values=(5, 3))
TEXT = draw(0, queries=(6, 2), keys=(6, 2), values=(6, 3))
exercise(
    "debug-window",
    write_all,
    (
        f"{TEXT}; w = 3",
        f"{TEXT}; w = 2",
        *(Case(f"{TEXT}; w = {w}", edge="a full window") for w in (5, 6, 7)),
        Case(f"{draw(2, queries=(12, 2), keys=(12, 2), values=(12, 2))}; w = 9", edge="a full window"),
        Case(f"{TEXT}; w = 1", ALONE, edge="a window of 1"),
        Case(f"{HIGH}; w = 4", edge="large scores"),
        Case(f"{draw(3, queries=(5, 1), keys=(5, 1), values=(5, 1))}; w = 2", edge="width 1"),
        Case(f"{draw(4, queries=(1, 2), keys=(1, 2), values=(1, 3))}; w = 2", edge="one token"),
    ),
    {
        "the next query sees itself as well: how many others, if it sees w tokens?": {"sees": lambda w: w + 1},
        "a query sees w tokens, itself included: yours sees one fewer": {"sees": lambda w: max(w - 1, 1)},
    },
    claim="written token by token, a text is the same as read at once",
    verified="the same text, read or written",
    hint="for w = 3, list the tokens that the fifth query sees, and those that are in your cache then",
    use=use,
    reference=call,
    untried="other dtypes, a GPU, how fast it is",
)

prediction(
    "other-lengths",
    {
        Number("where attention has more FLOPs", 65.0, "two formulas: a n² + b n and b n. Where are they equal?"): {
            "there both have the same: from where on is it more?": 64.0,
            "attention has a part that grows like n as well": (128.0, 129.0),
        },
        Number(
            "where multi-query attention keeps more",
            17.0,
            "what does one keep for each token, and the other in all? Divide the numbers of the table",
        ): {
            "there both keep the same: from where on is it more?": 16.0,
            "all heads share one key and one value": (4.0, 5.0),
            "a key and a value are kept, not one of the two": (32.0, 33.0),
        },
        Number(
            "the path of the window",
            69.0,
            "how many tokens back does one layer reach, and how far is the first?",
            tolerance=0.05,
        ): {
            "a window of 16 has the token itself: it reaches 15 back": 64.0,
            "layers are whole: so many do not reach the first token yet": (68.0, 68.2),
            "at 64 tokens it was 5, rounded up: count again from the reach of one layer": 80.0,
        },
    },
    right="a table for one length, read for others",
)

list_in_order(
    "What is kept",
    Task(
        "Exercise 15.1",
        "three-caches",
        "how many numbers does one token leave in one layer, and what stops growing behind a window?",
        '"The state" and "A window forgets by place"',
    ),
    Task(
        "Exercise 15.2",
        "linear-step",
        "does the newest token read what it has just written?",
        'formula (15.1) in "Linear attention is a recurrence"',
    ),
    Task(
        "Exercise 15.3",
        "delta-step",
        "what does S answer for the key before it is written, and when is it forgotten: before that or after?",
        'formula (15.2) in "Write the difference"',
    ),
    Task(
        "Exercise 15.4",
        "debug-window",
        "how many tokens does the newest query see, and what does the next one need of them?",
        '"A window forgets by place"',
    ),
    Task(
        "Exercise 15.5",
        "other-lengths",
        "which side of each comparison grows with n, and from where on is it the larger one?",
        '"Sixteen layers", and the formulas in its fold',
    ),
)
