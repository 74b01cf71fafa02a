"""`DecoderOnlyTransformer` beside Hugging Face's Llama, on small random weights: `make frameworks` installs it."""

from typing import Any

import pytest
import torch
from torch import Tensor

import d2lmini as d2l

pytestmark = pytest.mark.thorough

SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 8, "num_key_value_heads": 2}
NAMES = {
    "embedding": "model.embed_tokens",
    "norm": "model.norm",
    "attention.W_q": "self_attn.q_proj",
    "attention.W_k": "self_attn.k_proj",
    "attention.W_v": "self_attn.v_proj",
    "attention.W_o": "self_attn.o_proj",
    "ffn.gate": "mlp.gate_proj",
    "ffn.dense1": "mlp.up_proj",
    "ffn.dense2": "mlp.down_proj",
    "norm1": "input_layernorm",
    "norm2": "post_attention_layernorm",
}


def make_theirs() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=50, num_hidden_layers=3, tie_word_embeddings=True, rms_norm_eps=1e-5, **SIZES)
    config._attn_implementation = "sdpa"  # the other one takes its softmax in float32
    theirs = LlamaForCausalLM(config)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return theirs.eval()


def make_ours(theirs: Any, dtype: torch.dtype) -> d2l.DecoderOnlyTransformer:
    rotary = d2l.RotaryEmbedding(base=10000, pairing="halves")
    settings: Any = {"norm_first": True, "norm": "rms", "ffn": "swiglu", "num_kv_heads": 2, "tie": True}
    ours = d2l.DecoderOnlyTransformer(50, 32, 48, 8, 3, 0.0, positions=rotary, **settings).to(dtype)
    stored = theirs.state_dict()
    names = {"dense.weight": "lm_head.weight"}
    for name, other in NAMES.items():
        blks = [("", "")] if other.startswith("model.") else [(f"blks.{i}.", f"model.layers.{i}.") for i in range(3)]
        names |= {f"{here}{name}.weight": f"{there}{other}.weight" for here, there in blks}
    ours.load_state_dict({name: stored[other] for name, other in names.items()})
    return ours


def keep_float64(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its norms and rotary tables are computed in float32, whatever the dtype of the model is."""
    from transformers.models.llama import modeling_llama as llama

    def norm(self: Any, X: Tensor) -> Tensor:
        return self.weight * X * torch.rsqrt(X.square().mean(-1, keepdim=True) + self.variance_epsilon)

    def rotate(self: Any, X: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        rates = 10000.0 ** -(torch.arange(0, 4, 2, dtype=torch.float64) / 4)
        angles = (position_ids[:, :, None] * rates).repeat(1, 1, 2)
        return angles.cos(), angles.sin()

    monkeypatch.setattr(llama.LlamaRMSNorm, "forward", norm)
    monkeypatch.setattr(llama.LlamaRotaryEmbedding, "forward", rotate)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_it_is_llama(dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    theirs = make_theirs().to(dtype)
    ours, tokens = make_ours(theirs, dtype), torch.randint(50, (2, 12))
    if dtype == torch.float64:
        keep_float64(theirs, monkeypatch)
    with torch.no_grad():
        expected, found = theirs(tokens).logits, ours(tokens)
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()
