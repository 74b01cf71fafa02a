"""What blocks and stacks let in, to the bound and to the word, and what they do by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import d2lmini as d2l
from d2lmini.transformer import door
from d2lmini.transformer.blocks import DecoderOnlyBlock
from d2lmini.transformer.state import DecoderState
from tests.package.transformer.shared import either_norm

WHOLE = torch.int64


def kept(batch: int = 2, steps: int = 4, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(batch, 3, steps, 6, dtype=dtype)


X, PAST = torch.zeros(2, 1, 18), (kept(), kept())
EMPTY, META = torch.zeros(2, 0, dtype=WHOLE), torch.zeros(2, 3, dtype=WHOLE, device="meta")


@pytest.mark.parametrize(
    "call",
    [
        lambda: door.check_tokens(torch.tensor([[0, 6]]), 7),
        lambda: door.check_tokens(EMPTY, 1),
        lambda: door.check_tokens(META.int(), 1),
        lambda: door.check_counts("x", torch.tensor([0, 9]), 2),
        lambda: door.check_counts("x", torch.tensor([0, 9]), None),
        lambda: door.check_pair("x", PAST),
        lambda: door.check_past(PAST, X, 3, 6),
        lambda: door.check_state(DecoderState(past=(PAST, PAST)), EMPTY, 2, 0),
        lambda: door.check_state(DecoderState(memory=(PAST,)), EMPTY, 2, 1),
        lambda: door.check_padding(torch.tensor([0, 3]), META),
        lambda: door.check_padding(None, EMPTY),
    ],
)
def test_what_fits_comes_in(call: Callable[[], Any]) -> None:
    call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (
                lambda tokens=tokens: door.check_tokens(tokens, 7),
                f"tokens must be integers (int64 or int32) of shape (batch, steps), got {found}",
            )
            for tokens, found in [
                ([1], "list"),
                (torch.tensor([1]), "torch.int64 (1,)"),
                (torch.zeros(1, 1), "torch.float32 (1, 1)"),
                (torch.zeros(1, 1).byte(), "torch.uint8 (1, 1)"),
            ]
        ),
        (
            lambda: door.check_tokens(torch.tensor([[0, 7]]), 7),
            "tokens must lie in 0..6, got values from 0 to 7",
        ),
        (
            lambda: door.check_tokens(torch.tensor([[-1, 3]]), 7),
            "tokens must lie in 0..6, got values from -1 to 3",
        ),
        (lambda: door.check_counts("x", torch.zeros(2), 2), "x must be a tensor of integers, got torch.float32 (2,)"),
        (lambda: door.check_counts("x", torch.zeros(3, dtype=WHOLE), 2), "x must have shape (2,), got (3,)"),
        (lambda: door.check_counts("x", EMPTY, None), "x must have shape (batch,), got (2, 0)"),
        (lambda: door.check_counts("x", torch.tensor([3, -2]), 2), "x must be at least 0, got -2"),
        *(
            (
                lambda pair=pair: door.check_pair("x", pair),
                f"x must be a pair of tensors, keys and values, got {found}",
            )
            for pair, found in [
                (kept(), "torch.float32 (2, 3, 4, 6)"),
                ([kept(), kept()], "list"),
                ((kept(),), "tuple"),
                ((kept(), None), "tuple"),
            ]
        ),
        (
            lambda: door.check_pair("x", (kept(), kept()[0])),
            "x must be what keys_and_values returns, (batch, num_heads, keys, p) each, got (2, 3, 4, 6) and (3, 4, 6)",
        ),
        (
            lambda: door.check_past((kept(), kept(steps=5)), X, 3, 6),
            "past must be torch.float32 (2, 3, 4, 6), got torch.float32 (2, 3, 5, 6)",
        ),
        (
            lambda: door.check_past((kept(), kept(dtype=torch.float64)), X, 3, 6),
            "past must be torch.float32 (2, 3, 4, 6), got torch.float64 (2, 3, 4, 6)",
        ),
        (
            lambda: door.check_past((kept(batch=1), kept()), X, 3, 6),
            "past must be torch.float32 (2, 3, 4, 6), got torch.float32 (1, 3, 4, 6)",
        ),
        (
            lambda: door.check_state(kept(), EMPTY, 2, 0),
            "state must be what start or step has returned, got torch.float32 (2, 3, 4, 6)",
        ),
        (
            lambda: door.check_state(DecoderState(past=(PAST,)), EMPTY, 2, 0),
            "state must have a memory of 0 blocks and a past of 0 or 2, got 0 and 1",
        ),
        (
            lambda: door.check_state(DecoderState(memory=(PAST,)), EMPTY, 2, 2),
            "state must have a memory of 2 blocks and a past of 0 or 2, got 1 and 0",
        ),
        (
            lambda: door.check_state(DecoderState(past=(PAST, (kept(steps=5), kept(steps=5)))), EMPTY, 2, 0),
            "state must have one length of the past in all blocks, got [4, 5]",
        ),
        (
            lambda: door.check_state(DecoderState(past=(PAST, PAST)), META[:1], 2, 0),
            "tokens must have the batch size of the state, 2, got (1, 3)",
        ),
        (
            lambda: door.check_padding(torch.tensor([0, 4]), META),
            "left_padding must be at most 3, the number of tokens, got 4",
        ),
        (
            lambda: door.hide_padding(X, torch.tensor([1, 2])),
            "memory_valid_lens must lie in 0..1 (the number of keys), got values from 1 to 2",
        ),
        (
            lambda: door.hide_padding(X, torch.tensor([1])),
            "memory_valid_lens must have shape (2,), got (1,)",
        ),
        (
            lambda: DecoderOnlyBlock(18, 20, 3, 0.0)(X, past=(kept(batch=1), kept(batch=1))),
            "past must be torch.float32 (2, 3, 4, 6), got torch.float32 (1, 3, 4, 6)",
        ),
        (
            lambda: d2l.TransformerDecoder(7, 6, 8, 2, 1, 0.0)(
                torch.zeros(1, 2, dtype=WHOLE), torch.zeros(1, 3, 6), left_padding=torch.tensor([3])
            ),
            "left_padding must be at most 2, the number of tokens, got 3",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        call()
    assert str(refused.value) == message


@pytest.mark.parametrize("kind", [d2l.TransformerEncoderBlock, DecoderOnlyBlock, d2l.TransformerDecoderBlock])
def test_a_block_is_post_norm_and_without_biases_unless_one_asks(kind: Any) -> None:
    block = kind(6, 8, 2, 0.0)
    assert block.attention.W_q.bias is None and not block.norm_first
    assert kind(6, 8, 2, 0.0, True, norm_first=True).attention.W_q.bias is not None


@pytest.mark.parametrize("kind", [d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer])
def test_a_stack_is_too(kind: Any) -> None:
    stack = kind(7, 6, 8, 2, 1, 0.0)
    assert stack.blks[0].attention.W_q.bias is None and not stack.blks[0].norm_first
    assert isinstance(stack.norm, torch.nn.Identity)
    assert isinstance(kind(7, 6, 8, 2, 1, 0.0, norm_first=True).norm, torch.nn.LayerNorm)


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_looks_ahead_only_if_it_may(causal: bool) -> None:
    torch.manual_seed(0)
    encoder, tokens = d2l.TransformerEncoder(7, 6, 8, 2, 2, 0.0), torch.tensor([[1, 2, 3], [1, 2, 4]])
    found, weights = encoder(tokens, causal=causal, need_weights=True)
    assert torch.allclose(found[0, :2], found[1, :2]) == causal and len(weights) == 2
    assert all(bool(each[..., 0, 1:].any()) != causal for each in weights)


@either_norm
def test_a_block_with_a_memory_masks_its_past(norm_first: bool) -> None:
    torch.manual_seed(0)
    block, E = d2l.TransformerDecoderBlock(6, 8, 2, 0.0, norm_first=norm_first), torch.randn(1, 3, 6)
    memory, Z = block.cross_attention.keys_and_values(E, E), torch.randn(2, 4, 6)[:1]
    other = torch.cat([torch.randn(1, 1, 6), Z[:, 1:]], dim=1)
    mask = torch.tensor([False, True, True, True])
    found, expected = (block(Y, memory, mask=mask)[0] for Y in (Z, other))
    torch.testing.assert_close(found[:, 1:], expected[:, 1:])
    assert not torch.allclose(block(Z, memory)[0][:, 1:], block(other, memory)[0][:, 1:])


def test_weights_come_only_if_one_asks() -> None:
    Y = torch.randn(2, 3, 6)
    assert DecoderOnlyBlock(6, 8, 2, 0.0)(Y)[2] is None
    assert DecoderOnlyBlock(6, 8, 2, 0.0)(Y, need_weights=True)[2].shape == (2, 2, 3, 3)


def test_the_padding_on_the_left_stays_on_its_device() -> None:
    state = DecoderState(left_padding=torch.tensor([0, 1], device="meta"))
    shown = state.show_tokens(3)
    assert shown is not None and shown.is_meta and shown.shape == (2, 1, 1, 3)
