"""What blocks and stacks refuse at their door, by name, and what they do by default."""

from typing import Any

import pytest
import torch

import d2lmini as d2l
from d2lmini.transformer.state import DecoderState, keep_padding
from tests.package.refusals import Row, refused

STACKS = [d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer]
SIZES = {"vocab_size": 7, "num_hiddens": 8, "ffn_num_hiddens": 16, "num_heads": 2, "num_blks": 2, "dropout": 0.0}


def small(kind: Any, **changed: Any) -> Any:
    return kind(**{**SIZES, "max_len": 10, **changed})


WRONG_SETTINGS: dict[str, Any] = {
    "vocab_size": 0,
    "num_hiddens": 8.0,
    "ffn_num_hiddens": 1.5,
    "num_heads": 3,
    "num_kv_heads": 3,
    "num_blks": 0,
    "dropout": 1.5,
    "use_bias": 0,
    "norm_first": "no",
    "positions": "rotery",
    "norm": "batch",
    "ffn": "silu",
    "tie": 1,
}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_named_by_each_stack(name: str) -> None:
    for kind in STACKS:
        with pytest.raises(ValueError, match=rf"\b{name}\b.*{WRONG_SETTINGS[name]}"):
            small(kind, **{name: WRONG_SETTINGS[name]})


ENCODER, READER, WRITER = MODELS = [small(kind) for kind in STACKS]
BLOCK, CROSSING = d2l.TransformerEncoderBlock(8, 16, 2, 0.0), d2l.TransformerDecoderBlock(8, 16, 2, 0.0)
HEADS, NETWORK = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0.0), d2l.PositionWiseFFN(8, 8, 4)
TOKENS, X = torch.zeros(2, 1, dtype=torch.long), torch.zeros(2, 3, 8)
KEPT = torch.zeros(2, 2, 3, 4)  # the keys or values of three tokens: (batch, num_heads, steps, p)

# States, and what may stand in the place of a cache.
READ, WRITTEN = READER.step(TOKENS, READER.start(X))[1], WRITER.step(TOKENS, WRITER.start())[1]
FULL = WRITER.step(TOKENS.expand(2, 10), WRITER.start())[1]
DOUBLE = tuple((K.double(), V.double()) for K, V in READ.cache)
LONGER = (READ.cache[0], tuple(torch.cat([part, part], dim=2) for part in READ.cache[1]))


def go_on(cache: Any) -> None:
    READER.step(TOKENS, READ._replace(cache=cache))


def pad(left_padding: Any) -> None:
    WRITER(TOKENS, left_padding=left_padding)


WRONG: list[Row] = [
    *[(model.embed, "tokens", {"0..6, got values from 7 to 7": (TOKENS + 7,)}) for model in MODELS],
    *[(model.embed, "max_len", {"11": (torch.zeros(1, 11).long(),)}) for model in MODELS],
    (WRITER.step, "start", {"10": (TOKENS, FULL)}),
    (lambda: small(d2l.TransformerEncoder, tie=True), "tie", {"no logits": ()}),
    *[
        (layer, "X", {"got (2, 3, 9)": (torch.zeros(2, 3, 9),), "float64": (X.double(),)})
        for layer in (BLOCK, lambda X: CROSSING(X, (KEPT, KEPT)), NETWORK)
    ],
    (BLOCK, "X", {"(3, 8)": (X[0],)}),
    (lambda mask: BLOCK(X, mask=mask), "mask", {"got (3, 4)": (torch.ones(3, 4).bool(),)}),
    (lambda lens: BLOCK(X, lens, cache=()), "valid_lens", {"use mask, got": (TOKENS[:, 0],)}),
    (READER.start, "memory", {"9": (torch.zeros(2, 3, 9),), "64": (X.double(),), "(3, 8)": (X[0],)}),
    (READER.start, "memory_valid_lens", {"0..3": (X, TOKENS[:, 0] + 4), "got (1,)": (X, TOKENS[0])}),
    (CROSSING, "memory", {"NoneType": (X, None), "(2, 3, 8)": (X, (X, X))}),
    (lambda K: HEADS(X, cache=K), "cache", {"float32": (KEPT,), "tuple": ((KEPT,),)}),
    (lambda K: HEADS(X, X, cache=K), "cache", {"got (2, 3, 8) and NoneType": ((KEPT, KEPT),)}),
    (lambda Q: HEADS(Q, cache=(KEPT, KEPT)), "queries", {"(2, 3, 6)": (X[..., :6],), "(2, 8)": (X[:, 0],)}),
    *[
        (lambda V: HEADS(X, cache=(KEPT, V)), "cache[1]", {found: (V,)})
        for found, V in {"batch=2": KEPT[:1], "(2, 2, 2, 4)": KEPT[:, :, 1:], "float64": KEPT.double()}.items()
    ],
    (READER.step, "tokens", {"2, got (1, 1)": (TOKENS[:1], READ)}),
    (READER.step, "state", {"NoneType": (TOKENS, None), "got 0 and 2": (TOKENS, WRITTEN)}),
    (WRITER.step, "state", {"got 2 and 2": (TOKENS, READ)}),
    (go_on, "state", {"2 and 1": (READ.cache[:1],)}),
    (go_on, "state.cache[0]", {"(2, 2, 1, 4), got torch.float64": (DOUBLE,)}),
    (go_on, "state.cache[1]", {"(2, 2, 1, 4), got torch.float32 (2, 2, 2, 4)": (LONGER,)}),
    (keep_padding, "left_padding", {"-1": (TOKENS[0] - 1,), "(2, 1)": (TOKENS,), "list": ([1],)}),
    (lambda n: READER.start(X, left_padding=n), "left_padding", {"batch=2, got (1,)": (TOKENS[0],)}),
    (lambda n: READER(TOKENS, X, left_padding=n), "left_padding", {"got 5": (TOKENS[:, 0] + 5,)}),
    (pad, "left_padding", {"1, the number of tokens, got 5": (TOKENS[:, 0] + 5,)}),
    (pad, "tokens", {"1, got (2, 1)": (TOKENS[0],)}),
]


test_what_does_not_fit_is_refused_by_name = refused(WRONG)


@pytest.mark.parametrize("kind", STACKS)
def test_a_stack_is_post_norm_and_without_biases_unless_one_asks(kind: Any) -> None:
    plain, other = small(kind), small(kind, use_bias=True, norm_first=True)
    assert plain.blks[0].attention.W_q.bias is None and other.blks[0].attention.W_q.bias is not None
    assert isinstance(plain.norm, torch.nn.Identity) and isinstance(other.norm, torch.nn.LayerNorm)
    assert not BLOCK.norm_first and BLOCK.attention.W_q.bias is None and not CROSSING.norm_first


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_looks_ahead_only_if_it_may(causal: bool) -> None:
    torch.manual_seed(0)
    encoder, tokens = d2l.TransformerEncoder(7, 6, 8, 2, 2, 0.0), torch.tensor([[1, 2, 3], [1, 2, 4]])
    found, weights = encoder(tokens, causal=causal, need_weights=True)
    torch.testing.assert_close(encoder(tokens, causal=causal), found)
    assert torch.allclose(found[0, :2], found[1, :2]) == causal and len(weights) == 2
    assert all(bool(each[..., 0, 1:].any()) != causal for each in weights)


def test_the_padding_on_the_left_stays_on_its_device() -> None:
    state = DecoderState(left_padding=torch.tensor([0, 1], device="meta"))
    shown = state.show_tokens(3)
    assert shown is not None and shown.is_meta and shown.shape == (2, 1, 1, 3)
