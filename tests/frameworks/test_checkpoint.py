"""The checkpoint that *Elsewhere* ports: Phi-3 gives the logits that lie beside it. As a script this writes both."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "frameworks/phi"
SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 500_000.0}


def make_model() -> Any:
    from transformers import Phi3Config, Phi3ForCausalLM

    config = Phi3Config(**SIZES, **HEADS, tie_word_embeddings=True, pad_token_id=0, attn_implementation="sdpa")
    torch.manual_seed(0)
    model = Phi3ForCausalLM(config).eval()
    for matrix in model.parameters():
        torch.nn.init.normal_(matrix, *((0, 1 / math.sqrt(matrix.shape[1])) if matrix.dim() == 2 else (1, 0.1)))
    torch.nn.init.normal_(model.model.embed_tokens.weight, std=0.5)
    return model


@torch.no_grad()
def run(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    return model(tokens).logits


@pytest.mark.thorough
def test_another_program_gives_the_stored_logits() -> None:
    from safetensors.torch import load_file

    expected, model = load_file(FOLDER / "expected.safetensors"), make_model()
    model.load_state_dict(load_file(FOLDER / "model.safetensors"), strict=False)
    torch.testing.assert_close(run(model, expected["tokens"]), expected["logits"], atol=1e-4, rtol=0)


if __name__ == "__main__":
    from safetensors.torch import save_file

    model, tokens = make_model(), torch.randint(64, (2, 24), generator=torch.Generator().manual_seed(1))
    state = {name: matrix for name, matrix in model.state_dict().items() if name != "lm_head.weight"}  # tied
    save_file(state, FOLDER / "model.safetensors")
    save_file({"tokens": tokens, "logits": run(model, tokens)}, FOLDER / "expected.safetensors")
    config = {"architectures": ["Phi3ForCausalLM"]} | SIZES | HEADS | {"tie_word_embeddings": True}
    (FOLDER / "config.json").write_text(json.dumps(config, indent=2) + "\n")
