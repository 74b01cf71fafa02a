"""What a model of today has: heads that share keys and values, RMS norms, SwiGLU, and tied embeddings."""

import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import d2lmini as d2l
from tests.package.transformer.shared import TODAY, drawn, make

KINDS: dict[str, Any] = {"encoder": d2l.TransformerEncoder, "decoder": d2l.TransformerDecoder}
KINDS["decoder only"] = d2l.DecoderOnlyTransformer


def run(name: str, model: Any, tokens: torch.Tensor) -> Any:
    return model(tokens) if name != "decoder" else model(tokens, torch.ones(2, 3, 12, dtype=torch.float64))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_each_choice_makes_another_model_of_the_right_parts(name: str, norm_first: bool) -> None:
    tokens, plain = torch.randint(11, (2, 5)), make(KINDS[name], norm_first=norm_first)
    outputs = [run(name, plain, tokens)]
    for setting in [{"norm": "rms"}, {"ffn": "gelu"}, {"ffn": "swiglu"}, {"num_kv_heads": 1}, TODAY]:
        settings = {key: value for key, value in setting.items() if name != "encoder" or key != "tie"}
        model = make(KINDS[name], norm_first=norm_first, **settings)
        norms = [layer for layer in model.modules() if isinstance(layer, (nn.LayerNorm, nn.RMSNorm))]
        assert {type(norm) is nn.RMSNorm for norm in norms} == {"norm" in setting}
        assert len(norms) == 2 * (3 if name == "decoder" else 2) + norm_first and {norm.eps for norm in norms} == {1e-5}
        for blk in model.blks:
            assert blk.attention.num_kv_heads == setting.get("num_kv_heads", 3)
            assert not hasattr(blk, "cross_attention") or blk.cross_attention.num_kv_heads == 3
        outputs.append(run(name, model, tokens))
    assert all(not torch.allclose(a, b) for a, b in itertools.combinations(outputs, 2))


def test_the_networks_are_their_formulas() -> None:
    X = drawn(2, 3, 4)
    for ffn, f in (("relu", F.relu), ("gelu", F.gelu)):
        layer = d2l.PositionWiseFFN(4, 8, 5, ffn=ffn).double()
        torch.testing.assert_close(layer(X), layer.dense2(f(layer.dense1(X))))
    layer = d2l.PositionWiseFFN(4, 8, 5, ffn="swiglu").double()
    up, down, gate = (part.weight for part in (layer.dense1, layer.dense2, layer.gate))  # type: ignore[union-attr]
    opened = X @ gate.T
    torch.testing.assert_close(layer(X), (opened / (1 + torch.exp(-opened)) * (X @ up.T)) @ down.T)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 4 * 8 + 8 * 5 + 4 * 8  # no bias
    assert "ffn='swiglu'" in repr(layer)


def test_ties_share_the_matrix_and_draw_logits_of_size_one() -> None:
    torch.manual_seed(0)
    model = d2l.DecoderOnlyTransformer(50, 64, 64, 4, 1, 0.0, norm_first=True, positions="none", tie=True)
    assert model.dense.weight is model.embedding.weight and model.dense.bias is None
    assert model(torch.arange(50)[None]).std().item() == pytest.approx(1, abs=0.2)


def test_a_scheme_may_be_made_before_and_is_shared_by_all_blocks() -> None:
    scheme, tokens = d2l.RotaryEmbedding(base=100.0), torch.randint(11, (2, 5))
    model = make(d2l.DecoderOnlyTransformer, positions=scheme)
    assert all(blk.attention.positions is scheme for blk in model.blks) and isinstance(model.on_tokens, nn.Identity)
    found = model(tokens)
    scheme.base = 10000.0
    torch.testing.assert_close(model(tokens), make(d2l.DecoderOnlyTransformer, positions="rotary")(tokens))
    assert not torch.allclose(model(tokens), found)
