"""Stacks of Transformer blocks: equal to PyTorch's, states that do not fit are refused, dropout where it belongs."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests.package.transformer.shared import SCHEMES, drawn, either_norm, make, shake

ENCODER, DECODER, WRITER = d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer
TOKENS = torch.zeros(2, 1, dtype=torch.long)


@either_norm
@pytest.mark.parametrize("padded", [False, True])
def test_stacks_are_pytorchs(norm_first: bool, padded: bool) -> None:
    encoder, decoder, writer = ours = [make(kind, norm_first=norm_first) for kind in (ENCODER, DECODER, WRITER)]
    settings: Any = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    layer = nn.TransformerEncoderLayer(12, 3, 20, **settings)
    theirs: list[Any] = [
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double(),
        nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 20, **settings), 2).double(),
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double(),
    ]
    for model, other in zip(ours, theirs, strict=True):
        shake(other)
        for blk, block in zip(model.blks, other.layers, strict=True):
            load_parameters(blk, block.state_dict())
        other.norm = model.norm
    source, target, later = torch.randint(11, (2, 6)), torch.randint(11, (2, 5)).int(), ~d2l.causal_mask(5)
    lens, mask = (torch.tensor([6, 2]), d2l.causal_mask(6)) if padded else (None, None)
    padding, hidden = (~d2l.valid_lens_mask(lens, 6)[:, 0], ~mask) if padded else (None, None)
    X, Y, Z = (
        model.embedding(tokens) + model.on_tokens.P[:, : tokens.shape[1]]
        for model, tokens in zip(ours, (source, target, target), strict=True)
    )
    memory = theirs[0](X, mask=hidden, src_key_padding_mask=padding)
    expected = [
        decoder.dense(theirs[1](Y, memory, tgt_mask=later, memory_key_padding_mask=padding)),
        writer.dense(theirs[2](Z, mask=later)),
    ]
    found = [decoder(target, encoder(source, lens, mask=mask), lens), writer(target)]
    torch.testing.assert_close(found, expected)
    inputs = [model.embedding.weight for model in ours]
    both = (sum(logits.square().sum() for logits in each) for each in (found, expected))
    torch.testing.assert_close(*(torch.autograd.grad(total, inputs) for total in both))


def test_a_state_keeps_its_own_lengths() -> None:
    model, memory, lens = make(DECODER), drawn(2, 3, 12), torch.tensor([3, 1])
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
    encoder = make(ENCODER, positions=positions)
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
