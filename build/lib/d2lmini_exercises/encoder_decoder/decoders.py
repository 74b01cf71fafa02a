"""A decoder block: who sees what, and what is added to what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.attention.masks import causal_mask
from d2lmini.attention.pooling import DotProductAttention
from d2lmini_exercises.core import (
    WrongAnswer,
    checker,
    expect_close,
    expect_function,
    expect_shape,
    expect_unchanged,
    is_near,
)
from d2lmini_exercises.gradients import expect_gradients
from d2lmini_exercises.inputs import draw_inputs
from d2lmini_exercises.same import IN_PLACE

Block = Callable[[Tensor, Tensor], Tensor]
_CODE = (
    "import d2lmini as d2l; look = d2l.DotProductAttention(0); ffn = lambda X: X.cumsum(dim=-1).sin(); "
    "self_attention = lambda *inputs, **kwargs: 2 * look(*inputs, **kwargs); "
    "cross_attention = lambda *inputs, **kwargs: 3 * look(*inputs, **kwargs)"
)
_LOOK = DotProductAttention(0.0)


def _back(*inputs: Any, **kwargs: Any) -> Any:
    return 2 * _LOOK(*inputs, **kwargs)


def _across(*inputs: Any, **kwargs: Any) -> Any:
    return 3 * _LOOK(*inputs, **kwargs)


def _ffn(X: Tensor) -> Tensor:
    return X.cumsum(dim=-1).sin()


@checker("debug-decoder", trained=True)
def check_debug_decoder(decoder: Any) -> str:
    """A pre-norm decoder block: causal in both modes, keys and values from the memory, added to the stream."""
    expect_function(decoder)
    for seed, target, source in ((1, (2, 5, 4), (2, 3, 4)), (2, (3, 2, 6), (3, 4, 6)), (3, (1, 4, 8), (1, 4, 8))):
        (X, memory), draw = draw_inputs(seed, most=9, X=target, memory=source)
        for training in (True, False):
            given = f"{draw}; {_CODE}; training = {training}"
            got = _run_decoder(decoder, X, memory, training, given)
            expected = _decode(X, memory)
            hint = "" if is_near(got, expected, 1e-4) else _find_fault(decoder, X, memory)
            expect_close(got, expected, claim="it is a pre-norm decoder block", given=given, hint=hint)
            expect_unchanged("X", X, X, IN_PLACE, given=given)
            expect_unchanged("memory", memory, memory, IN_PLACE, given=given)
    X[0, 1] = 0
    expect_close(
        _run_decoder(decoder, X / 1000, memory, training),
        _decode(X / 1000, memory),
        claim="a token of small or equal features has a norm, too",
        given=f"{draw}; X[0, 1] = 0; X = X / 1000; {_CODE}; training = {training}",
        hint="where is the norm's epsilon? Under the root: 1e-5, as nn.LayerNorm has",
    )
    (X, memory), draw = draw_inputs(1, most=9, X=(2, 5, 4), memory=(2, 3, 4))
    expect_gradients(
        lambda X, memory: decoder(X, memory, _back, _across, _ffn, True),
        _decode,
        given=f"{draw}; {_CODE}; training = True",
        X=X,
        memory=memory,
    )
    return (
        "causal in training and in evaluation, keys and values from the memory, all added to the stream; gradients too"
    )


def _run_decoder(decoder: Any, X: Tensor, memory: Tensor, training: bool, given: str = "") -> Tensor:
    try:
        found = decoder(X, memory, _back, _across, _ffn, training)
    except (ValueError, RuntimeError) as error:
        hint = _explain(str(error))
        if not hint:
            raise
        raise WrongAnswer("the block runs", hint, given=given, got=error) from error
    return expect_shape(found, X.shape, claim="it returns a tensor of the shape of X", hint="return the stream")


def _explain(error: str) -> str:
    """The hint for an error that a layer raises; none for one of the student's own."""
    hints = {
        "mask must be a boolean tensor": "a mask holds True and False: True where a query may look",
        "mask must broadcast": "cross-attention needs no causal mask: the whole source is known",
        "causal_mask needs": "cross-attention needs no causal mask: the whole source is known",
        "one value for each key": "keys and values both come from the memory, all of it",
        "valid_lens must be": "the mask goes by its name: self_attention(Y, Y, Y, mask=...)",
        "must match the size": "who asks, and who is asked? What is added to X has a row for each token of X",
    }
    return next((hint for piece, hint in hints.items() if piece in error), "")


def _find_fault(decoder: Any, X: Tensor, memory: Tensor) -> str:
    """A hint for a block that returns something wrong: what does not move that should, what moves that should not?"""
    later, shown = X.clone(), len(X[0]) // 2
    later[:, shown:] += torch.arange(1.0, X.shape[2] + 1).square()  # a constant would be lost in the norm
    other = memory.flip(2) + memory.square()
    leaks = []
    for training in (True, False):
        got = _run_decoder(decoder, X, memory, training)
        if torch.equal(_run_decoder(decoder, X, other, training), got):
            return "another memory gives the same output. Who is asked in cross-attention?"
        moved = (_run_decoder(decoder, later, memory, training) - got)[:, :shown].abs().max().item()
        leaks.append(not moved < 1e-6)
    for hint, wrong in _WRONG_BLOCKS.items():
        found = (_run_decoder(decoder, X, memory, training) for training in (True, False))
        if all(torch.allclose(got, wrong(X, memory), atol=1e-4, equal_nan=True) for got in found):
            return hint
    if all(leaks):
        return "when the last tokens of X change, the first outputs move. Which tokens may token 0 see?"
    if any(leaks):
        return "when does a decoder have to be causal? Always: a mask that comes and goes measures nothing"
    return "print the stream after each of the three layers: what did the layer read, and what was its output added to?"


def _norm(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def _decode(
    X: Tensor,
    memory: Tensor,
    *,
    first: Callable[[Tensor, Tensor], Tensor] = lambda X, found: X + found,
    second: Callable[[Tensor, Tensor], Tensor] = lambda X, found: X + found,
    third: Callable[[Tensor, Tensor], Tensor] = lambda X, found: X + found,
    norm: Callable[[Tensor], Tensor] = _norm,
    ask: Callable[[Tensor], Tensor] = _norm,
    compute: Callable[[Tensor], Tensor] = _norm,
    diagonal: int = 0,
    cross: dict[str, Any] | None = None,
    back: Callable[..., Tensor] = _back,
    across: Callable[..., Tensor] = _across,
    ffn: Callable[[Tensor], Tensor] = _ffn,
) -> Tensor:
    """The right block, unless told otherwise."""
    n = X.shape[1]
    Y = norm(X)
    X = first(X, back(Y, Y, Y, mask=causal_mask(n).tril(diagonal)))
    X = second(X, across(ask(X), memory, memory, **(cross or {})))
    return third(X, ffn(compute(X)))


def _decode_post_norm(X: Tensor, memory: Tensor) -> Tensor:
    X = _norm(X + _back(X, X, X, mask=causal_mask(X.shape[1])))
    X = _norm(X + _across(X, memory, memory))
    return _norm(X + _ffn(X))


def _norm_all(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[1:])


def _block(**changes: Any) -> Block:
    return lambda X, memory: _decode(X, memory, **changes)


def _add_to_normed(X: Tensor, found: Tensor) -> Tensor:
    return _norm(X) + found


def _only_found(X: Tensor, found: Tensor) -> Tensor:
    return found


def _decode_cross_first(X: Tensor, memory: Tensor) -> Tensor:
    X = X + _across(_norm(X), memory, memory)
    X = X + _back(_norm(X), _norm(X), _norm(X), mask=causal_mask(X.shape[1]))
    return X + _ffn(_norm(X))


def _decode_by_triangle(X: Tensor, memory: Tensor) -> Tensor:
    mask = torch.ones(X.shape[1], memory.shape[1], dtype=torch.bool).tril()
    return _decode(X, memory, cross={"mask": mask})


# What a well-known mistake makes of X and a memory, by the hint for it.
_WRONG_BLOCKS: dict[str, Block] = {
    "each token has a norm of its own: which numbers does yours take together?": _block(
        norm=_norm_all, ask=_norm_all, compute=_norm_all
    ),
    "the first addition, too: the stream itself is added to": _block(first=_add_to_normed),
    "the last addition, too: the stream itself is added to": _block(third=_add_to_normed),
    "the stream is X: what is added to must not have gone through a norm": _block(second=_add_to_normed),
    "this is post-norm: pre-norm has its norms before the layers": _decode_post_norm,
    "a token sees itself, too": _block(diagonal=-1),
    "the stream goes on after cross-attention: what is added to what?": _block(second=_only_found),
    "cross-attention reads the stream as it is now, after self-attention": lambda X, memory: _decode(
        X, memory, ask=lambda _: _norm(X)
    ),
    "the memory has its norm from the encoder": lambda X, memory: _decode(X, _norm(memory)),
    "cross-attention reads through a norm, too": _block(ask=lambda X: X),
    "self-attention reads through a norm, too": _block(norm=lambda X: X),
    "the feed-forward network reads through a norm, too": _block(compute=lambda X: X),
    "the feed-forward network adds to the stream": _block(third=_only_found),
    "self-attention comes first: a token looks back before it looks across": _decode_cross_first,
    "keys and values are the memory, all of it": lambda X, memory: _decode(X, memory[:, :-1]),
    "the feed-forward network reads the features of one token": _block(ffn=lambda X: _ffn(X.mT).mT),
    "self_attention is a layer with weights of its own: call it": _block(back=_LOOK),
    "cross_attention is a layer with weights of its own: call it": _block(across=_LOOK),
    "where is the feed-forward network?": _block(third=lambda X, found: X),
    "where is the first residual connection?": _block(first=_only_found),
    "a causal mask is for the target tokens: the whole source is known": _decode_by_triangle,
    "there are two attentions: which of them is called where?": _block(back=_across, across=_back),
    "pre-norm has no norm at the end of a block; a stack has one": lambda X, memory: _norm(_decode(X, memory)),
}
