"""Checkers of the chapter "Attention in linear memory"."""

from collections.abc import Callable

import torch
from torch import Tensor

from d2lmini_exercises.engine import (
    APART,
    Case,
    Number,
    Task,
    draw,
    exercise,
    list_in_order,
    prediction,
)


def pool(scores: Tensor, values: Tensor, *, total: bool = True, mixed: bool = True, divide: bool = True) -> Tensor:
    """The mixture; what is not shrunk by a new maximum keeps the term that it had when it came."""
    right, stale = ((scores - top).exp() for top in (scores.max(), scores.cummax(0).values))
    sum_of_terms = (right if total else stale).sum()
    return (right if mixed else stale) @ values / (sum_of_terms if divide else 1)


VALUES = "values = torch.tensor([[1.0, 0], [0, 1], [2, 2]])"
exercise(
    "one-pass",
    pool,
    (
        f"scores = torch.tensor([2.0, 1, 0]); {VALUES}",
        f"scores = torch.tensor([0.0, 2, 1]); {VALUES}",
        Case(
            f"scores = torch.tensor([990.0, 1000, 999]); {VALUES}",
            hint="exp(1000) is infinite: subtract the maximum before each exp",
            edge="large scores",
        ),
        Case(
            f"scores = torch.tensor([-1000.0, -999, -1001]); {VALUES}",
            hint="no score is above -998, and exp(-1000) is 0: with which maximum do you begin?",
            edge="low scores",
        ),
        *(
            Case(
                f"scores = torch.tensor({scores}); {VALUES}",
                "scores may lie far apart, in any order, and far below 0: is what you take away the largest so far?",
                edge="rows far apart",
            )
            for scores in ("[0.0, 1000, 999]", "[1000.0, 0, 999]", "[-2e9, -2.1e9, -2.2e9]")
        ),
        *(
            Case(f"scores = torch.tensor({scores}); {VALUES}".replace("inf", "torch.inf"), edge="minus infinity")
            for scores in ("[-inf, 0, 1]", "[1, 0, -inf]", "[-inf, -inf, 1]", "[-inf, -900, -901]")
        ),
        Case(f"scores = torch.zeros(3); {VALUES}", edge="equal scores"),
        Case("scores = torch.tensor([3.0]); values = torch.tensor([[1.0, 2]])", edge="one key"),
        Case("scores = torch.tensor([0.0, 1.0]); values = torch.tensor([[1.0], [2]])", edge="width 1"),
    ),
    {
        "a new maximum shrinks all that was summed before it": {"total": False, "mixed": False},
        "the mixture is a sum of the same terms as the total: it takes the same factor": {"mixed": False},
        "the total takes the same factor as the mixture when the maximum is new": {"total": False},
        "weights add up to 1: divide by the total at the end": {"divide": False},
    },
    claim="the result is softmax(scores) @ values",
    verified="the softmax's mixture, in whatever order the scores come, high, low or minus infinity",
    hint="write down the maximum, the total and the mixture after each pair",
    untried="that it is one loop and no softmax, gradients, other dtypes, how fast it is",
)


def weigh(L1: Tensor, L2: Tensor) -> Tensor:
    """The weight of the first half."""
    return torch.sigmoid(L1 - L2)


def merge(
    O1: Tensor,
    L1: Tensor,
    O2: Tensor,
    L2: Tensor,
    *,
    first: Callable[[Tensor, Tensor], Tensor] = weigh,
    total: Callable[[Tensor, Tensor], Tensor] = torch.logaddexp,
) -> tuple[Tensor, Tensor]:
    """Both halves together, right unless told otherwise."""
    w = first(L1, L2)[:, None]
    return w * O1 + (1 - w) * O2, total(L1, L2)


HALVES = draw(0, O1=(2, 3), L1=(2,), O2=(2, 3), L2=(2,))
exercise(
    "two-halves",
    merge,
    (
        HALVES,
        draw(3, O1=(3, 2), L1=(3,), O2=(3, 2), L2=(3,)),
        Case(draw(4, O1=(3, 3), L1=(3,), O2=(3, 3), L2=(3,)), edge="as wide as long"),
        Case(
            f"{HALVES}; L1, L2 = L1 + 1000, L2 + 1001",
            hint="exp(1000) is infinite: subtract before you take the exp",
            edge="large scores",
        ),
        *(
            # the one half far above the other, then one query far above the other in both
            Case(
                f"O1 = torch.tensor([[1.0], [3.0]]); O2 = torch.tensor([[2.0], [5.0]]); L1, L2 = torch.tensor({L})",
                hint="which of the two is larger, differs from query to query: take that one away before each exp",
                tolerance=2e-3,  # float32 has no more digits of 3000
                edge="rows far apart",
            )
            for a, b in APART
            for L in ([[a, a], [b, b]], [[a, b], [b, a]], [[a, b], [a, b]])
        ),
        *(
            Case(
                f"{draw(5, A=(1, 3), B=(1,))}; Z = torch.zeros(1, 3); N = torch.full((1,), -torch.inf); "
                f"O1, L1, O2, L2 = {order}",
                edge="an empty half",
            )
            for order in ("A, B, Z, N", "Z, N, A, B")
        ),
    ),
    {
        "the halves do not count alike: the one with the larger sum counts more": {"first": lambda a, b: 0 * a + 0.5},
        "L is a logarithm: the sums are exp(L1) and exp(L2)": {"first": lambda a, b: a / (a + b)},
        "the halves are exchanged: L1 belongs to O1": {"first": lambda a, b: weigh(b, a)},
        "the sums are added, not multiplied: L1 + L2 is the logarithm of a product": {"total": lambda a, b: a + b},
        "the sum of all keys is more than that of the larger half": {"total": torch.maximum},
        "return the logarithm of the sum, not the sum": {"total": lambda a, b: a.exp() + b.exp()},
    },
    claim="{} is that of all keys together",
    verified="attention can be cut along its keys, and the parts computed anywhere",
    hint="a half has the sum exp(L) and the mixture exp(L) times O: add both, then divide",
    together=2,
    parts=("the output", "the log-sum-exp"),
)


def attend(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    rows: int,
    columns: int,
    *,
    begin: Callable[[int, int], int | None] = lambda i, j: i - j + 1,
) -> Tensor:
    """Causal attention; `begin` says at which diagonal of the tile at (i, j) the hidden triangle begins, if at all."""
    S = Q @ K.T
    for i in range(0, len(Q), rows):
        for j in range(0, len(K), columns):
            tile, start = S[i : i + rows, j : j + columns], begin(i, j)
            if j >= i + rows:
                tile.fill_(-torch.inf)
            elif start is not None:
                tile.masked_fill_(torch.ones_like(tile).triu(start) > 0, -torch.inf)
    return S.softmax(dim=1) @ V


INPUTS = draw(0, Q=(8, 2), K=(8, 2), V=(8, 3))
exercise(
    "debug-tiles",
    attend,
    [
        *(f"{INPUTS}; rows, columns = {rows}, {columns}" for rows, columns in ((4, 2), (2, 2), (2, 4), (8, 1), (1, 8))),
        *(
            Case(
                f"Q = torch.tensor([[{a}], [{b}]]); K = torch.ones(2, 1); V = torch.tensor([[1.0], [3.0]]); "
                f"rows, columns = 2, {columns}",
                edge="rows far apart",
                claim="it is exact, whatever the scores",
            )
            for a, b in APART
            for columns in (2, 1)
        ),
        Case(f"{draw(1, most=60, Q=(4, 2), K=(4, 2), V=(4, 3))}; rows, columns = 2, 4", edge="large scores"),
        Case(
            "Q = torch.tensor([[-1e6], [1.0]]); K = torch.full((2, 1), 1e6); V = torch.tensor([[1.0], [3.0]]); "
            "rows, columns = 2, 2",
            edge="low scores",
        ),
        Case(
            "Q = torch.ones(2, 1); K = torch.tensor([[0.0], [200]]); V = torch.tensor([[1.0], [3]]); "
            "rows, columns = 1, 2",
            edge="large scores",
        ),
        Case(f"{draw(2, Q=(4, 3), K=(4, 3), V=(4, 1))}; rows, columns = 4, 4", edge="width 1"),
        Case("Q = K = torch.ones(1, 1); V = torch.tensor([[7.0]]); rows = columns = 1", edge="one token"),
    ],
    {
        "a tile needs the mask if its last key comes after its first query: not only where j is i": {
            "begin": lambda i, j: 1 if i == j else None
        },
        "where the triangle begins depends on where the tile lies: key j + c against query i + r": {
            "begin": lambda i, j: 1
        },
        "a query may see its own key": {"begin": lambda i, j: i - j if (i, j) != (0, 0) else 1},
        "a query may not see the key right after it": {"begin": lambda i, j: i - j + 2},
        "the future is not hidden": {"begin": lambda i, j: None},
    },
    claim="it is causal attention, whatever the tiles are",
    verified="the tiles change no number, also where rows have scores far apart",
    hint="for one tile, list its queries and keys: which pairs are hidden, and what becomes of the sums before it?",
    untried="how much memory it takes, gradients, other dtypes, a GPU, how fast it is",
)


def move(n: int = 65536, d: int = 64, B: int = 512, size: int = 4, once: int = 1) -> float:
    """GiB that are moved, by (14.4)."""
    return size * 2 * n * d * (n / B + once) / 2**30


prediction(
    "predict-bytes",
    {
        Number("what is moved", move(), "how many tiles of queries are there, and what does each of them fetch?"): {
            "queries come and outputs go as well, once": move(once=0),
            "a number has 4 bytes": (move(size=1), move(size=8)),
            "a GiB is 2 to the power of 30 bytes": move() * 2**30 / 1e9,
            "keys and values are fetched, not one of the two": move() / 2,
        },
        Number("the scores", 16.0, "how many pairs of tokens are there?"): {
            "asked is for the scores once": 64.0,
            "a number has 4 bytes": (4.0, 32.0),
            "a GiB is 2 to the power of 30 bytes": 65536**2 * 4 / 1e9,
        },
        Number("what is moved with tiles of half the width", move(B=256), "how many tiles of queries are there now?"): {
            "half the width, not a quarter: a tile of scores has B times B numbers": move(B=128),
            "narrower tiles fetch keys and values more often, not less": (move(B=1024), move(B=2048)),
            "queries come and outputs go as well, once": move(B=256, once=0),
        },
    },
    right="with square tiles, a quarter of the fast memory means twice the bytes",
)

list_in_order(
    "Attention in linear memory",
    Task(
        "Exercise 14.1",
        "one-pass",
        "when a new score is the largest so far, what must happen to all that was summed before?",
        'formula (14.1) in "A softmax in one pass"',
    ),
    Task(
        "Exercise 14.2",
        "two-halves",
        "what share of all the weight has each half, and how is it computed from the two L without an overflow?",
        "formulas (14.1) and (14.2): a half is a pair with a score of its own",
    ),
    Task(
        "Exercise 14.3",
        "debug-tiles",
        "which tiles of keys does a tile of queries need, and which of them are seen only in part?",
        '"Tiles": there, the tiles are square',
    ),
    Task(
        "Exercise 14.4",
        "predict-bytes",
        "how often is each of the four matrices moved, and how does the side of a tile follow from the memory?",
        'formula (14.4) in "Bytes moved"',
    ),
)
