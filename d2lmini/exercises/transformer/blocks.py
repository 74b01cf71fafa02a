"""What is added and normed, and who sees what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.masks import causal_mask
from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_shape, expect_unchanged
from d2lmini.exercises.prediction import Number, prediction
from d2lmini.transformer.layers import PositionWiseFFN

# Parameters of an encoder block, weights of cross-attention, numbers in a key-value cache.
prediction(
    "predict-transformer",
    Number(
        "(a)",
        49728,
        hint="four d x d projections, two matrices of (7.1) with their biases, two norms",
        mistakes={
            "the matrices are all there. (7.1) has two biases, and a norm learns two vectors": 49152,
            "the norms learn something, too: gamma and b": 49472,
            "(7.1) has two biases: of which sizes?": 49408,
            "there are two norms": 49600,
            "the attention has no bias here": 49984,
            "the feed-forward network has two matrices": 33344,
            "the hidden layer has the width 4d": 24960,
            "that is a decoder block": 66240,
            "four projections: do not forget W_o": 45632,
        },
    ),
    Number(
        "(b)",
        35,
        hint="a row for each query, a column for each key: who asks, and who is asked?",
        mistakes={
            "the keys come from the encoder: how wide is the matrix?": 25,
            "the queries come from the decoder: how many rows has the matrix?": 49,
            "what is hidden by a causal mask? The source sentence is known from the beginning": 15,
            "each query has a weight for each key": 12,
            "one block, not both": 70,
        },
    ),
    Number(
        "(c)",
        3072,
        hint="how many vectors are kept for each token, in each block? And which tokens are there?",
        mistakes={
            "a key and a value, in each of the two blocks: what did you leave out?": 1536,
            "a key and a value, in each of the two blocks": 768,
            "the memory has keys and values, too, and they are kept": 1280,
            "those of the decoder's own tokens are kept, too": 1792,
            "<bos> is one of the five tokens": 3328,
            "<bos> has a key and a value, too": 2816,
            "nobody asks an old query again: it is not kept": 4608,
            "each key and each value is a vector of 64 numbers": 48,
        },
    ),
    right="49728, 35 and 3072: all three are right",
)


def _norm(X: Tensor, dim: int | tuple[int, ...] = -1, eps: float = 1e-5, *, unbiased: bool = False) -> Tensor:
    mean = X.mean(dim=dim, keepdim=True)
    return (X - mean) / (X.var(dim=dim, keepdim=True, unbiased=unbiased) + eps).sqrt()


Layer = Callable[[Tensor], Tensor]

# What a wrong order of addition and norm makes of X and a layer, by the hint for it.
_WRONG_ORDERS: dict[bool, dict[str, Callable[[Tensor, Layer, Layer], Tensor]]] = {
    False: {
        "post-norm: the norm is over the sum. What is the mean of your output?": lambda X, f, norm: X + norm(f(X)),
        "norm_first is False: which of the two orders of (7.4) is that?": lambda X, f, norm: X + f(norm(X)),
        "one norm is enough, after the sum": lambda X, f, norm: norm(norm(X) + norm(f(X))),
        "post-norm: the layer gets X itself": lambda X, f, norm: norm(X + f(norm(X))),
        "where is the X that is added?": lambda X, f, norm: norm(f(X)),
        "and the norm?": lambda X, f, norm: X + f(X),
    },
    True: {
        "norm_first is True: which of the two orders of (7.4) is that?": lambda X, f, norm: norm(X + f(X)),
        "pre-norm adds to the stream itself, not to what the norm has made of it": lambda X, f, norm: (
            norm(X) + f(norm(X))
        ),
        "pre-norm: the norm comes before the layer": lambda X, f, norm: X + norm(f(X)),
        "where is the stream that is added to?": lambda X, f, norm: f(norm(X)),
        "pre-norm has no norm after the sum": lambda X, f, norm: norm(X + f(norm(X))),
    },
}
_WRONG_NORMS: dict[str, Layer] = {
    "which numbers are normed together? Those of one token: the last dimension": lambda X: _norm(X, dim=1),
    "each token has a mean of its own": lambda X: _norm(X, dim=(1, 2)),
    "each token has a mean of its own, not the whole batch": lambda X: _norm(X, dim=(0, 1, 2)),
    "var and std divide by d - 1 unless told otherwise: unbiased=False": lambda X: _norm(X, unbiased=True),
    "divide by the standard deviation, which is the root of the variance": lambda X: (
        (X - X.mean(-1, keepdim=True)) / (X.var(-1, keepdim=True, unbiased=False) + 1e-5)
    ),
    "subtract the mean": lambda X: X / (X.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt(),
    "epsilon belongs under the root": lambda X: (
        (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True, unbiased=False) + 1e-5)
    ),
    "and epsilon? A token of equal numbers has the variance 0": lambda X: _norm(X, eps=0.0),
    "which epsilon? (7.3) has 1e-5": lambda X: _norm(X, eps=1e-6),
}


@checker("add-norm")
def check_add_norm(add_and_norm: Any) -> str:
    """`add_and_norm(X, layer, norm_first)`: a layer in the residual stream, in both orders."""
    expect_function(add_and_norm)
    tokens = 3 * torch.randn(2, 3, 4) + 1
    flat = torch.full((1, 2, 4), 2.0)
    for X, given, tolerance in (
        (tokens, "random tokens", 1e-3),  # which epsilon it is does not show yet
        (0.005 * tokens, "tiny random tokens", 1e-4),
        (flat, "a token of equal numbers", 1e-4),
    ):
        for norm_first, orders in _WRONG_ORDERS.items():
            layer: Layer = lambda Z: Z.sin()  # noqa: E731
            expected = X + layer(_norm(X)) if norm_first else _norm(X + layer(X))
            mistakes = {
                hint: X + layer(norm(X)) if norm_first else norm(X + layer(X)) for hint, norm in _WRONG_NORMS.items()
            }
            mistakes |= {hint: order(X, layer, _norm) for hint, order in orders.items()}
            argument = X.clone()
            expect_close(
                add_and_norm(argument, layer, norm_first),
                expected,
                claim=f"it is {'pre' if norm_first else 'post'}-norm",
                given=f"{given}, norm_first={norm_first}",
                hint="print the result after each step: layer, sum, norm",
                mistakes=mistakes,
                tolerance=tolerance,
            )
            expect_unchanged("X", argument, X, "X += ... changes the caller's tensor")
    return "both orders, each token normed by itself, epsilon under the root, X unchanged"


@checker("debug-decoder")
def check_debug_decoder(decoder: Any) -> str:
    """A pre-norm decoder block: causal in both modes, keys and values from the memory, added to the stream."""
    expect_function(decoder)
    X, memory = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    look_back, look_across = (MultiHeadAttention(8, 8, 8, 8, 2, 0.0) for _ in range(2))
    ffn = PositionWiseFFN(8, 16, 8)
    later = torch.cat([X[:, :3], torch.randn(2, 2, 8)], dim=1)

    def run(X: Tensor, memory: Tensor, training: bool) -> Tensor:
        return _run_decoder(lambda *inputs: decoder(*inputs, look_back, look_across, ffn, training), X, memory)

    leaks: list[bool] = []
    with torch.no_grad():
        for training in (False, True):
            if torch.equal(run(X, memory + 1.0, training), run(X, memory, training)):
                hint = "cross-attention: the queries come from the decoder. And the keys and values?"
                raise WrongAnswer("another memory gives another output", hint, given=f"training={training}")
            moved = (run(later, memory, training) - run(X, memory, training))[:, :3].abs().max().item()
            leaks.append(moved > 1e-6)
        if any(leaks):
            only_once = "when does a decoder have to be causal? Always: a mask that comes and goes measures nothing"
            hint = "which tokens may token 0 see? Itself, and no other" if all(leaks) else only_once
            given = "tokens 3 and 4 of X are changed, " + ("in both modes" if all(leaks) else "in one mode of two")
            raise WrongAnswer("the outputs 0 to 2 stay as they are", hint, given=given)
        for training in (False, True):
            _expect_decoder(run(X, memory, training), X, memory, look_back, look_across, ffn)
    return "causal in training and in evaluation, keys and values from the memory, all added to the stream"


def _run_decoder(decoder: Callable[[Tensor, Tensor], Any], X: Tensor, memory: Tensor) -> Tensor:
    try:
        found = decoder(X.clone(), memory.clone())
    except ValueError as error:
        hint = "keys and values both come from the memory, all of it; its length has nothing to do with X"
        if "mask must broadcast" in str(error):
            hint = "cross-attention needs no causal mask: the whole source is known"
        raise WrongAnswer("5 target tokens and a memory of 3 go together", hint, got=error) from error
    except RuntimeError as error:
        if "must match the size" not in str(error):
            raise
        hint = "who asks, and who is asked? What is added to X has a row for each token of X"
        raise WrongAnswer("5 target tokens and a memory of 3 go together", hint, got=error) from error
    return expect_shape(found, X.shape, claim="it returns a tensor of the shape of X", hint="return the stream")


def _expect_decoder(got: Tensor, X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any) -> None:
    mask, normed = causal_mask(X.shape[1]), _norm(X)
    first = X + look_back(normed, normed, normed, mask=mask)
    found = look_across(_norm(first), memory, memory)
    expect_close(
        got,
        first + found + ffn(_norm(first + found)),
        claim="it is a pre-norm decoder block",
        given="random X of 5 tokens, memory of 3",
        hint="three times: read the stream through a norm, and add to the stream",
        mistakes=_list_wrong_streams(X, memory, look_back, look_across, ffn),
    )


def _list_wrong_streams(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any) -> dict[str, Tensor]:
    def rest(X: Tensor) -> Tensor:
        return X + ffn(_norm(X))

    def across(queries: Tensor, memory: Tensor = memory, mask: Tensor | None = None) -> Tensor:
        return look_across(queries, memory, memory, mask=mask)

    mask, normed = causal_mask(X.shape[1]), _norm(X)
    back = look_back(normed, normed, normed, mask=mask)
    first, on_normed = X + back, normed + back
    found = across(_norm(first))
    second = first + found
    post = _norm(X + look_back(X, X, X, mask=mask))
    post = _norm(post + across(post))
    strict = X + look_back(normed, normed, normed, mask=mask.tril(-1))
    on_source = torch.ones(5, 3, dtype=torch.bool).tril()
    return {
        "the first addition, too: the stream itself is added to": rest(on_normed + across(_norm(on_normed))),
        "the last addition, too: the stream itself is added to": _norm(second) + ffn(_norm(second)),
        "this is post-norm: pre-norm has its norms before the layers": _norm(post + ffn(post)),
        "a token sees itself, too": rest(strict + across(_norm(strict))),
        "the stream is X: what is added to must not have gone through a norm": rest(_norm(first) + found),
        "the stream goes on after cross-attention: what is added to what?": rest(found),
        "cross-attention reads the stream as it is now, after self-attention": rest(first + across(normed)),
        "the memory has its norm from the encoder": rest(first + across(_norm(first), _norm(memory))),
        "the queries of cross-attention go through the norm, as everything that a layer reads": (
            rest(first + across(first))
        ),
        "the feed-forward network reads through a norm, too": second + ffn(second),
        "the feed-forward network adds to the stream": ffn(_norm(second)),
        "where is the first residual connection?": rest(back + across(_norm(back))),
        "a causal mask is for the target tokens: the whole source is known": (
            rest(first + across(_norm(first), mask=on_source))
        ),
    }
