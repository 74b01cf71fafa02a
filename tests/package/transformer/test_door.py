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
from tests.package.refusals import Row, assert_refused
from tests.package.transformer.shared import either_norm

WHOLE, OUTSIDE = torch.tensor([2, 1, 3]), torch.tensor([[0, 7]])
DECODER = d2l.TransformerDecoder(8, 6, 8, 2, 1, 0.0)


def kept(batch: int = 2, steps: int = 4) -> Tensor:
    return torch.zeros(batch, 3, steps, 6)


X, PAST = torch.zeros(2, 1, 18), (kept(), kept())
EMPTY, META = torch.zeros(2, 0, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64, device="meta")


RIGHT: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (door.check_tokens, [(torch.tensor([[0, 6]]), 7), (EMPTY, 1), (META.int(), 1)]),
    (door.check_counts, [("x", torch.tensor([0, 9]), 2), ("x", torch.tensor([0, 9]), None)]),
    (door.check_past, [(PAST, X, 3, 6)]),
    (door.check_state, [(DecoderState(past=(PAST, PAST)), EMPTY, 2, 0), (DecoderState(memory=(PAST,)), EMPTY, 2, 1)]),
    (door.check_padding, [(torch.tensor([0, 3]), META), (None, EMPTY)]),
]
UNEVEN = DecoderState(past=(PAST, (kept(steps=5), kept(steps=5))))
WRONG: list[Row] = [
    (door.check_tokens, "tokens", {"list": ([1], 7), "int64 (1,)": (torch.tensor([1]), 7), "0 to 7": (OUTSIDE, 7)}),
    (
        door.check_tokens,
        "tokens",
        {"float32": (EMPTY.float(), 7), "uint8": (EMPTY.byte(), 7), "-1 to 6": (OUTSIDE - 1, 7)},
    ),
    (
        door.check_counts,
        "x",
        {"float32": ("x", torch.zeros(2), 2), "(3,)": ("x", WHOLE, 2), "(2, 0)": ("x", EMPTY, None)},
    ),
    (door.check_counts, "x", {"-2": ("x", -WHOLE[:2], 2)}),
    (door.check_pair, "x", {"float32 (2, 3, 4, 6)": ("x", kept()), "list": ("x", [*PAST]), "tuple": ("x", PAST[:1])}),
    (door.check_pair, "x", {"tuple": ("x", (kept(), None)), "and (3, 4, 6)": ("x", (kept(), kept()[0]))}),
    (door.check_past, "past", {"(2, 3, 5, 6)": ((kept(), kept(steps=5)), X, 3, 6)}),
    (
        door.check_past,
        "past",
        {"(1, 3, 4, 6)": ((kept(1), kept()), X, 3, 6), "64": ((kept(), kept().double()), X, 3, 6)},
    ),
    (
        door.check_state,
        "state",
        {"float32": (kept(), EMPTY, 2, 0), "0 and 1": (DecoderState(past=(PAST,)), EMPTY, 2, 0)},
    ),
    (
        door.check_state,
        "state",
        {"1 and 0": (DecoderState(memory=(PAST,)), EMPTY, 2, 2), "[4, 5]": (UNEVEN, EMPTY, 2, 0)},
    ),
    (door.check_state, "tokens", {"2, got (1, 3)": (DecoderState(past=(PAST, PAST)), META[:1], 2, 0)}),
    (door.check_padding, "left_padding", {"3, the number of tokens, got 4": (torch.tensor([0, 4]), META)}),
    (door.hide_padding, "memory_valid_lens", {"1 to 2": (X, torch.tensor([1, 2])), "(1,)": (X, torch.tensor([1]))}),
    (
        lambda past: DecoderOnlyBlock(18, 20, 3, 0.0)(X, past=past),
        "past",
        {"got torch.float32 (1,": ((kept(1), kept(1)),)},
    ),
    (lambda n: DECODER(OUTSIDE, torch.zeros(1, 3, 6), left_padding=torch.tensor([n])), "left_padding", {"got 3": (3,)}),
]


@pytest.mark.parametrize(("check", "calls"), RIGHT)
def test_what_fits_comes_in(check: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    for given in calls:
        check(*given)


@pytest.mark.parametrize("row", WRONG)
def test_what_does_not_fit_is_refused_by_name(row: Row) -> None:
    assert_refused(row)


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
