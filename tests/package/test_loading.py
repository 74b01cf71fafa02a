"""Parameters of PyTorch's and D2L's layers in ours: the same numbers; and what does not fit changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests import d2l_reference as theirs_of_d2l
from tests.package.transformer.shared import DOUBLE, drawn, either_norm, shake

either_bias = pytest.mark.parametrize("bias", [False, True])
PYTORCHS = {"dim_feedforward": 20, "dropout": 0.0, "batch_first": True, "dtype": DOUBLE}


def shaken(module: Any) -> Any:
    shake(module)
    return module


def called(module: Any, *inputs: Any) -> Any:
    """D2L's lazy layers have parameters only after a first call."""
    module(*inputs)
    return shaken(module.double())


def loaded(ours: Any, theirs: nn.Module) -> Any:
    load_parameters(ours.double(), theirs.state_dict())
    return ours


@pytest.fixture(autouse=True)
def the_same_numbers() -> None:
    torch.manual_seed(0)


@either_bias
@pytest.mark.parametrize("sizes", [{}, {"kdim": 7}, {"vdim": 9}, {"kdim": 7, "vdim": 9}])
def test_multi_head_attention_of_pytorch(sizes: dict[str, int], bias: bool) -> None:
    theirs = shaken(nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, dtype=DOUBLE, **sizes))
    kdim, vdim = sizes.get("kdim", 12), sizes.get("vdim", 12)
    ours = loaded(d2l.MultiHeadAttention(kdim, 12, vdim, 12, 3, 0.0, bias), theirs)
    queries, keys, values = drawn(2, 4, 12), drawn(2, 5, kdim), drawn(2, 5, vdim)
    lens, mask = torch.tensor([5, 3]), torch.rand(2, 3, 4, 5) < 0.7
    mask[..., 0] = True
    hidden = {"key_padding_mask": ~d2l.valid_lens_mask(lens, 5)[:, 0], "attn_mask": d2l.to_mha_mask(mask, 3)}
    expected = theirs(queries, keys, values, average_attn_weights=False, **hidden)
    assert_close(ours(queries, keys, values, lens, mask=mask, need_weights=True), expected)
    assert_close(ours(queries, keys, values, lens, mask=mask), expected[0])


@either_norm
def test_an_encoder_layer_of_pytorch(norm_first: bool) -> None:
    theirs = shaken(nn.TransformerEncoderLayer(12, 3, norm_first=norm_first, **PYTORCHS))
    ours = loaded(d2l.TransformerEncoderBlock(12, 20, 3, 0.0, True, norm_first=norm_first), theirs)
    X, mask = drawn(2, 5, 12), d2l.causal_mask(5)
    assert_close(ours(X, mask=mask), theirs(X, src_mask=~mask))
    lens = torch.tensor([5, 3])
    counted = d2l.valid_lens_mask(lens, 5)[:, 0]
    assert_close(ours(X, lens)[counted], theirs(X, src_key_padding_mask=~counted)[counted])


@either_norm
def test_an_encoder_layer_of_pytorch_in_a_decoder_without_an_encoder(norm_first: bool) -> None:
    theirs = shaken(nn.TransformerEncoderLayer(12, 3, norm_first=norm_first, **PYTORCHS))
    gpt = d2l.DecoderOnlyTransformer(11, 12, 20, 3, 1, 0.0, True, norm_first=norm_first)
    X, mask = drawn(2, 5, 12), d2l.causal_mask(5)
    assert_close(loaded(gpt.blks[0], theirs)(X)[0], theirs(X, src_mask=~mask))


@either_norm
def test_a_decoder_layer_of_pytorch(norm_first: bool) -> None:
    theirs = shaken(nn.TransformerDecoderLayer(12, 3, norm_first=norm_first, **PYTORCHS))
    ours = loaded(d2l.TransformerDecoderBlock(12, 20, 3, 0.0, True, norm_first=norm_first), theirs)
    X, E = drawn(2, 5, 12), drawn(2, 7, 12)
    assert_close(ours(X, ours.cross_attention.keys_and_values(E, E))[0], theirs(X, E, tgt_mask=~d2l.causal_mask(5)))


@either_bias
def test_multi_head_attention_of_d2l(bias: bool) -> None:
    X, Y, lens = torch.randn(2, 4, 12), torch.randn(2, 5, 7), torch.tensor([5, 3])
    theirs = called(theirs_of_d2l.MultiHeadAttention(12, 3, 0.0, bias), X, Y, Y, lens)
    ours = loaded(d2l.MultiHeadAttention(7, 12, 7, 12, 3, 0.0, bias), theirs)
    X, Y = X.double(), Y.double()
    assert_close(ours(X, Y, Y, lens), theirs(X, Y, Y, lens))


@either_bias
def test_an_encoder_block_of_d2l(bias: bool) -> None:
    X, lens = torch.randn(2, 5, 12), torch.tensor([5, 3])
    theirs = called(theirs_of_d2l.TransformerEncoderBlock(12, 20, 3, 0.0, bias), X, lens)
    ours = loaded(d2l.TransformerEncoderBlock(12, 20, 3, 0.0, bias), theirs)
    assert_close(ours(X.double(), lens), theirs(X.double(), lens))


def test_a_decoder_block_of_d2l_in_training() -> None:
    X, E, lens = torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.tensor([7, 3])
    theirs = called(theirs_of_d2l.TransformerDecoderBlock(12, 20, 3, 0.0, 0), X, (E, lens, [None]))
    ours, X, E = loaded(d2l.TransformerDecoderBlock(12, 20, 3, 0.0), theirs), X.double(), E.double()
    assert_close(ours(X, ours.cross_attention.keys_and_values(E, E), lens)[0], theirs(X, (E, lens, [None]))[0])


@either_bias
def test_an_encoder_of_d2l(bias: bool) -> None:
    tokens, lens = torch.randint(11, (2, 5)), torch.tensor([5, 3])
    theirs = called(theirs_of_d2l.TransformerEncoder(11, 12, 20, 3, 2, 0.0, bias), tokens, lens)
    ours = loaded(d2l.TransformerEncoder(11, 12, 20, 3, 2, 0.0, bias), theirs)
    assert_close(ours.embedding.weight, theirs.embedding.weight * 12**0.5)
    assert_close(ours(tokens, lens), theirs(tokens, lens), atol=1e-5, rtol=1e-5)  # D2L's angles are rounded


def test_a_decoder_of_d2l_in_training() -> None:
    tokens, E, lens = torch.randint(11, (2, 5)), torch.randn(2, 7, 12), torch.tensor([7, 3])
    theirs = theirs_of_d2l.TransformerDecoder(11, 12, 20, 3, 2, 0.0)
    called(theirs, tokens, theirs.init_state(E, lens))
    ours, E = loaded(d2l.TransformerDecoder(11, 12, 20, 3, 2, 0.0), theirs), E.double()
    assert_close(ours(tokens, E, lens), theirs(tokens, theirs.init_state(E, lens))[0], atol=1e-5, rtol=1e-5)


def test_it_copies() -> None:
    theirs, ours = nn.MultiheadAttention(12, 3), d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, True).double()
    load_parameters(ours, theirs.state_dict())
    before = [parameter.clone() for parameter in ours.parameters()]
    shake(theirs)
    assert_close(list(ours.parameters()), before)
    assert {parameter.dtype for parameter in ours.parameters()} == {DOUBLE}
    assert all(parameter.requires_grad for parameter in ours.parameters())


def attention(**kwargs: Any) -> d2l.MultiHeadAttention:
    return d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, **kwargs)


def block(**kwargs: Any) -> d2l.TransformerEncoderBlock:
    return d2l.TransformerEncoderBlock(12, 20, 3, 0.0, **kwargs)


def encoder(**kwargs: Any) -> d2l.TransformerEncoder:
    return d2l.TransformerEncoder(11, 12, 20, 3, 2, 0.0, **kwargs)


def mha(*args: Any, **kwargs: Any) -> dict[str, Tensor]:
    return nn.MultiheadAttention(*args, **kwargs).state_dict()


def layer(*args: Any, **kwargs: Any) -> dict[str, Tensor]:
    return nn.TransformerEncoderLayer(*args, **(PYTORCHS | kwargs)).state_dict()


def of_d2l(num_blks: int = 2) -> dict[str, Tensor]:
    theirs = theirs_of_d2l.TransformerEncoder(11, 12, 20, 3, num_blks, 0.0)
    theirs(torch.zeros(1, 1, dtype=torch.long), None)
    return theirs.state_dict()


def block_of_d2l() -> dict[str, Tensor]:
    begin = "blks.block0."
    return {name.removeprefix(begin): value for name, value in of_d2l().items() if name.startswith(begin)}


REFUSED = [
    # Names.
    (attention, lambda: mha(12, 3), r"^in_proj_bias stands for W_q.bias, .*no such parameter.*pass bias=True"),
    (lambda: attention(bias=True), lambda: mha(12, 3, bias=False), r"nothing for 4 .*: W_q.bias, W_k.bias, W_v.bias, "),
    (lambda: attention(bias=True), lambda: mha(12, 3, add_bias_kv=True), r"^bias_k stands for bias_k, .* no such"),
    (lambda: block(use_bias=True), lambda: layer(12, 3, bias=False), r"nothing for 8 .*: attention.W_q.bias"),
    (
        block,
        lambda: mha(12, 3),
        r"^in_proj_weight stands for W_q.weight, W_k.weight, W_v.weight, but this TransformerE",
    ),
    (attention, lambda: nn.LSTM(12, 12).state_dict(), r"^weight_ih_l0 stands for weight_ih_l0"),
    (attention, lambda: {}, r"nothing for 4 of the parameters: W_q.weight, W_k.weight, W_v.weight, \.\.\.$"),
    (
        attention,
        lambda: mha(12, 3, bias=False) | {"W_o.weight": torch.ones(12, 12)},
        r"^W_o.weight .* already has a value",
    ),
    (
        lambda: d2l.TransformerDecoderBlock(12, 20, 3, 0.0),
        block_of_d2l,
        r"nothing for 6 .*: cross_attention.W_q.weight",
    ),
    # Sizes.
    (
        lambda: attention(num_kv_heads=1),
        lambda: mha(12, 3, bias=False),
        r"in_proj_weight must fit .*W_k.weight \(4, 12\)",
    ),
    (
        lambda: attention(bias=True),
        lambda: mha(9, 3),
        r"^in_proj_weight must fit W_q.weight \(12, 12\), .* got \(27, 9\)",
    ),
    (
        lambda: d2l.MultiHeadAttention(7, 12, 9, 12, 3, 0.0, True),
        lambda: mha(12, 3),
        r"^in_proj_weight must fit W_q.weight \(12, 12\), W_k.weight \(12, 7\), W_v.weight \(12, 9\), got \(36, 12\)",
    ),
    (
        lambda: block(use_bias=True),
        lambda: layer(12, 3, dim_feedforward=24),
        r"^linear1.weight must fit ffn.dense1.*24",
    ),
    (attention, lambda: mha(12, 3, bias=False) | {"in_proj_weight": torch.tensor(1.0)}, r"^in_proj_weight .* got \(\)"),
    (encoder, lambda: of_d2l(3), r"^blks.block2.attention.W_q.weight stands for blks.2.attention.W_q.weight"),
    (encoder, lambda: of_d2l(1), r"nothing for 12 of the parameters: blks.1.attention.W_q.weight"),
    # What is no dictionary of parameters.
    (attention, lambda: nn.MultiheadAttention(12, 3), r"^state_dict must be what .* got MultiheadAttention"),
    (attention, lambda: {"W_q.weight": [[1.0]]}, r"^W_q.weight must be a floating-point tensor with numbers, got list"),
    (attention, lambda: {"W_q.weight": torch.ones(12, 12).int()}, r"^W_q.weight must be .* got torch.int32 \(12, 12\)"),
    (attention, lambda: theirs_of_d2l.MultiHeadAttention(12, 3, 0.0).state_dict(), r"^W_q.weight has no size yet"),
    (attention, lambda: mha(12, 3, bias=False, device="meta"), r"^in_proj_weight must be .* with numbers"),
    (attention, lambda: {0: torch.zeros(12, 12)}, r"^state_dict must have names as keys, got 0"),
    # Another kind of layer.
    (lambda: nn.Linear(12, 12), lambda: mha(12, 3), r"^ours must be one of MultiHeadAttention, .* got Linear"),
    (lambda: attention(positions=d2l.ALiBi(3)), lambda: mha(12, 3, bias=False), r"no positions inside attention"),
    (lambda: encoder(positions="rotary"), of_d2l, r"no positions inside attention"),
    (lambda: encoder(positions="none"), of_d2l, r'made with positions="sinusoidal"'),
    (lambda: block(norm_first=True), block_of_d2l, r"made with norm_first=False"),
    (lambda: encoder(norm_first=True), of_d2l, r"made with norm_first=False"),
    (encoder, lambda: encoder().state_dict(), r"a stack of D2L, with blks.block0, got \['embedding.weight', 'blks.0"),
]


def test_a_layer_that_uses_a_parameter_twice_is_refused() -> None:
    """Theirs would be overwritten by one another without a word."""
    decoder, stack, layer = d2l.TransformerDecoder(11, 12, 20, 3, 1, 0.0), encoder(), attention()
    decoder.dense.weight = decoder.embedding.weight
    stack.blks[1] = stack.blks[0]
    layer.W_k = layer.W_q
    for ours, theirs in ((decoder, of_d2l(1)), (stack, of_d2l()), (layer, mha(12, 3, bias=False))):
        with pytest.raises(ValueError, match="ours must not use one parameter in two places"):
            load_parameters(ours, theirs)


def test_a_layer_without_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="ours must be on a device with numbers, got the meta device"):
        load_parameters(attention(device="meta"), mha(12, 3, bias=False))


@pytest.mark.parametrize(("make", "state_dict", "message"), REFUSED)
def test_what_does_not_fit_changes_nothing(
    make: Callable[[], nn.Module], state_dict: Callable[[], Any], message: str
) -> None:
    ours = make()
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        load_parameters(ours, state_dict())
    assert_close(ours.state_dict(), before, rtol=0, atol=0)
