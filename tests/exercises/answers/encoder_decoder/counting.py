"""Answers to the exercises: what a decoder computes and keeps, counted."""

from __future__ import annotations

from typing import Any

import torch

RIGHT: dict[str, list[Any]] = {"predict-decoder": [(35, 3072), torch.tensor([35, 3072])]}
WRONG: list[tuple[str, Any, str]] = [
    ("predict-decoder", (35, 4608), "nobody asks an old query again"),
    ("predict-decoder", (25, 3072), "the keys come from the encoder"),
    ("predict-decoder", (49, 3072), "the queries come from the decoder"),
    ("predict-decoder", (15, 3072), "what is hidden by a causal mask?"),
    ("predict-decoder", (12, 3072), "a weight for each key"),
    ("predict-decoder", (70, 3072), "one block, not both"),
    ("predict-decoder", (1, 3072), "who asks, and who is asked?"),
    ("predict-decoder", (35, 1536), "what did you leave out?"),
    ("predict-decoder", (35, 768), "in each of the two blocks"),
    ("predict-decoder", (35, 1280), "the memory has keys and values, too"),
    ("predict-decoder", (35, 1792), "those of the decoder's own tokens"),
    ("predict-decoder", (35, 3328), "<bos> is one of the five"),
    ("predict-decoder", (35, 2816), "<bos> has a key and a value, too"),
    ("predict-decoder", (35, 48), "a vector of 64 numbers"),
    ("predict-decoder", (35, 1), "how many vectors are kept"),
    ("predict-decoder", (35,), "look at the starter's form"),
]
