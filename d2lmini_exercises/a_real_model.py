"""Checkers of the chapter "A real model"."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import (
    Case,
    Number,
    Task,
    WrongAnswer,
    convert_tensor,
    draw,
    exercise,
    list_in_order,
    prediction,
)

prediction(
    "real-cache",
    {
        Number(
            "the numbers for each token", 11520.0, "keys and values, heads of keys, their width, blocks: multiply"
        ): {
            "a key and a value": 5760.0,
            "three heads keep keys and values: nine of queries keep nothing": (34560.0, 17280.0),
            "there are 30 blocks": 384.0,
            "that is without the width of a head": 180.0,
        },
        Number("the MiB of 8,192 tokens", 180.0, "numbers, tokens, 2 bytes; a MiB is 2 to the power of 20 bytes"): {
            "a number takes 2 bytes": (90.0, 360.0),
            "a MiB is 1024 times 1024 bytes": 188.74368,
        },
        Number("the MiB with nine heads of keys and values", 540.0, "what grows with the number of these heads?"): {
            "what of the cache does not depend on that number? Nothing": (180.0, 360.0),
            "three times as many heads, and each of them as wide as before": (60.0, 1620.0),
        },
    },
    right="11,520 numbers, 180 MiB, and 540 without shared heads",
)


def find(maps: Tensor, *, diagonal: Callable[[Tensor], Tensor] = lambda A: A.diagonal(-1, 2, 3)) -> Tensor:
    """The head that looks back most, right unless told otherwise."""
    best = diagonal(maps).mean(-1).argmax()
    return torch.stack([best // maps.shape[1], best % maps.shape[1]])


def use_pair(answer: Any, maps: Tensor) -> Any:
    """The pair as two whole numbers."""
    found = convert_tensor(answer(maps))
    if found is None or found.shape != (2,):
        hint = "divmod makes both of a number that counts all heads"
        raise WrongAnswer("it returns a block and a head", hint, got=found)
    return found


def write_maps(seed: int, blocks: int, heads: int, n: int, block: int, head: int, more: str = "") -> str:
    """The code of a case: random causal weights, of which one head looks back more than others."""
    return (
        f"torch.manual_seed({seed}); A = torch.rand({blocks}, {heads}, {n}, {n}).tril(); "
        f"A[{block}, {head}] += torch.eye({n}).roll(1, 0).tril(); {more}maps = A / A.sum(3, keepdim=True)"
    )


def find_best_block(maps: Tensor) -> Tensor:
    block = maps.diagonal(-1, 2, 3).mean((1, 2)).argmax()
    return torch.stack([block, find(maps[block, None])[1]])


BACK = [[0.8, 0.8, 0.1], [0.7, 0.7, 0.7]]  # the largest median, and the largest mean
exercise(
    "find-previous",
    find,
    (
        write_maps(1, 3, 4, 6, 2, 1, "A[0, 3] += 3 * torch.eye(6); A[1, 0, :, 0] += 3; "),
        write_maps(2, 4, 2, 5, 0, 1),
        write_maps(3, 2, 5, 9, 1, 3, "A[0, 2, 1, 0] += 99; "),
        f"maps = torch.stack([torch.eye(4) / 5 + torch.diag(torch.tensor(back), -1) for back in {BACK}])[None]",
        "maps = torch.tensor([[[[1, 0, 0], [0.9, 0.1, 0], [0.5, 0.4, 0.1]], "
        "[[1, 0, 0], [0.5, 0.5, 0], [0, 0.6, 0.4]]]])",
        "maps = torch.tensor([[[[1, 0], [0.6, 0.4]]] * 2, [[[1, 0], [0.9, 0.1]], [[1, 0], [0, 1]]]])",
        Case(write_maps(4, 3, 1, 4, 2, 0), edge="one head"),
        Case("maps = torch.tensor([[[[1, 0], [0.2, 0.8]], [[1, 0], [0.6, 0.4]]]])", edge="one token"),
    ),
    {
        "that is the weight on the token itself: the previous one is one column further left": {
            "diagonal": lambda A: A.diagonal(0, 2, 3)
        },
        "that is the weight on the first token": {"diagonal": lambda A: A[..., 0]},
        "the mean over all tokens: one large weight is not enough": {
            "diagonal": lambda A: A.diagonal(-1, 2, 3).amax(-1, keepdim=True)
        },
        "that is in how many places it looks back: here the weights themselves count": (
            {"diagonal": lambda A: (A.argmax(-1)[..., 1:] == torch.arange(A.shape[-1] - 1)).float()},
            {"diagonal": lambda A: (A.diagonal(-1, 2, 3) > 0.5).float()},
        ),
        "the mean, not the median": {"diagonal": lambda A: A.diagonal(-1, 2, 3).median(-1, keepdim=True).values},
        "one head is best, whatever the others of its block do": find_best_block,
        "the block comes first, then the head": lambda maps: find(maps).flip(0),
    },
    claim="it is the head with the most weight on the token before",
    verified="the block and the head, for eight sizes, whatever the other heads do",
    hint="print the diagonal below the main one of a single head: how many numbers does it have? Take their mean",
    use=use_pair,
    untried="how fast it is",
)


def see(n: int, w: int, sinks: int, *, near: Any = lambda d, w: d < w, first: Any = lambda i, s: i < s) -> Tensor:
    """The mask of a window with sinks, right unless told otherwise."""
    i = torch.arange(n)
    distance = i[:, None] - i
    shown: Tensor = (distance >= 0) & (near(distance, w) | first(i, sinks))
    return shown


def use_mask(answer: Any, n: int, w: int, sinks: int) -> Any:
    """The mask as numbers, if it is one of True and False."""
    found = answer(n, w, sinks)
    if "bool" not in str(getattr(found, "dtype", "bool")):
        raise WrongAnswer("the mask is boolean", "True = may attend, False = may not", got=str(found.dtype))
    mask = convert_tensor(found, torch.empty(n, n))
    return found if mask is None else mask.float()


exercise(
    "sink-window",
    see,
    (
        "n, w, sinks = 7, 3, 1",
        "n, w, sinks = 6, 2, 2",
        "n, w, sinks = 5, 2, 0",
        Case("n, w, sinks = 4, 1, 1", edge="a window of 1"),
        *(Case(f"n, w, sinks = 4, {w}, 1", edge="a full window") for w in (3, 4, 5)),
        Case("n, w, sinks = 3, 1, 3", "as many sinks as tokens: may a token see what comes later?"),
        Case("n, w, sinks = 1, 1, 1", edge="one token"),
    ),
    {
        "the window is one too wide: w tokens, itself included": {"near": lambda d, w: d <= w},
        "the window is one too narrow: w tokens, itself included": {"near": lambda d, w: d < w - 1},
        "a token may not see the first ones before they have come": lambda n, w, sinks: (
            see(n, w, 0) | (torch.arange(n) < sinks)
        ),
        "where are the first tokens?": {"first": lambda i, s: i < 0},
        "one sink too many: they are counted from 0": {"first": lambda i, s: i <= s},
        "True means may attend": lambda n, w, sinks: ~see(n, w, sinks),
        "row i is the token that asks": lambda n, w, sinks: see(n, w, sinks).T,
    },
    claim="True is where a token may attend",
    verified="the window, the sinks and nothing later, also for windows as long as the text",
    hint="write down, for n = 7, w = 3 and one sink, which keys the fifth query sees",
    use=use_mask,
)


def gather_pairs(rows: Tensor) -> Tensor:
    return rows.unflatten(1, (-1, 2)).mT


def reorder(W: Tensor, num_heads: int, *, pairs: Callable[[Tensor], Tensor] = gather_pairs) -> Tensor:
    """The rows of each head in halves, right unless told otherwise; `pairs` orders the rows `(h, p)` of all heads."""
    rows = torch.arange(len(W)).reshape(num_heads, -1)
    return W[pairs(rows).reshape(-1)]


exercise(
    "rows-in-halves",
    reorder,
    (
        f"{draw(1, most=99, W=(16, 3))}; num_heads = 2",
        f"{draw(2, most=99, W=(18, 2))}; num_heads = 3",
        Case(f"{draw(3, most=99, W=(6, 4))}; num_heads = 1", edge="one head"),
        Case(f"{draw(4, most=99, W=(6, 6))}; num_heads = 3", edge="as wide as long"),
        Case(f"{draw(5, most=99, W=(8, 1))}; num_heads = 1", edge="width 1"),
    ),
    {
        "that is the way back, from halves to pairs: which two rows of the file are a pair?": {
            "pairs": lambda H: H.unflatten(1, (2, -1)).mT
        },
        "nothing has moved": {"pairs": lambda H: H},
        "each head has its own pairs: your halves are those of all heads together": lambda W, num_heads: reorder(W, 1),
        "the first of each pair comes into the first half, the second into the second": {
            "pairs": lambda H: H.unflatten(1, (-1, 2)).flip(2).mT
        },
        "rows are features, columns are inputs: reorder the rows": lambda W, num_heads: (
            W[:, reorder(torch.arange(W.shape[1])[:, None], 1)[:, 0]] if W.shape[1] % 2 == 0 else W.flip(1)
        ),
    },
    claim="what is a pair in the file is a pair in your program",
    verified="each row is in its place, head by head, so that every score stays",
    hint="number the rows of one head from 0 to 7: where do 0, 1 and 2 go?",
)

list_in_order(
    "A real model",
    Task(
        "Exercise 18.1",
        "real-cache",
        "what does a token leave in one head of one block, and how many such heads are there?",
        '"Your layer, somebody else\'s weights" for the sizes',
    ),
    Task(
        "Exercise 18.2",
        "find-previous",
        "where in a map stands the weight that token 5 gives to token 4?",
        '"Where 270 heads look", which counts places; here the weights themselves are added up',
    ),
    Task(
        "Exercise 18.3",
        "sink-window",
        "for query 4, w = 2 and one sink: which keys does it see?",
        '"The first token": its window leaves the causal mask to the model',
    ),
    Task(
        "Exercise 18.4",
        "rows-in-halves",
        "which rows of one head turn together in the file, and which ones in your program?",
        '"Which bug still says Paris?"; both pairings are in formula (7.1) and its chapter',
    ),
)
