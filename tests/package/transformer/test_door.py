"""One door: a stack checks what comes in, and the layers inside, which are called, trust it."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import d2lmini as d2l

FOLDER = str(Path(d2l.__file__).parent)
TOKENS, X = torch.tensor([[1, 2, 3]]), torch.ones(1, 3, 8)


def count_calls(run: Callable[[], Any]) -> Counter[str]:
    """How often each function of the package is called."""
    calls: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER):
            calls[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def make(positions: str = "sinusoidal") -> d2l.DecoderOnlyTransformer:
    torch.manual_seed(0)
    return d2l.DecoderOnlyTransformer(10, 8, 16, num_heads=2, num_blks=2, dropout=0.0, positions=positions)


@pytest.mark.parametrize(("positions", "most"), [("sinusoidal", 40), ("rotary", 50)])
def test_a_step_of_decoding_makes_few_calls(positions: str, most: int) -> None:
    model = make(positions)
    state = model.step(TOKENS, model.start())[1]
    calls = count_calls(lambda: model.step(TOKENS[:, :1], state))
    assert calls.total() <= most, calls


def test_attention_enters_few_functions() -> None:
    mha = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0)
    assert len(count_calls(lambda: mha(X, X, X))) <= 9


def test_layers_inside_are_called_and_one_put_in_their_place_is_run() -> None:
    model, called = make(), []
    for name, layer in model.named_modules():
        layer.register_forward_hook(lambda *_, name=name: called.append(name))
    expected = model(TOKENS)
    assert {"blks.0", "blks.1.attention", "blks.1.attention.W_q", "blks.0.ffn", "blks.0.norm2", "on_tokens"} <= {
        *called
    }
    own = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0)
    own.load_state_dict(model.blks[0].attention.state_dict())
    model.blks[0].attention = own
    torch.testing.assert_close(model(TOKENS), expected)
    with pytest.raises(ValueError, match="X must have the dtype of the weights"):  # a layer of one's own has its door
        d2l.TransformerEncoderBlock(8, 16, 2, 0.0)(X.double())
    assert own.checks_input and not model.blks[1].attention.checks_input
