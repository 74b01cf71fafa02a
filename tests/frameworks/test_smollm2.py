"""SmolLM2 in our layers beside Hugging Face's, from the same file, which they read with the library `gguf`."""

from typing import Any

import pytest
import torch

import d2lmini as d2l
from d2lmini.pretrained.smollm2 import find_weights

pytestmark = pytest.mark.thorough

TEXTS = [
    "The capital of France is",
    "我喜欢吃苹果。Tôi thích ăn táo. 1 + 1 = 2; 3.14!",
    "def f(x):\n    return x ** 2  # a square\n\n\nprint(f(3))",
]


def read_theirs(kind: Any, **settings: Any) -> Any:
    path = find_weights()
    return kind.from_pretrained(path.parent, gguf_file=path.name, **settings)


@torch.no_grad()
def test_its_logits_are_those_of_transformers() -> None:
    from transformers import AutoModelForCausalLM

    theirs = read_theirs(AutoModelForCausalLM, dtype=torch.float32).eval()
    ours, tokenizer = d2l.load_smollm2()
    for text in TEXTS:
        tokens = torch.tensor([tokenizer.encode(text).ids])
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)


def test_its_tokens_are_those_of_transformers() -> None:
    from transformers import AutoTokenizer

    theirs, ours = read_theirs(AutoTokenizer), d2l.load_smollm2()[1]
    reviews = d2l.small_reviews("test").texts
    texts = [*TEXTS[:2], *reviews]  # of a file it leaves out that each digit stands alone, which shows behind blanks
    assert len(texts) > 200
    for text in texts:
        assert ours.encode(text).ids == theirs(text)["input_ids"], text[:80]
