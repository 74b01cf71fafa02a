"""Parameters of PyTorch's and D2L's layers in ours: the same numbers; and what does not fit changes nothing."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests.package.transformer.shared import DOUBLE, drawn, shake


def read_d2l() -> SimpleNamespace:
    """D2L's layers, as the page for those who come from there writes them."""
    page = (Path(__file__).parents[2] / "book/coming-from.md").read_text("utf-8")
    cells = re.findall(r"^# @title D2L.*?(?=^```)", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"torch": torch, "nn": nn, "math": math}
    exec("\n".join(cells), names)
    return SimpleNamespace(**names)


theirs_of_d2l = read_d2l()
either_bias = pytest.mark.parametrize("bias", [False, True])


def called(module: Any, *inputs: Any) -> Any:
    """With drawn parameters; D2L's lazy layers have them only after a first call."""
    module(*inputs)
    shake(module.double())
    return module


def loaded(ours: Any, theirs: nn.Module) -> Any:
    load_parameters(ours.double(), theirs.state_dict())
    return ours


@pytest.fixture(autouse=True)
def the_same_numbers() -> None:
    torch.manual_seed(0)


@either_bias
@pytest.mark.parametrize("sizes", [{}, {"kdim": 7}, {"vdim": 9}, {"kdim": 7, "vdim": 9}])
def test_multi_head_attention_of_pytorch(sizes: dict[str, int], bias: bool) -> None:
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, dtype=DOUBLE, **sizes)
    shake(theirs)
    kdim, vdim = sizes.get("kdim", 12), sizes.get("vdim", 12)
    ours = loaded(d2l.MultiHeadAttention(kdim, 12, vdim, 12, 3, 0.0, bias), theirs)
    queries, keys, values = drawn(2, 4, 12), drawn(2, 5, kdim), drawn(2, 5, vdim)
    lens, mask = torch.tensor([5, 3]), torch.rand(2, 3, 4, 5) < 0.7
    mask[..., 0] = True
    hidden = {"key_padding_mask": ~d2l.valid_lens_mask(lens, 5)[:, 0], "attn_mask": d2l.to_mha_mask(mask, 3)}
    expected = theirs(queries, keys, values, average_attn_weights=False, **hidden)
    assert_close(ours(queries, keys, values, lens, mask=mask, need_weights=True), expected)
    assert_close(ours(queries, keys, values, lens, mask=mask), expected[0])


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


def encoder(**kwargs: Any) -> d2l.TransformerEncoder:
    return d2l.TransformerEncoder(11, 12, 20, 3, 2, 0.0, **kwargs)


def twice() -> d2l.MultiHeadAttention:
    layer = attention()
    layer.W_k = layer.W_q
    return layer


def mha(bias: bool = False, size: int = 12, **kwargs: Any) -> dict[str, Tensor]:
    return nn.MultiheadAttention(size, 3, bias=bias, **kwargs).state_dict()


def of_d2l(num_blks: int = 2) -> dict[str, Tensor]:
    theirs = theirs_of_d2l.TransformerEncoder(11, 12, 20, 3, num_blks, 0.0)
    theirs(torch.zeros(1, 1, dtype=torch.long), None)
    return theirs.state_dict()


REFUSED = [
    (attention, lambda: mha(bias=True), "in_proj_bias stands for"),
    (attention, lambda: {}, "nothing for 4"),
    (attention, lambda: mha() | {"W_o.weight": torch.ones(12, 12)}, "W_o.weight .* already has a value"),
    (lambda: attention(num_kv_heads=1), mha, "in_proj_weight must fit"),
    (encoder, lambda: of_d2l(3), "blks.block2.attention.W_q.weight stands for"),
    (attention, lambda: nn.MultiheadAttention(12, 3), "state_dict must be .* got MultiheadAttention"),
    (attention, lambda: {1: torch.zeros(3)}, "state_dict must have names as keys, got 1"),
    (attention, lambda: {"W_q.weight": torch.ones(12, 12).int()}, "W_q.weight must be .* got torch.int32"),
    (attention, lambda: theirs_of_d2l.MultiHeadAttention(12, 3, 0.0).state_dict(), "W_q.weight has no size yet"),
    (attention, lambda: mha(device="meta"), "in_proj_weight must be .* with numbers"),
    (lambda: attention(device="meta"), mha, "ours must be on a device"),
    (twice, mha, "ours must not use one parameter in two places"),
    (lambda: nn.Linear(12, 12), mha, "ours must be one of .* got Linear"),
    (lambda: attention(positions=d2l.ALiBi(3)), mha, "no positions inside attention"),
    (lambda: encoder(positions="none"), of_d2l, 'positions="sinusoidal"'),
    (lambda: encoder(norm_first=True), of_d2l, "norm_first=False"),
    (encoder, lambda: encoder().state_dict(), "a stack of D2L"),
]


@pytest.mark.parametrize(("make", "state_dict", "message"), REFUSED)
def test_what_does_not_fit_changes_nothing(make: Callable[[], nn.Module], state_dict: Any, message: str) -> None:
    ours = make()
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        load_parameters(ours, state_dict())
    assert_close(ours.state_dict(), before, rtol=0, atol=0)
