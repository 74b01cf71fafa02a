"""A decoder without an encoder, and prompts of several lengths, padded on the left."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests.package.transformer.shared import SCHEMES, drawn, either_norm, shake

every_scheme = pytest.mark.parametrize("positions", SCHEMES)


def writer(**kwargs: Any) -> d2l.DecoderOnlyTransformer:
    torch.manual_seed(0)
    made = d2l.DecoderOnlyTransformer(11, 12, 20, 3, 2, 0.0, True, max_len=20, **kwargs).double()
    shake(made)
    return made


def reader(**kwargs: Any) -> d2l.TransformerDecoder:
    torch.manual_seed(0)
    made = d2l.TransformerDecoder(11, 12, 20, 3, 2, 0.0, True, max_len=20, **kwargs).double()
    shake(made)
    return made


@either_norm
def test_it_is_pytorchs_encoder_with_a_causal_mask(norm_first: bool) -> None:
    ours = writer(norm_first=norm_first, positions="none")
    block = nn.TransformerEncoderLayer(12, 3, 20, 0.0, batch_first=True, norm_first=norm_first).double()
    theirs = nn.TransformerEncoder(block, 2, nn.LayerNorm(12).double() if norm_first else None)
    shake(theirs)
    for own, other in zip(ours.blks, theirs.layers, strict=True):
        load_parameters(own, other.state_dict())
    if norm_first:
        ours.norm.load_state_dict(theirs.norm.state_dict())  # type: ignore[union-attr]
    tokens, mask = torch.randint(11, (2, 6)), nn.Transformer.generate_square_subsequent_mask(6).double()
    expected = ours.dense(theirs(ours.embedding(tokens), mask, is_causal=True))
    torch.testing.assert_close(ours(tokens), expected)


def invite(crosses: bool, batch: int, **kwargs: Any) -> tuple[Any, tuple[Tensor, ...]]:
    """A model, and what it reads beside its tokens: with a memory, its padding is hidden."""
    rest = (drawn(batch, 4, 12), torch.tensor([4, 2, 3])[:batch]) if crosses else ()
    return (reader if crosses else writer)(**kwargs), rest


@every_scheme
@either_norm
@pytest.mark.parametrize("crosses", [False, True])
@pytest.mark.parametrize("sizes", [[1] * 6, [3, 1, 2]])
def test_token_by_token_is_the_parallel_pass(positions: str, sizes: list[int], crosses: bool, norm_first: bool) -> None:
    """D2L generates every token at position 0."""
    model, rest = invite(crosses, 2, positions=positions, norm_first=norm_first)
    tokens = torch.randint(11, (2, 6))
    expected, expected_weights = model(tokens, *rest, need_weights=True)
    torch.testing.assert_close(model(tokens, *rest), expected)
    state, found, rows = model.start(*rest), [], []
    for part in tokens.split(sizes, dim=1):
        before = state.num_steps
        logits, later, weights = model.step(part, state, need_weights=True)
        assert (state.num_steps, later.num_steps) == (before, before + part.shape[1])  # the old state is as it was
        state, row = later, weights[1][0] if crosses else weights[1]
        found.append(logits)
        rows.append(F.pad(row, (0, 6 - row.shape[-1])))
    torch.testing.assert_close(torch.cat(found, dim=1), expected)
    torch.testing.assert_close(torch.cat(rows, dim=2), expected_weights[1][0] if crosses else expected_weights[1])


def pad_left(prompts: list[Tensor]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, prompts))
    padding = torch.tensor([longest - len(prompt) for prompt in prompts])
    return torch.stack([F.pad(prompt, (longest - len(prompt), 0), value=7) for prompt in prompts]), padding


@every_scheme
@either_norm
@pytest.mark.parametrize("crosses", [False, True])
def test_prompts_padded_on_the_left_are_read_as_alone(positions: str, crosses: bool, norm_first: bool) -> None:
    model, rest = invite(crosses, 3, positions=positions, norm_first=norm_first)
    prompts, following = [torch.randint(11, (n,)) for n in (5, 2, 4)], torch.randint(11, (3, 2))
    tokens, padding = pad_left(prompts)
    logits, state, _ = model.step(tokens, model.start(*rest, left_padding=padding))
    torch.testing.assert_close(model(tokens, *rest, left_padding=padding), logits)
    for i in range(2):
        logits, state, _ = model.step(following[:, i : i + 1], state)
        for b, prompt in enumerate(prompts):
            given = (torch.cat([prompt, following[b, : i + 1]])[None], *(part[b : b + 1] for part in rest))
            torch.testing.assert_close(logits[b, 0], model(*given)[0, -1])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_padding_is_counted_in_any_integers(dtype: torch.dtype) -> None:
    model, tokens, padding = writer(), torch.randint(11, (2, 4)), torch.tensor([0, 2])
    torch.testing.assert_close(model(tokens, left_padding=padding.to(dtype)), model(tokens, left_padding=padding))


def test_attention_with_grouped_queries_may_be_put_into_a_block() -> None:
    model, tokens = writer(), torch.randint(11, (2, 5))
    for block in model.blks:
        block.attention = d2l.MultiHeadAttention(12, 12, 12, 12, 3, 0.0, num_kv_heads=1).double()
    logits, state, _ = model.step(tokens[:, :3], model.start())
    assert state.cache[0][0].shape == (2, 1, 3, 4)
    later, _, _ = model.step(tokens[:, 3:], state)
    torch.testing.assert_close(torch.cat([logits, later], dim=1), model(tokens))


def test_a_state_keeps_its_own_padding_and_no_gradient_is_nan() -> None:
    model, padding = writer(), torch.tensor([0, 2])
    state = model.start(left_padding=padding)
    padding += 1
    assert state.left_padding is not None and state.left_padding.tolist() == [0, 2]
    assert model(torch.randint(11, (2, 3)), left_padding=padding).isfinite().all()  # the second has padding only
    model.step(torch.randint(11, (2, 4)), state)[0][:, -1].square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@every_scheme
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("crosses", [False, True])
def test_no_token_sees_a_later_one(positions: str, training: bool, crosses: bool) -> None:
    """D2L's decoder has no causal mask in evaluation: there a later token changes earlier logits."""
    model, rest = (reader(positions=positions), (drawn(2, 4, 12),)) if crosses else (writer(positions=positions), ())
    tokens = torch.randint(11, (2, 6))
    changed = torch.cat([tokens[:, :4], (tokens[:, 4:] + 1) % 11], dim=1)
    before, after = (model.train(training)(each, *rest) for each in (tokens, changed))
    torch.testing.assert_close(after[:, :4], before[:, :4], atol=0, rtol=0)
    assert (after[:, 4:] - before[:, 4:]).abs().min(-1).values.max() > 1e-6


@pytest.mark.parametrize(("make", "rest"), [(writer, ()), (reader, (drawn(1, 4, 12),))])
def test_one_state_can_be_continued_in_two_ways_and_hooks_are_called(make: Any, rest: tuple[Tensor, ...]) -> None:
    model, called = make(), []
    _, state, _ = model.step(torch.tensor([[1, 2]]), model.start(*rest))
    for token in (3, 4):
        logits, _, _ = model.step(torch.tensor([[token]]), state)
        torch.testing.assert_close(logits[:, 0], model(torch.tensor([[1, 2, token]]), *rest)[:, 2])
    attentions = [part for part in model.modules() if isinstance(part, d2l.MultiHeadAttention)]
    for attention in attentions:
        attention.register_forward_hook(lambda module, *_: called.append(module))
    model(torch.tensor([[1, 2]]), *rest)
    assert called == attentions and len(called) == (4 if rest else 2)
