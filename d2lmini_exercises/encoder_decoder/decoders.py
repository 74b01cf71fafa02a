"""What a decoder reads of the source, and what it knows at each step."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini.attention.pooling import DotProductAttention
from d2lmini_exercises.engine import Case, Number, WrongAnswer, draw, exercise, prediction

# Weights of cross-attention, numbers in a key-value cache.
prediction(
    "predict-decoder",
    {
        Number("(a)", 35, "a row for each query, a column for each key: who asks, and who is asked?"): {
            "the keys come from the encoder: how wide is the matrix?": 25,
            "the queries come from the decoder: how many rows has the matrix?": 49,
            "what is hidden by a causal mask? The source sentence is known from the beginning": 15,
            "each query has a weight for each key": 12,
            "one block, not both": 70,
        },
        Number("(b)", 3072, "how many vectors are kept for each token, in each block? And which tokens are there?"): {
            "a key and a value, in each of the two blocks: what did you leave out?": (1536, 768),
            "the memory has keys and values, too, and they are kept": 1280,
            "those of the decoder's own tokens are kept, too": 1792,
            "<bos> is one of the five tokens": 3328,
            "<bos> has a key and a value, too": 2816,
            "nobody asks an old query again: it is not kept": 4608,
            "each key and each value is a vector of 64 numbers": 48,
        },
    },
    right="35 and 3072: both are right",
)


LOOK = DotProductAttention(0.0)
ERRORS = {  # what a layer says, and what to make of it
    "mask must be a boolean tensor": "a mask holds True and False: True where a query may look",
    "mask must broadcast": "cross-attention needs no causal mask: the whole source is known",
    "causal_mask needs": "cross-attention needs no causal mask: the whole source is known",
    "one value for each key": "keys and values both come from the memory, all of it",
    "valid_lens must be": "the mask goes by its name: self_attention(Y, Y, Y, mask=...)",
    "must match the size": "who asks, and who is asked? What is added to X has a row for each token of X",
}


def norm(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def decode(
    X: Tensor,
    memory: Tensor,
    self_attention: Any,
    cross_attention: Any,
    ffn: Any,
    training: bool,
    *,
    norm: Any = norm,
    layers: Any = lambda back, across: (back, across),
    read: Any = lambda X, Y: Y,
    mask: Any = lambda n, training: causal_mask(n),
    first: Any = lambda X, Y, found: X + found,
    ask: Any = lambda X, Y, old: Y,
    known: Any = lambda memory, Y: memory,
    hide: Any = lambda n, m: None,
    second: Any = lambda X, Y, found: X + found,
    third: Any = lambda X, Y, ffn: X + ffn(Y),
) -> Tensor:
    """A decoder block in pre-norm, right unless told otherwise; Y is X after the norm."""
    back, across = layers(self_attention, cross_attention)
    old = norm(X)
    seen = read(X, old)
    X = first(X, old, back(seen, seen, seen, mask=mask(X.shape[1], training)))
    Y = norm(X)
    keys = known(memory, Y)
    X = second(X, Y, across(ask(X, Y, old), keys, keys, mask=hide(X.shape[1], keys.shape[1])))
    return third(X, norm(X), ffn)


def decode_post_norm(X: Tensor, memory: Tensor, back: Any, across: Any, ffn: Any, training: bool) -> Tensor:
    X = norm(X + back(X, X, X, mask=causal_mask(X.shape[1])))
    X = norm(X + across(X, memory, memory))
    return norm(X + ffn(X))


def decode_cross_first(X: Tensor, memory: Tensor, back: Any, across: Any, ffn: Any, training: bool) -> Tensor:
    return decode(X + across(norm(X), memory, memory), memory, back, lambda X, *_, **__: 0 * X, ffn, training)


def use(
    answer: Any, X: Tensor, memory: Tensor, self_attention: Any, cross_attention: Any, ffn: Any, training: bool
) -> Any:
    """The block on one batch, unless one of its layers refuses what it is given."""
    try:
        return answer(X, memory, self_attention, cross_attention, ffn, training)
    except (ValueError, RuntimeError) as error:
        hint = next((hint for piece, hint in ERRORS.items() if piece in str(error)), "")
        if not hint:
            raise
        raise WrongAnswer("the block runs", hint, got=error) from error


CODE = (
    "import d2lmini as d2l; look = d2l.DotProductAttention(0); ffn = lambda X: X.cumsum(dim=-1).sin(); "
    "self_attention = lambda *inputs, **kwargs: 2 * look(*inputs, **kwargs); "
    "cross_attention = lambda *inputs, **kwargs: 3 * look(*inputs, **kwargs)"
)
exercise(
    "debug-decoder",
    decode,
    (
        *(
            Case(f"{draw(seed, most=9, X=target, memory=source)}; {CODE}; training = {training}")
            for seed, target, source in (
                (1, (2, 5, 4), (2, 3, 4)),
                (2, (3, 2, 6), (3, 4, 6)),
                (3, (1, 4, 8), (1, 4, 8)),
            )
            for training in (True, False)
        ),
        Case(
            f"{draw(3, most=9, X=(1, 4, 8), memory=(1, 4, 8))}; X = X / 100; {CODE}; training = False",
            "where is the norm's epsilon? Under the root: 1e-5, as nn.LayerNorm has",
            "a token of small features has a norm, too",
            edge="small numbers",
        ),
    ),
    {
        "another memory gives the same output. Who is asked in cross-attention?": {"known": lambda memory, Y: Y},
        "when the last tokens of X change, the first outputs move. Which tokens may token 0 see?": (
            {"mask": lambda n, training: None},
            {"mask": lambda n, training: causal_mask(n).T},
            {"mask": lambda n, training: ~causal_mask(n)},
        ),
        "when does a decoder have to be causal? Always: a mask that comes and goes measures nothing": {
            "mask": lambda n, training: causal_mask(n) if training else None
        },
        "each token has a norm of its own: which numbers does yours take together?": {
            "norm": lambda X: F.layer_norm(X, X.shape[1:])
        },
        "the first addition, too: the stream itself is added to": {"first": lambda X, Y, found: Y + found},
        "the last addition, too: the stream itself is added to": {"third": lambda X, Y, ffn: Y + ffn(Y)},
        "the stream is X: what is added to must not have gone through a norm": {
            "second": lambda X, Y, found: Y + found
        },
        "this is post-norm: pre-norm has its norms before the layers": decode_post_norm,
        "a token sees itself, too": {"mask": lambda n, training: causal_mask(n).tril(-1)},
        "the stream goes on after cross-attention: what is added to what?": {"second": lambda X, Y, found: found},
        "cross-attention reads the stream as it is now, after self-attention": {"ask": lambda X, Y, old: old},
        "the memory has its norm from the encoder": {"known": lambda memory, Y: norm(memory)},
        "cross-attention reads through a norm, too": {"ask": lambda X, Y, old: X},
        "self-attention reads through a norm, too": {"read": lambda X, Y: X},
        "the feed-forward network reads through a norm, too": {"third": lambda X, Y, ffn: X + ffn(X)},
        "the feed-forward network adds to the stream": {"third": lambda X, Y, ffn: ffn(Y)},
        "self-attention comes first: a token looks back before it looks across": decode_cross_first,
        "keys and values are the memory, all of it": {"known": lambda memory, Y: memory[:, :-1]},
        "the feed-forward network reads the features of one token": {"third": lambda X, Y, ffn: X + ffn(Y.mT).mT},
        "self_attention is a layer with weights of its own: call it": {"layers": lambda back, across: (LOOK, across)},
        "cross_attention is a layer with weights of its own: call it": {"layers": lambda back, across: (back, LOOK)},
        "where is the feed-forward network?": {"third": lambda X, Y, ffn: X},
        "where is the first residual connection?": {"first": lambda X, Y, found: found},
        "a causal mask is for the target tokens: the whole source is known": {
            "hide": lambda n, m: torch.ones(n, m, dtype=torch.bool).tril()
        },
        "there are two attentions: which of them is called where?": {"layers": lambda back, across: (across, back)},
        "pre-norm has no norm at the end of a block; a stack has one": {"third": lambda X, Y, ffn: norm(X + ffn(Y))},
    },
    claim="it is a pre-norm decoder block",
    verified="causal in training and in evaluation, keys and values from the memory, all added to the stream; "
    "gradients too",
    hint="print the stream after each of the three layers: what did the layer read, and what was its output added to?",
    use=use,
    trained=True,
    together=3,
)
