"""What blocks and stacks let in, to the bound and to the word, and what they do by default."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

import d2lmini as d2l
from d2lmini import checks
from d2lmini.transformer import state
from d2lmini.transformer.state import DecoderState
from tests.package.refusals import Row, let_in, refused
from tests.package.transformer.shared import either_norm

WHOLE, OUTSIDE = torch.tensor([2, 1, 3]), torch.tensor([[0, 7]])
DECODER = d2l.TransformerDecoder(8, 6, 8, 2, 1, 0.0)


def kept(batch: int = 2, steps: int = 4) -> Tensor:
    return torch.zeros(batch, 3, steps, 6)


X, BLOCK = torch.zeros(2, 1, 18), d2l.TransformerEncoderBlock(18, 20, 3, 0.0)
EMPTY, META = torch.zeros(2, 0, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64, device="meta")


RIGHT: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (checks.check_tokens, [(torch.tensor([[0, 6]]), 7), (EMPTY, 1), (META.int(), 1)]),
    (state.keep_padding, [(torch.tensor([0, 9]), 2), (torch.tensor([0, 9]), None), (None, 2)]),
    (state.check_padding, [(torch.tensor([0, 3]), META), (None, EMPTY)]),
]
WRONG: list[Row] = [
    (state.check_padding, "left_padding", {"3, the number of tokens, got 4": (torch.tensor([0, 4]), META)}),
    (lambda *pair: BLOCK(X, cache=pair), "cache", {"got (1,": (kept(1), kept(1))}),
    (lambda K: BLOCK(X, cache=(kept(), K)), "cache", {"5, 6)": (kept(steps=5),), "64": (kept().double(),)}),
    (lambda lens: BLOCK(X, lens, cache=()), "valid_lens", {"use mask, got": (torch.tensor([1, 1]),)}),
    (lambda mask: BLOCK(X, mask=mask), "mask", {"(2, 3, 1, 1), got (2, 1, 1, 4)": (torch.ones(2, 1, 1, 4) > 0,)}),
    (state.keep_padding, "left_padding", {"-2": (-WHOLE[:2], 2), "(2, 0)": (EMPTY, None)}),
    (lambda n: DECODER(OUTSIDE, torch.zeros(1, 3, 6), left_padding=torch.tensor([n])), "left_padding", {"got 3": (3,)}),
]

STACKS = [d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer]
SETTINGS: dict[str, list[Any]] = {"vocab_size": [0], "num_hiddens": [-2, 8.0], "ffn_num_hiddens": [1.5]}
SETTINGS |= {"num_heads": [3], "num_kv_heads": [3], "num_blks": [0], "dropout": [1.5, None], "use_bias": [0]}
SETTINGS |= {"norm_first": ["no"], "positions": ["rotery", 3], "norm": ["batch"], "ffn": ["silu"], "tie": [1]}


def small(kind: Any, name: str = "num_blks", value: Any = 2) -> Any:
    sizes = {"vocab_size": 7, "num_hiddens": 8, "ffn_num_hiddens": 16, "num_heads": 2, "num_blks": 2, "dropout": 0.0}
    return kind(**(sizes | {"max_len": 10, name: value}))


def under_autocast(cache: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        CROSSING(ROWS, MEMORY, cache=cache)


def attend(K: Any, V: Any, queries: Tensor | None = None) -> None:
    HEADS(torch.zeros(2, 3, 5) if queries is None else queries, cache=(K, V))


def go_on(cache: Any) -> None:
    READER.step(TWO, READ._replace(cache=cache))


MODELS = ENCODER, READER, WRITER = [small(kind) for kind in STACKS]
TWO, ROWS, MEMORY = torch.zeros(2, 1, dtype=torch.long), torch.zeros(2, 3, 8), (torch.zeros(2, 2, 3, 4),) * 2
CROSSING: Any = d2l.TransformerDecoderBlock(8, 16, 2, 0.0)
HEADS, NETWORK = d2l.MultiHeadAttention(6, 5, 7, 12, 3, 0.0), d2l.PositionWiseFFN(8, 8, 4)
TAKERS: list[Any] = [d2l.TransformerEncoderBlock(8, 16, 2, 0.0), lambda X: CROSSING(X, MEMORY), NETWORK]
KEPT = torch.zeros(2, 3, 4, 4)
READ, WRITTEN = READER.step(TWO, READER.start(ROWS))[1], WRITER.step(TWO, WRITER.start())[1]
HALF = tuple((K.half(), V.half()) for K, V in READ.cache)
LONGER = (READ.cache[0], tuple(torch.cat([part, part], 2) for part in READ.cache[1]))
WIDE, FULL = small(d2l.TransformerDecoder, "num_hiddens", 16), WRITER.step(TWO.expand(2, 10), WRITER.start())[1]
WIDER = WIDE.step(TWO, WIDE.start(torch.zeros(2, 3, 16)))[1].cache
OTHERS = {n: small(d2l.TransformerDecoder, "num_blks", n) for n in (1, 3)}
FOREIGN = {f"got {n} and {n}": (TWO, other.step(TWO, other.start(ROWS))[1]) for n, other in OTHERS.items()}
TOKENS: dict[str, Any] = {
    "0..6, got values from 7 to 7": (TWO + 7,),
    "-1 to -1": (TWO - 1,),
    "int64 (2,)": (TWO[:, 0],),
}
TOKENS |= {"float32": (TWO.float(),), "list": ([[1]],), "uint8": (TWO.byte(),), "bool": (TWO.bool(),)}
RIGHT += [(model.embed, [(torch.zeros(0, 2).int(),)]) for model in MODELS]
WRONG += [
    *[
        (partial(small, kind, name), name, {repr(n): (n,) for n in values})
        for kind, (name, values) in product(STACKS, SETTINGS.items())
    ],
    *[(model.embed, "tokens", TOKENS) for model in MODELS],
    *[(model.embed, "max_len", {"11": (torch.zeros(1, 11).long(),)}) for model in MODELS],
    *[(call, "X", {"9": (torch.zeros(2, 5, 9),), "64": (ROWS.double(),), "int64": (ROWS.long(),)}) for call in TAKERS],
    *[(call, "X", {"(3, 8)": (ROWS[0],), "list": ([[1.0]],)}) for call in TAKERS[:-1]],
    (NETWORK, "X", {"str": ("X",)}),
    (WRITER.step, "start", {"10": (TWO, FULL)}),
    (d2l.DotProductAttention, "dropout", {"nan": (math.nan,)}),
    (d2l.AdditiveAttention, "dropout", {"True": (2, 2, 2, True)}),
    (d2l.PositionalEncoding, "dropout", {"-0.1": (4, -0.1)}),
    (READER.start, "memory", {"9": (torch.zeros(2, 3, 9),), "64": (ROWS.double(),), "(3, 8)": (ROWS[0],)}),
    (
        READER.start,
        "memory_valid_lens",
        {"0..3": (ROWS, TWO[:, 0] + 4), "0.5": (ROWS, torch.tensor([0.5, 1.0])), "list": (ROWS, [1, 2])}
        | {"got (1,)": (ROWS, TWO[0]), "got (2, 1)": (ROWS, TWO)},
    ),
    (lambda n: READER(TWO, ROWS, torch.tensor([n, 1])), "memory_valid_lens", {"0..3": (4,)}),
    (small(d2l.TransformerDecoder).bfloat16().start, "memory", {"torch.bfloat16": (ROWS,)}),
    (lambda n: READER.start(ROWS, left_padding=n), "left_padding", {"batch=2, got (1,)": (TWO[0],)}),
    (READER.step, "tokens", {"2, got (1, 1)": (TWO[:1], READ)}),
    (READER.step, "state", FOREIGN | {"NoneType": (TWO, None), "got 0 and 2": (TWO, WRITTEN)}),
    (go_on, "state", {"2 and 1": (READ.cache[:1],), "2 and 3": ((*READ.cache, READ.cache[0]),)}),
    (go_on, "state.cache[0]", {"(2, 2, 1, 4), got torch.float16": (HALF,), "(2, 2, 1, 4), got": (WIDER,)}),
    (go_on, "state.cache[1]", {"(2, 2, 1, 4), got torch.float32 (2, 2, 2, 4)": (LONGER,)}),
    (WRITER.step, "state", {"NoneType": (TWO, None), "got 2 and 2": (TWO, READ)}),
    (WRITER.step, "tokens", {"2, got (1, 1)": (TWO[:1], WRITTEN)}),
    (lambda n: WRITER.start(left_padding=n), "left_padding", {"list": ([1],), "float32": (torch.zeros(1),)}),
    (lambda n: WRITER.start(left_padding=n), "left_padding", {"-1": (TWO[0] - 1,), "(2, 1)": (TWO,)}),
    (lambda n: WRITER(TWO, left_padding=n), "tokens", {"1, got (2, 1)": (TWO[0],)}),
    (lambda n: WRITER(TWO, left_padding=n), "left_padding", {"1, the number of tokens, got 5": (TWO[:, 0] + 5,)}),
    (CROSSING, "memory", {"NoneType": (ROWS, None), "float32": (ROWS, ROWS), "int": (ROWS, (1, 2))}),
    (CROSSING, "memory", {"(2, 3, 8)": (ROWS, (ROWS, ROWS))}),
    (
        lambda cache: CROSSING(ROWS, MEMORY, cache=cache),
        "cache",
        {"(2, 3, 8)": ((ROWS,) * 2,), "(3,)": ((WHOLE,) * 2,)},
    ),
    (under_autocast, "cache", {str(dtype): ((MEMORY[0].to(dtype),) * 2,) for dtype in (torch.int64, torch.float64)}),
    (attend, "queries", {"(2, 3, 6)": (KEPT, KEPT, torch.zeros(2, 3, 6)), "(2, 5)": (KEPT, KEPT, torch.zeros(2, 5))}),
    (attend, "cache", {"None": (KEPT, None), "got (2, 4, 4)": (KEPT[:, 0], KEPT)}),
    (lambda K: HEADS(ROWS[..., :5], ROWS[..., :6], cache=K), "cache", {"got (2, 3, 6) and NoneType": ((KEPT, KEPT),)}),
    (lambda K: HEADS(ROWS[..., :5], cache=K), "cache", {"32 (2, 3": (KEPT,), "tuple": ((KEPT,),), "list": ([KEPT],)}),
    *[
        (attend, "cache[1]", {str(dtype): (K, V)})
        for dtype, K, V in [
            ("p=4", KEPT, KEPT[..., 1:]),
            ("(2, 3, 3, 4)", KEPT, KEPT[:, :, 1:]),
            ("batch=2", KEPT, KEPT[:1]),
            ("(2, 4, 4)", KEPT, KEPT[:, 0]),
            ("float64", KEPT, KEPT.double()),
            ("int64", KEPT.long(), KEPT.long()),
            ("float16", KEPT.half(), KEPT.half()),
        ]
    ],
]


test_what_fits_comes_in = let_in(RIGHT)
test_what_does_not_fit_is_refused_by_name = refused(WRONG)


@pytest.mark.parametrize("kind", [d2l.TransformerEncoderBlock, d2l.TransformerDecoderBlock])
def test_a_block_is_post_norm_and_without_biases_unless_one_asks(kind: Any) -> None:
    block = kind(6, 8, 2, 0.0)
    assert block.attention.W_q.bias is None and not block.norm_first
    assert kind(6, 8, 2, 0.0, True, norm_first=True).attention.W_q.bias is not None


@pytest.mark.parametrize("kind", [d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer])
def test_a_stack_is_too(kind: Any) -> None:
    stack = kind(7, 6, 8, 2, 1, 0.0)
    assert stack.blks[0].attention.W_q.bias is None and not stack.blks[0].norm_first
    assert isinstance(stack.norm, torch.nn.Identity)
    assert isinstance(kind(7, 6, 8, 2, 1, 0.0, norm_first=True).norm, torch.nn.LayerNorm)


@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_looks_ahead_only_if_it_may(causal: bool) -> None:
    torch.manual_seed(0)
    encoder, tokens = d2l.TransformerEncoder(7, 6, 8, 2, 2, 0.0), torch.tensor([[1, 2, 3], [1, 2, 4]])
    found, weights = encoder(tokens, causal=causal, need_weights=True)
    assert torch.allclose(found[0, :2], found[1, :2]) == causal and len(weights) == 2
    assert all(bool(each[..., 0, 1:].any()) != causal for each in weights)


@either_norm
def test_a_block_with_a_memory_masks_its_past(norm_first: bool) -> None:
    torch.manual_seed(0)
    block, E = d2l.TransformerDecoderBlock(6, 8, 2, 0.0, norm_first=norm_first), torch.randn(1, 3, 6)
    memory, Z = block.cross_attention.keys_and_values(E, E), torch.randn(2, 4, 6)[:1]
    other = torch.cat([torch.randn(1, 1, 6), Z[:, 1:]], dim=1)
    mask = torch.tensor([False, True, True, True])
    found, expected = (block(Y, memory, mask=mask)[0] for Y in (Z, other))
    torch.testing.assert_close(found[:, 1:], expected[:, 1:])
    assert not torch.allclose(block(Z, memory)[0][:, 1:], block(other, memory)[0][:, 1:])


def test_the_padding_on_the_left_stays_on_its_device() -> None:
    state = DecoderState(left_padding=torch.tensor([0, 1], device="meta"))
    shown = state.show_tokens(3)
    assert shown is not None and shown.is_meta and shown.shape == (2, 1, 1, 3)
