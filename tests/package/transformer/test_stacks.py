"""Stacks of Transformer blocks: equal to PyTorch's, states that do not fit are refused, dropout where it belongs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests.package.transformer.shared import SCHEMES, drawn, either_norm, shake

ENCODER, DECODER = d2l.TransformerEncoder, d2l.TransformerDecoder
TOKENS = torch.zeros(2, 1, dtype=torch.long)


def small(**changed: Any) -> d2l.TransformerDecoder:
    sizes = {"vocab_size": 7, "num_hiddens": 8, "ffn_num_hiddens": 16, "num_heads": 2, "num_blks": 2, "dropout": 0.0}
    torch.manual_seed(0)
    return DECODER(**(sizes | changed))


@either_norm
def test_stacks_are_pytorchs(norm_first: bool) -> None:
    torch.manual_seed(0)
    settings: Any = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    norms = [nn.LayerNorm(12) if norm_first else None for _ in range(2)]
    theirs = (
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(12, 3, 20, **settings), 2, norm=norms[0], enable_nested_tensor=False
        ).double(),
        nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 20, **settings), 2, norm=norms[1]).double(),
    )
    ours = [kind(11, 12, 20, 3, 2, 0.0, True, norm_first=norm_first).double() for kind in (ENCODER, DECODER)]
    for model in (*theirs, *ours):
        shake(model)
    encoder, decoder = ours
    for blk, layer in zip(encoder.blks, theirs[0].layers, strict=True):
        load_parameters(blk, layer.state_dict())
    for blk, layer in zip(decoder.blks, theirs[1].layers, strict=True):
        load_parameters(blk, layer.state_dict())
    for model, other in zip(ours, theirs, strict=True):
        if norm_first:
            model.norm.load_state_dict(other.norm.state_dict())
    source, target, lens = torch.randint(11, (2, 6)), torch.randint(11, (2, 5)).int(), torch.tensor([6, 2])
    padding = ~d2l.valid_lens_mask(lens, 6)[:, 0]
    mask = d2l.causal_mask(6)
    memory = theirs[0](encoder.embedding(source) + encoder.on_tokens.P[:, :6], mask=~mask, src_key_padding_mask=padding)
    expected = theirs[1](
        decoder.embedding(target) + decoder.on_tokens.P[:, :5],
        memory,
        tgt_mask=~d2l.causal_mask(5),
        memory_key_padding_mask=padding,
    )
    torch.testing.assert_close(decoder(target, encoder(source, lens, mask=mask), lens), decoder.dense(expected))


def test_decoding_in_parts_has_the_gradients_of_the_parallel_pass() -> None:
    model, memory, tokens = small().double(), drawn(2, 4, 8).requires_grad_(), torch.randint(7, (2, 5))
    state, parts = model.start(memory), []
    for part in tokens.split([3, 0, 2], dim=1):
        logits, state, weights = model.step(part, state)
        parts.append(logits)
        assert weights is None
    inputs = [memory, *model.parameters()]
    found, expected = (
        torch.autograd.grad(logits.square().sum(), inputs)
        for logits in (torch.cat(parts, dim=1), model(tokens, memory))
    )
    torch.testing.assert_close(found, expected)


@either_norm
@pytest.mark.parametrize("filling", [math.nan, math.inf, 1e30])
def test_padding_of_the_memory_may_hold_anything(filling: float, norm_first: bool) -> None:
    model, lens, tokens = small(norm_first=norm_first), torch.tensor([5, 3]), torch.zeros(2, 3, dtype=torch.long)
    memory = torch.randn(2, 5, 8)
    spoiled = memory.clone()
    spoiled[1, 3:] = filling
    results = []
    for given in (memory, spoiled):
        logits = model(tokens, given, lens)
        results.append((logits, torch.autograd.grad(logits.square().sum(), list(model.parameters()))))
    torch.testing.assert_close(results[1], results[0])


def test_a_state_keeps_its_own_lengths() -> None:
    model, memory, lens = small(), torch.randn(2, 3, 8), torch.tensor([3, 1])
    state = model.start(memory, lens)
    expected = model.step(TOKENS, state)[0]
    lens[:] = 0
    torch.testing.assert_close(model.step(TOKENS, state)[0], expected)


def foreign_state(**changed: Any) -> Any:
    """A state of another decoder, after one token."""
    other = small(**changed)
    width = other.embedding.embedding_dim
    return other.step(TOKENS, other.start(torch.randn(2, 3, width)))[1]


def with_past(change: Callable[[Any], Any]) -> Any:
    state = foreign_state()
    return state._replace(past=change(state.past))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda: None, "state must be what start or step has returned, got NoneType"),
        (lambda: foreign_state(num_blks=1), "a memory of 2 blocks and a past of 0 or 2, got 1 and 1"),
        (lambda: foreign_state(num_blks=3), "a memory of 2 blocks and a past of 0 or 2, got 3 and 3"),
        (lambda: with_past(lambda past: past[:1]), "a past of 0 or 2, got 2 and 1"),
        (lambda: with_past(lambda past: (*past, past[0])), "a past of 0 or 2, got 2 and 3"),
        (
            lambda: with_past(lambda past: (past[0], tuple(torch.cat([part, part], 2) for part in past[1]))),
            r"one length of the past in all blocks, got \[1, 2\]",
        ),
        (
            lambda: with_past(lambda past: tuple((K.half(), V.half()) for K, V in past)),
            r"past must be torch.float32 \(2, 2, 1, 4\), got torch.float16",
        ),
        (lambda: with_past(lambda past: tuple((K[:1], V[:1]) for K, V in past)), r"past must be .* \(2, 2, 1, 4\)"),
        (lambda: with_past(lambda past: tuple((K, torch.cat([V, V], 2)) for K, V in past)), "past must be"),
        (lambda: foreign_state(num_hiddens=16), r"K and V must have shape .*= \(2, 2, 3, 4\)|past must be"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(state: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().step(TOKENS, state())


@pytest.mark.parametrize(
    ("memory", "lens", "message"),
    [
        (torch.zeros(2, 3, 9), None, "memory must have size 8"),
        (torch.zeros(2, 3, 8).double(), None, "memory must have the dtype"),
        (torch.zeros(2, 8), None, "memory must have shape"),
        (torch.zeros(2, 3, 8), torch.tensor([4, 1]), r"memory_valid_lens must lie in 0\.\.3"),
        (torch.zeros(2, 3, 8), torch.tensor([0.5, 1.0]), "memory_valid_lens must hold whole numbers, got 0.5"),
        (torch.zeros(2, 3, 8), [1, 2], "memory_valid_lens must .*got list"),
        (torch.zeros(2, 3, 8), torch.tensor([1]), r"memory_valid_lens must have shape \(2,\), got \(1,\)"),
        (torch.zeros(2, 3, 8), torch.ones(2, 3).long(), r"memory_valid_lens must have shape .*got \(2, 3\)"),
    ],
)
def test_start_checks_what_it_keeps(memory: Tensor, lens: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().start(memory, lens)


BLOCKS: list[tuple[Any, Any]] = [
    (d2l.TransformerEncoderBlock, lambda blk, X: blk(X)),
    (d2l.TransformerDecoderBlock, lambda blk, X: blk(X, (torch.zeros(2, 2, 3, 4), torch.zeros(2, 2, 3, 4)))),
]


@either_norm
@pytest.mark.parametrize(("kind", "call"), BLOCKS)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(2, 5, 9), "X must have size 8"),
        (torch.zeros(2, 5, 8).double(), "X must have the dtype"),
        (torch.zeros(2, 5, 8).long(), "X must share one floating-point dtype"),
        (torch.zeros(5, 8), "X must have shape"),
        ([[1.0]], "X must be a tensor, got list"),
    ],
)
def test_blocks_check_their_tokens(kind: Any, call: Any, X: Any, message: str, norm_first: bool) -> None:
    with pytest.raises(ValueError, match=message):
        call(kind(8, 16, 2, 0.0, norm_first=norm_first), X)


@pytest.mark.parametrize("memory", [None, torch.zeros(2, 3, 8), (torch.zeros(2, 2, 3, 4),) * 3, (1, 2)])
def test_a_memory_that_is_no_pair_is_refused(memory: Any) -> None:
    with pytest.raises(ValueError, match="memory must be a pair of tensors, keys and values, got"):
        d2l.TransformerDecoderBlock(8, 16, 2, 0.0)(torch.zeros(2, 5, 8), memory)


@pytest.mark.parametrize("X", [torch.zeros(2, 3, 5), torch.zeros(2, 3, 4).double(), "X"])
def test_the_position_wise_network_checks_its_input(X: Any) -> None:
    with pytest.raises(ValueError, match="X must"):
        d2l.PositionWiseFFN(4, 8, 4)(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small(dropout=1.5), "dropout must be a number from 0 to 1, got 1.5"),
        (lambda: small(dropout=None), "dropout must be a number from 0 to 1, got None"),
        (lambda: small(num_hiddens=-2), "num_hiddens must be an integer of at least 1, got -2"),
        (lambda: small(num_hiddens=8.0), "num_hiddens must be an integer of at least 1, got 8.0"),
        (lambda: small(num_blks=0), "num_blks must be an integer of at least 1, got 0"),
        (lambda: small(norm_first="no"), "norm_first must be True or False, got 'no'"),
        (lambda: small(use_bias=0), "use_bias must be True or False, got 0"),
        (lambda: d2l.DotProductAttention(math.nan), "dropout must be"),
        (lambda: d2l.AdditiveAttention(2, 2, 2, True), "dropout must be"),
        (lambda: d2l.PositionalEncoding(4, -0.1), "dropout must be"),
    ],
)
def test_settings_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("tokens", [torch.zeros(1, 2, dtype=torch.uint8), torch.zeros(1, 2, dtype=torch.bool)])
def test_tokens_that_torch_cannot_look_up_are_refused(tokens: Tensor) -> None:
    for kind in (ENCODER, DECODER):
        with pytest.raises(ValueError, match=r"tokens must be integers \(int64 or int32\)"):
            kind(7, 8, 16, 2, 1, 0.0).embed(tokens)
        assert kind(7, 8, 16, 2, 1, 0.0).embed(torch.zeros(0, 2).int()).shape == (0, 2, 8)


@pytest.mark.parametrize("positions", SCHEMES[1:])
def test_positions_reach_the_tokens_or_every_block(positions: str) -> None:
    inside = d2l.make_positions(positions, 8, 2)[1]
    for kind in (ENCODER, DECODER):
        torch.manual_seed(0)
        model = kind(7, 8, 16, 2, 2, 0.0, positions=positions, max_len=9)
        assert all(type(blk.attention.positions) is type(inside) for blk in model.blks)
        assert isinstance(model.on_tokens, nn.Identity) == (inside is not None)
    encoder = ENCODER(7, 8, 16, 2, 2, 0.0, positions=positions, max_len=9).double()
    shake(encoder)
    tokens, order = torch.arange(6)[None], [1, 0, 2, 4, 3, 5]
    assert not torch.allclose(encoder(tokens)[:, order], encoder(tokens[:, order]))


@either_norm
@pytest.mark.parametrize(("kind", "call"), BLOCKS)
def test_all_that_a_layer_adds_is_dropped_and_nothing_else(kind: Any, call: Any, norm_first: bool) -> None:
    torch.manual_seed(0)
    blk, X = kind(8, 16, 2, 1.0, norm_first=norm_first), torch.randn(2, 3, 8)
    output = call(blk, X)
    expected, norms = X, 0 if norm_first else 2 + hasattr(blk, "cross_attention")
    for _ in range(norms):
        expected = F.layer_norm(expected, [8])
    torch.testing.assert_close(output[0] if isinstance(output, tuple) else output, expected)


@pytest.mark.parametrize("kind", [ENCODER, DECODER])
def test_weights_and_embeddings_are_dropped_as_well(kind: Any) -> None:
    model = kind(7, 8, 16, 2, 1, 0.5, positions="none")
    assert (model.embed(torch.zeros(4, 9).long()) == 0).any()
    attentions = [part for part in model.modules() if isinstance(part, d2l.MultiHeadAttention)]
    assert len(attentions) == (1 if kind is ENCODER else 2)
    for attention in attentions:
        X = torch.randn(2, 3, 8)
        assert not torch.equal(attention(X, X, X), attention(X, X, X))
