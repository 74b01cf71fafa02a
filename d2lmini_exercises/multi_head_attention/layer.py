"""How a layer with several heads splits its tokens, and what it computes."""

import math
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.heads import transpose_output, transpose_qkv
from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.engine import APART, Case, Number, draw, exercise, prediction

# A layer with d = 512 and h = 8: divisor of the scores, parameters, FLOPs relative to one head.
prediction(
    "predict-heads",
    {
        Number("the divisor of the scores", 8.0, "a score is a sum of as many products as a head is wide"): {
            "how long is the dot product in one head?": math.sqrt(512),
            "that is the width of a head: what is the spread of a sum of that many products?": 64.0,
            "that is the root of the number of heads: how wide is one of them?": math.sqrt(8),
            "that is the width of all heads together, and the root is missing": 512.0,
        },
        Number("the number of parameters", 4 * 512**2, "count the matrices, and the rows and columns of each"): {
            "and after the concatenation?": 3 * 512**2,
            "how wide is one head? Its matrices are not 512 × 512": (4 * 8 * 512**2, (3 * 8 + 1) * 512**2),
            "that is one head: there are eight": (4 * 512**2 / 8, 3 * 512**2 / 8),
            "this layer has no biases": 4 * 512**2 + 4 * 512,
            "that is one of the projections": 512**2,
        },
        Number(
            "the ratio of FLOPs",
            1.0,
            "the sources of FLOPs are the projections and the pooling: what do eight narrow heads add up to?",
        ): {
            "eight heads, but each of them is narrower: how wide is it?": 8.0,
            "one head is an eighth of it, but there are eight of them": 1 / 8,
            "the number of heads enters once, and the width of a head goes down with it": 64.0,
        },
    },
    right="divisor, parameters and FLOPs are right",
)


HEADS = lambda X, h: X.unflatten(0, (-1, h))  # noqa: E731 (b h, n, p) to (b, h, n, p)


def by_heads(W_in: Tensor, h: int) -> list[Tensor]:
    """W_q, W_k and W_v, from rows in the order head, role, column."""
    return [part.flatten(0, 1) for part in W_in.unflatten(0, (h, 3, -1)).unbind(1)]


def attend(
    X: Tensor,
    W_in: Tensor,
    W_o: Tensor,
    num_heads: int,
    *,
    cut: Any = by_heads,
    roles: tuple[int, int, int] = (0, 1, 2),
    split: Any = transpose_qkv,
    divide: Any = lambda d, h: math.sqrt(d / h),
    weigh: Any = lambda scores, h: scores.softmax(-1),
    join: Any = transpose_output,
    last: Any = lambda X, W: X @ W.T,
) -> Tensor:
    """Multi-head self-attention, right unless told otherwise."""
    parts = [split(X @ W.T, num_heads) for W in cut(W_in, num_heads)]
    queries, keys, values = (parts[role] for role in roles)
    weights = weigh(queries @ keys.mT / divide(X.shape[2], num_heads), num_heads)
    return last(join(weights @ values, num_heads), W_o)


def split_by_reshape(X: Tensor, h: int) -> Tensor:
    return X.reshape(len(X) * h, X.shape[1], -1)


def join_by_reshape(X: Tensor, h: int) -> Tensor:
    return X.reshape(len(X) // h, X.shape[1], -1)


SMALL = {
    "one example": ((1, 3, 6), 2),
    "one token": ((2, 1, 6), 3),
    "one head": ((2, 3, 4), 1),
    "width 1": ((2, 3, 4), 4),
}
exercise(
    "split-heads",
    transpose_qkv,
    [
        *[
            f"{draw(seed, X=(b, n, d))}; num_heads = {h}"
            for seed, b, n, d, h in ((1, 2, 3, 4, 2), (2, 3, 5, 12, 3), (3, 2, 4, 10, 5))
        ],
        *(Case(f"{draw(4, X=shape)}; num_heads = {h}", edge=edge) for edge, (shape, h) in SMALL.items()),
    ],
    {
        "which numbers does row 0 hold? Cut each token into heads, then transpose": split_by_reshape,
        "the heads of one example stand next to each other: row 1 is example 0 in head 1": lambda X, h: torch.cat(
            X.chunk(h, 2)
        ),
        "a head owns d/h neighbouring columns, not every h-th column": lambda X, h: transpose_qkv(
            X.unflatten(2, (-1, h)).mT.flatten(2), h
        ),
        "example and head are to be one dimension: (b h, n, d/h)": lambda X, h: X.unflatten(2, (h, -1)).transpose(1, 2),
        "the tokens have not moved: heads come before tokens": lambda X, h: X.unflatten(2, (h, -1)).flatten(0, 1),
        "each token of a head is a row: (n, d/h), not (d/h, n)": lambda X, h: transpose_qkv(X, h).mT,
    },
    claim="row e h + i is example e in head i",
    verified="each number is in its place, for seven sets of sizes, as in a loop over examples and heads",
    hint="number the entries with torch.arange and look where they go",
    untried="that it has no loop, gradients, other dtypes, a GPU, how fast it is",
)


PIECES = "which tokens own head 0's rows? Cut each token into heads, then transpose"
exercise(
    "multi-head-attention",
    attend,
    [
        Case(
            draw(seed, most=most, X=(b, n, d), W_in=(3 * d, d), W_o=(d, d)) + f"; num_heads = {h}",
            tolerance=1e-3,
            edge=edge,
        )
        for seed, most, b, n, d, h, edge in (
            (1, 1, 3, 5, 12, 2, ""),
            (2, 1, 2, 4, 15, 3, ""),
            (3, 1, 2, 3, 5, 1, "one head"),
            (4, 1, 1, 4, 6, 2, "one example"),
            (5, 1, 2, 1, 6, 3, "one token"),
            (7, 1, 2, 3, 3, 3, "width 1"),
            (6, 9, 2, 3, 8, 2, "large scores"),
        )
    ],
    {
        "the scores are not scaled": {"divide": lambda d, h: 1.0},
        "what must one query's weights add up to? The softmax goes over the keys": {
            "weigh": lambda scores, h: scores.softmax(1)
        },
        "a score is a sum of d/h products: you divide by d/h, not by its root": {"divide": lambda d, h: d / h},
        "as in nn.Linear a projection is XWᵀ: you forgot to transpose W_in": {
            "cut": lambda W, h: [part.T for part in by_heads(W, h)]
        },
        "who asks, and who is asked? Each head has its queries first, then its keys": {"roles": (1, 0, 2)},
        "the values come last: queries, keys, values": {"roles": (0, 2, 1)},
        "where is W_o?": {"last": lambda X, W: X},
        "W_o is applied as XWᵀ, too": {"last": lambda X, W: X @ W},
        "that is one head: num_heads is not used": lambda X, W_in, W_o, h: attend(X, W_in, W_o, 1),
        "that is one head as wide as all of them: cut queries and keys, too": lambda X, W_in, W_o, h: attend(
            X, torch.cat(by_heads(W_in, h)), W_o, 1
        ),
        "in PyTorch's in_proj_weight all queries come first. Here head 0 comes first, with all that it has": {
            "cut": lambda W, h: W.chunk(3)
        },
        "a role owns d/h neighbouring rows of its head, not every third one": {
            "cut": lambda W, h: [W[i::3] for i in range(3)]
        },
        "how long is the dot product in one head? You divide by the root of d": {"divide": lambda d, h: math.sqrt(d)},
        "that is the root of the width of a head's rows, 3d/h: queries alone are d/h wide": {
            "divide": lambda d, h: math.sqrt(3 * d / h)
        },
        PIECES: {"split": split_by_reshape, "join": join_by_reshape},
        f"{PIECES} - on the way there": {"split": split_by_reshape},
        "the way back needs a transpose, too: the heads of one token belong next to each other": (
            {"join": join_by_reshape},
            {"join": lambda X, h: join_by_reshape(HEADS(X, h).transpose(0, 1).flatten(0, 1), h)},
        ),
        "W_o sees the heads side by side: all columns of head 0, then all of head 1": {
            "join": lambda X, h: HEADS(X, h).permute(0, 2, 3, 1).flatten(2)
        },
        "each head has weights of its own: the softmax goes over the keys, not over the heads": {
            "weigh": lambda scores, h: HEADS(scores, h).softmax(1).flatten(0, 1)
        },
        "that is the root of the number of heads: how many products does a score add up?": {
            "divide": lambda d, h: math.sqrt(h)
        },
        "a head owns d/h neighbouring columns, not every h-th column": {
            "split": lambda X, h: transpose_qkv(X.unflatten(2, (-1, h)).mT.flatten(2), h)
        },
        "your scores are heads by heads: within each token, heads look at heads. Which two axes should they have?": {
            "split": lambda X, h: X.unflatten(2, (h, -1)),
            "join": lambda X, h: X.flatten(2),
        },
        "what is the width before W_o? The heads are concatenated, neither averaged nor summed": (
            {"join": lambda X, h: HEADS(X, h).mean(1).repeat(1, 1, h)},
            {"join": lambda X, h: HEADS(X, h).sum(1).repeat(1, 1, h)},
        ),
    },
    claim="it is W_o [o_1; ...; o_h] with softmax attention in each head",
    verified="right for one, two and three heads, six sets of sizes, and very high scores",
    hint="compare with a loop over the heads, step by step: rows of W_in, scores, scale, weights, join, W_o",
)


def attend_heads(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    valid_lens: Tensor,
    num_heads: int,
    *,
    there: Any = transpose_qkv,
    split_values: Any = transpose_qkv,
    back: Any = transpose_output,
    divide: Any = lambda d, h: math.sqrt(d / h),
    spread: Any = lambda lens, h: lens.repeat_interleave(h),
    weigh: Any = masked_softmax,
) -> Tensor:
    """The heads of a batch (b, n, d), side by side, right unless told otherwise."""
    scores = there(Q, num_heads) @ there(K, num_heads).mT / divide(Q.shape[2], num_heads)
    return back(weigh(scores, spread(valid_lens, num_heads)) @ split_values(V, num_heads), num_heads)


QK: dict[str, Any] = {"there": split_by_reshape}
THERE: dict[str, Any] = {**QK, "split_values": QK["there"]}
BACK: dict[str, Any] = {"back": join_by_reshape}
ROOT: dict[str, Any] = {"divide": lambda d, h: math.sqrt(d)}
ORDER: dict[str, Any] = {"spread": lambda lens, h: lens.repeat(h)}
ROW = "which numbers does row 0 of the batch hold after the split?"
WAY = "the split is right, but the way back is not: where does the number of tokens stand?"
LENS = "which example and which head is row 1 of your batch, and which length does it get?"
exercise(
    "debug-multi-head",
    attend_heads,
    [
        *(
            f"{draw(seed, Q=(len(lens), n, d), K=(len(lens), m, d), V=(len(lens), m, d))}; "
            f"valid_lens = torch.tensor({lens}); num_heads = {h}"
            for seed, n, m, d, h, lens in (
                (1, 4, 5, 6, 2, [1, 5, 3]),
                (2, 4, 5, 15, 3, [5, 2]),
                (4, 2, 7, 8, 2, [3, 1, 6]),
            )
        ),
        *(
            # in each head scores of up to 2**120 that are shown, or hidden, and scores that are as far below 0
            Case(
                f"Q = 2.0**60 * torch.ones(2, 1, 4); K = 2.0**60 * torch.tensor({high})[:, :, None].expand(2, 3, 4); "
                "V = torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9]]] * 2); "
                f"valid_lens = torch.tensor({lens}); num_heads = 2",
                claim="a padded key has no influence, whatever the scores",
                edge=edge,
            )
            for high, lens, edge in (
                ([[2, 1, 0], [1, 2, 0]], [3, 2], "large scores"),
                ([[0, 0, 3], [0, 3, 3]], [2, 1], "outweighed"),
                ([[-1, -2, -2], [-1, -1, -1]], [2, 1], "low scores"),
            )
        ),
        *(
            Case(
                f"Q = torch.tensor([[[{a}] * 2, [{b}] * 2]]); K = torch.ones(1, 2, 2); "
                "V = torch.tensor([[[1.0, 2], [3, 4]]]); valid_lens = torch.tensor([2]); num_heads = 2",
                claim="queries far apart do not disturb each other",
                edge="rows far apart",
            )
            for a, b in APART
        ),
    ],
    {
        f"{ROW} And is that all? Scale and lengths come next": THERE | BACK | ROOT | ORDER,
        f"{ROW} They come from other examples and other heads": THERE | BACK,
        f"{ROW} The scale is not right yet, either": THERE | BACK | ROOT,
        f"{ROW} The lengths are not right yet, either": THERE | BACK | ORDER,
        f"{ROW} The way back has a transpose, the way there has none": THERE,
        WAY: BACK,
        f"{ROW} The way back is right. And is that all? Scale and lengths come next": THERE | ROOT | ORDER,
        f"{ROW} The way back is right. The scale is not right yet": THERE | ROOT,
        f"{ROW} The way back is right. The lengths are not right yet": THERE | ORDER,
        f"{WAY} And is that all? Scale and lengths come next": BACK | ROOT | ORDER,
        f"{WAY} The scale is not right yet, either": BACK | ROOT,
        f"{WAY} The lengths are not right yet, either": BACK | ORDER,
        f"{ROW} V is right, but Q and K are not": QK,
        f"{ROW} V is right, but Q and K are not, and neither is the scale": QK | ROOT,
        "the scores are not scaled": {"divide": lambda d, h: 1.0},
        "how long is the dot product in one head? Its root divides the scores": ROOT,
        f"how long is the dot product in one head? And then: {LENS}": ROOT | ORDER,
        LENS: (ORDER, {"spread": lambda lens, h: lens.repeat_interleave(h).reshape(h, -1).T.flatten()}),
        "the valid lengths are not used": {"weigh": lambda scores, lens: scores.softmax(-1)},
        "each example has a length of its own": (
            {"spread": lambda lens, h: lens[0].expand(h * len(lens))},
            {"spread": lambda lens, h: lens[-1].expand(h * len(lens))},
        ),
    },
    claim="each head is scaled dot-product attention over the valid keys",
    verified="split, join, scale and lengths are right, for three sets of sizes, and for very high and very low scores",
    hint="keep what worked: compare with a loop over examples and heads",
)
