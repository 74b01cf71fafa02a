"""The Transformer: equal to PyTorch's layers, causal always, the same token by token, and blind to padding."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests.package.transformer.shared import SCHEMES, drawn, either_norm, shake


def decoder(**kwargs: Any) -> d2l.TransformerDecoder:
    torch.manual_seed(0)
    made = d2l.TransformerDecoder(11, 12, 20, 3, 2, 0.0, True, max_len=20, **kwargs).double()
    for parameter in made.parameters():  # tables that are 0 at first would hide a mistake
        nn.init.normal_(parameter, std=0.5)
    return made.eval()


def assert_same_gradients(ours: Tensor, theirs: Tensor, inputs: list[Tensor]) -> None:
    torch.testing.assert_close(ours, theirs)
    grads = [torch.autograd.grad(output.square().sum(), inputs, retain_graph=True) for output in (ours, theirs)]
    for our_grad, their_grad in zip(*grads, strict=True):
        torch.testing.assert_close(our_grad, their_grad)


@either_norm
@pytest.mark.parametrize("padded", [False, True])
def test_the_encoder_block_is_pytorchs(norm_first: bool, padded: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=norm_first).double()
    shake(theirs)
    ours = d2l.TransformerEncoderBlock(12, 20, 3, 0.0, True, norm_first=norm_first).double()
    load_parameters(ours, theirs.state_dict())
    X = drawn(2, 5, 12).requires_grad_()
    lens = torch.tensor([5, 3]) if padded else None
    ignored = None if lens is None else ~d2l.valid_lens_mask(lens, 5)[:, 0]
    counted = torch.ones(2, 5, 1) if ignored is None else ~ignored[..., None]
    assert_same_gradients(ours(X, lens) * counted, theirs(X, src_key_padding_mask=ignored) * counted, [X])
    output, weights = ours(X, lens, need_weights=True)
    torch.testing.assert_close(output, ours(X, lens))
    assert weights.shape == (2, 3, 5, 5)


@either_norm
@pytest.mark.parametrize("padded", [False, True])
def test_the_decoder_block_is_pytorchs(norm_first: bool, padded: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.TransformerDecoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=norm_first).double()
    shake(theirs)
    ours = d2l.TransformerDecoderBlock(12, 20, 3, 0.0, True, norm_first=norm_first).double()
    load_parameters(ours, theirs.state_dict())
    X, E = drawn(2, 5, 12).requires_grad_(), drawn(2, 7, 12).requires_grad_()
    lens = torch.tensor([7, 4]) if padded else None
    ignored = None if lens is None else ~d2l.valid_lens_mask(lens, 7)[:, 0]
    later = d2l.to_mha_mask(d2l.causal_mask(5), 3)
    expected = theirs(X, E, tgt_mask=later, memory_key_padding_mask=ignored)
    output, (K, V), weights = ours(X, ours.cross_attention.keys_and_values(E, E), lens)
    assert_same_gradients(output, expected, [X, E])
    assert weights is None and K.shape == V.shape == (2, 3, 5, 4)
    with_weights, _, (to_self, to_memory) = ours(X, ours.cross_attention.keys_and_values(E, E), lens, need_weights=True)
    torch.testing.assert_close(with_weights, expected)
    assert to_self.shape == (2, 3, 5, 5) and to_memory.shape == (2, 3, 5, 7)
    assert (to_self.triu(1) == 0).all() and (lens is None or (to_memory[1, ..., 4:] == 0).all())


def test_the_position_wise_network_is_a_convolution_with_kernel_1() -> None:
    torch.manual_seed(0)
    ffn, X = d2l.PositionWiseFFN(4, 8, 3), torch.randn(2, 5, 4)
    hidden = F.relu(F.conv1d(X.transpose(1, 2), ffn.dense1.weight[..., None], ffn.dense1.bias))
    expected = F.conv1d(hidden, ffn.dense2.weight[..., None], ffn.dense2.bias).transpose(1, 2)
    torch.testing.assert_close(ffn(X), expected)


@either_norm
@pytest.mark.parametrize("positions", SCHEMES)
def test_padding_never_changes_a_result(positions: str, norm_first: bool) -> None:
    torch.manual_seed(0)
    settings: Any = {"positions": positions, "norm_first": norm_first}
    encoder, model = d2l.TransformerEncoder(11, 12, 20, 3, 2, 0.0, True, max_len=20, **settings), decoder(**settings)
    shake(encoder.double())
    source, target = torch.randint(11, (2, 5)), torch.randint(11, (2, 4))
    lens = torch.tensor([5, 3])
    expected = model(target, encoder(source, lens), lens)
    for filling in (0, 7):
        longer = F.pad(source, (0, 4), value=filling)
        longer[1, 3:] = filling
        found = model(F.pad(target, (0, 3), value=filling), encoder(longer, lens), lens)
        torch.testing.assert_close(found[:, :4], expected)


@either_norm
def test_the_encoder_stack(norm_first: bool) -> None:
    torch.manual_seed(0)
    encoder = d2l.TransformerEncoder(7, 8, 16, 2, 3, 0.0, norm_first=norm_first)
    tokens = torch.randint(7, (2, 5))
    X = encoder.embedding(tokens) + encoder.on_tokens.P[:, :5]
    expected_weights = []
    for blk in encoder.blks:
        X, weights = blk(X, need_weights=True)
        expected_weights.append(weights)
    X = F.layer_norm(X, [8]) if norm_first else X
    output, found = encoder(tokens, need_weights=True)
    torch.testing.assert_close(output, X)
    torch.testing.assert_close(found, expected_weights)
    torch.testing.assert_close(encoder(tokens), X, atol=1e-5, rtol=1e-5)
    causal = encoder(tokens, mask=d2l.causal_mask(5), need_weights=True)[1]
    assert all((weights.triu(1) == 0).all() for weights in causal)


def test_layers_are_made_once_and_known_by_name() -> None:
    scheme = d2l.RotaryEmbedding()
    made = d2l.TransformerDecoderBlock(8, 16, 2, 0.1, positions=scheme)
    assert made.attention.positions is scheme and made.cross_attention.positions is None
    for kind, both_ways in ((d2l.TransformerEncoder, True), (d2l.TransformerDecoder, False)):
        tables = kind(7, 8, 16, 2, 3, 0.1, positions="t5").blks
        assert [blk.attention.positions.bidirectional for blk in tables] == [both_ways] * 3
        assert len({id(blk.attention.positions.table) for blk in tables}) == 3  # each block learns its own
    stacks = d2l.TransformerEncoder(7, 8, 16, 2, 3, 0.1), d2l.TransformerDecoder(7, 8, 16, 2, 3, 0.1)
    assert all(len(stack.blks) == 3 and stack.on_tokens.P.shape == (1, 1000, 8) for stack in stacks)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
def test_attending_to_a_cache_is_calling_the_layer(positions: str | None, need_weights: bool) -> None:
    torch.manual_seed(0)
    scheme = d2l.make_positions(positions, 12, 3)[1] if positions else None
    mha = d2l.MultiHeadAttention(6, 5, 7, 12, 3, 0.0, True, positions=scheme).double()
    Q, K, V, lens = drawn(2, 3, 5), drawn(2, 4, 6), drawn(2, 4, 7), torch.tensor([4, 0])
    cache = mha.keys_and_values(K, V)
    assert [tuple(part.shape) for part in cache] == [(2, 3, 4, 4)] * 2
    for restricted in ({}, {"valid_lens": lens}, {"mask": d2l.causal_mask(3, 4)}):
        found = mha(Q, cache=cache, **restricted, need_weights=need_weights)
        torch.testing.assert_close(found, mha(Q, K, V, **restricted, need_weights=need_weights))
    assert not mha(Q, cache=cache, valid_lens=lens)[1].any()


def test_a_memory_has_the_dtype_of_the_projections_whatever_that_of_the_head() -> None:
    model = decoder().bfloat16()
    model.dense.float()  # a head in float32, as for sampling
    assert model.start(torch.randn(1, 3, 12).bfloat16()).memory[0][0].dtype == torch.bfloat16
