"""An encoder block with faults, several at once: the hint is for one that is really there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import Case, draw, exercise


def norm(X: Tensor, over: tuple[int, ...]) -> Tensor:
    return F.layer_norm(X.mT, X.shape[1:2]).mT if over == (1,) else F.layer_norm(X, X.shape[min(over) :])


def block(
    X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any,
    *, over: tuple[int, ...] = (2,), queries: str = "Y", keys: str = "Y", values: str = "Y", hide: bool = True,
    first: str = "X", renorm: bool = False, read: str = "normed", end: bool = False,
    second: Any = lambda Z, found: Z + found, keep: bool = True,
) -> Tensor:  # fmt: skip
    """An encoder block in pre-norm, right unless told otherwise."""
    Y = norm(X, over)
    reads = [X if name == "X" else Y for name in (queries, keys, values)]
    found = attention(*reads, valid_lens if hide else None)
    Z = {"X": X, "Y": Y, "0": 0}[first] + found
    Z = norm(Z, over) if renorm else Z
    Z = second(Z, ffn({"normed": norm(Z, over), "Z": Z, "Y": Y}[read]))
    Z = norm(Z, over) if end else Z
    return Z if keep else Z * (torch.arange(X.shape[1]) < valid_lens[:, None])[..., None]


def use(answer: Any, X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Any:
    """The block on one batch, unless its attention is given no lengths."""
    try:
        return answer(X, valid_lens, attention, ffn)
    except (ValueError, RuntimeError) as error:
        if "valid_lens" not in str(error):
            raise
        hint = "the lengths come last, as they are: attention(queries, keys, values, valid_lens)"
        raise WrongAnswer("the block runs", hint, got=error) from error


CODE = (
    "import d2lmini as d2l; look = d2l.DotProductAttention(0); ffn = lambda X: X.cumsum(dim=-1).sin(); "
    "attention = lambda *inputs, **others: 2 * look(*inputs, **others)"
)
exercise(
    "debug-block",
    block,
    (
        *(
            Case(f"{draw(seed, most=9, X=shape)}; valid_lens = torch.tensor({lens}); {CODE}")
            for seed, shape, lens in ((7, (2, 3, 4), [2, 3]), (2, (3, 5, 6), [1, 5, 3]), (4, (1, 4, 8), [3]))
        ),
        Case(
            f"{draw(7, most=9, X=(2, 3, 4))}; valid_lens = torch.tensor([2, 3]); X = X / 1000; X[0, 1] = 0; {CODE}",
            "(7.2) has an epsilon, under the root: 1e-5, as nn.LayerNorm has",
            "a token of small or equal features has a norm, too",
        ),
    ),
    {
        "the norm of a token has nothing to do with other sequences": {"over": (0, 1, 2)},
        "the norm of a token: which numbers does yours take together?": {"over": (1, 2)},
        "the norm of a token takes its features together, not the tokens of a sequence": {"over": (1,)},
        "in pre-norm, attention reads the stream through the norm: queries, keys and values": (
            {"queries": "X", "keys": "X", "values": "X"}
        ),
        "queries, keys and values are three looks at the same normed tokens": {"values": "X"},
        "queries, keys and values: all three come from the normed tokens": {"queries": "X"},
        "the keys, too, come from the normed tokens": {"keys": "X"},
        "change a token beyond valid_lens: which outputs move?": {"hide": False},
        "what does attention add to: the stream, or what the norm has made of it?": {"first": "Y"},
        "attention writes into the stream, it does not replace it": {"first": "0"},
        "what does the feed-forward network add to: the stream, or a normed copy of it?": {"renorm": True},
        "the feed-forward network reads the stream through a norm, too": {"read": "Z"},
        "the feed-forward network reads the stream as it is after attention": {"read": "Y"},
        "the feed-forward network adds to the stream": {"second": lambda Z, found: found},
        "pre-norm: no norm stands at the end of a block": {"end": True},
        "where is the feed-forward network?": {"second": lambda Z, found: Z},
        "the real tokens are right: at the padding leave what the layers give, since nobody looks there": {
            "keep": False
        },
    },
    claim="it is a pre-norm encoder block",
    verified="both layers read through a norm of each token and add to the stream, padding is hidden; gradients too",
    hint="print the stream after each of the two layers: what did the layer read, and what was its output added to?",
    use=use,
    trained=True,
    together=4,
)
