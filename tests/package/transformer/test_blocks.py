"""The Transformer: equal to PyTorch's layers, causal always, the same token by token, and blind to padding."""

import pytest
import torch
from torch.nn import functional as F

import d2lmini as d2l
from tests.package.transformer.shared import SCHEMES, either_norm, make


@either_norm
@pytest.mark.parametrize("positions", SCHEMES)
def test_padding_never_changes_a_result(positions: str, norm_first: bool) -> None:
    settings = {"positions": positions, "norm_first": norm_first}
    encoder, model = make(d2l.TransformerEncoder, **settings), make(d2l.TransformerDecoder, **settings)
    source, target = torch.randint(11, (2, 5)), torch.randint(11, (2, 4))
    lens = torch.tensor([5, 3])
    expected = model(target, encoder(source, lens), lens)
    for filling in (0, 7):
        longer = F.pad(source, (0, 4), value=filling)
        longer[1, 3:] = filling
        found = model(F.pad(target, (0, 3), value=filling), encoder(longer, lens), lens)
        torch.testing.assert_close(found[:, :4], expected)


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


def test_a_memory_has_the_dtype_of_the_projections_whatever_that_of_the_head() -> None:
    model = make(d2l.TransformerDecoder).bfloat16()
    model.dense.float()  # a head in float32, as for sampling
    assert model.start(torch.randn(1, 3, 12).bfloat16()).memory[0][0].dtype == torch.bfloat16
