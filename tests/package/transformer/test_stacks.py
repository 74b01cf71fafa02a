"""Stacks of Transformer blocks: equal to PyTorch's, states that do not fit are refused, dropout where it belongs."""

from typing import Any

import pytest
import torch
from torch import nn
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
    layers = nn.TransformerEncoderLayer(12, 3, 20, **settings), nn.TransformerDecoderLayer(12, 3, 20, **settings)
    theirs = (
        nn.TransformerEncoder(layers[0], 2, norm=norms[0], enable_nested_tensor=False).double(),
        nn.TransformerDecoder(layers[1], 2, norm=norms[1]).double(),
    )
    ours = [kind(11, 12, 20, 3, 2, 0.0, True, norm_first=norm_first).double() for kind in (ENCODER, DECODER)]
    for model in (*theirs, *ours):
        shake(model)
    encoder, decoder = ours
    for model, other in zip(ours, theirs, strict=True):
        for blk, layer in zip(model.blks, other.layers, strict=True):
            load_parameters(blk, layer.state_dict())
        if norm_first:
            model.norm.load_state_dict(other.norm.state_dict())
    source, target, lens = torch.randint(11, (2, 6)), torch.randint(11, (2, 5)).int(), torch.tensor([6, 2])
    padding = ~d2l.valid_lens_mask(lens, 6)[:, 0]
    mask = d2l.causal_mask(6)
    memory = theirs[0](encoder.embedding(source) + encoder.on_tokens.P[:, :6], mask=~mask, src_key_padding_mask=padding)
    Y, later = decoder.embedding(target) + decoder.on_tokens.P[:, :5], ~d2l.causal_mask(5)
    expected = theirs[1](Y, memory, tgt_mask=later, memory_key_padding_mask=padding)
    torch.testing.assert_close(decoder(target, encoder(source, lens, mask=mask), lens), decoder.dense(expected))


def test_decoding_in_parts_has_the_gradients_of_the_parallel_pass() -> None:
    model, memory, tokens = small().double(), drawn(2, 4, 8).requires_grad_(), torch.randint(7, (2, 5))
    state, parts = model.start(memory), []
    for part in tokens.split([3, 0, 2], dim=1):
        logits, state, weights = model.step(part, state)
        parts.append(logits)
        assert weights is None
    inputs = [memory, *model.parameters()]
    both = torch.cat(parts, dim=1), model(tokens, memory)
    torch.testing.assert_close(*(torch.autograd.grad(logits.square().sum(), inputs) for logits in both))


def test_a_state_keeps_its_own_lengths() -> None:
    model, memory, lens = small(), torch.randn(2, 3, 8), torch.tensor([3, 1])
    state = model.start(memory, lens)
    expected = model.step(TOKENS, state)[0]
    lens[:] = 0
    torch.testing.assert_close(model.step(TOKENS, state)[0], expected)


BLOCKS: list[tuple[Any, Any]] = [
    (d2l.TransformerEncoderBlock, lambda blk, X: blk(X)),
    (d2l.TransformerDecoderBlock, lambda blk, X: blk(X, (torch.zeros(2, 2, 3, 4), torch.zeros(2, 2, 3, 4)))),
]


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
