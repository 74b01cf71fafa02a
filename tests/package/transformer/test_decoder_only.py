"""A decoder without an encoder, and prompts of several lengths, padded on the left."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

import d2lmini as d2l
from tests.package.transformer.shared import SCHEMES, TODAY, drawn, either_norm, make


def invite(crosses: bool, batch: int, **kwargs: Any) -> tuple[Any, tuple[Tensor, ...]]:
    """A model, and what it reads beside its tokens: with a memory, its padding is hidden."""
    model = make(d2l.TransformerDecoder if crosses else d2l.DecoderOnlyTransformer, **kwargs)
    return model, (drawn(batch, 4, 12).requires_grad_(), torch.tensor([4, 2, 3])[:batch]) if crosses else ()


@pytest.mark.parametrize("settings", [*({"positions": name} for name in SCHEMES), TODAY])
@either_norm
@pytest.mark.parametrize("crosses", [False, True])
@pytest.mark.parametrize("sizes", [[1] * 6, [3, 0, 1, 2]])
def test_token_by_token_is_the_parallel_pass(settings: Any, sizes: list[int], crosses: bool, norm_first: bool) -> None:
    """D2L generates every token at position 0, and only in training hides the later ones from the parallel pass."""
    model, rest = invite(crosses, 2, norm_first=norm_first, **settings)
    tokens = torch.randint(11, (2, 6))
    expected, expected_weights = model.train()(tokens, *rest, need_weights=True)
    assert_close(model.eval()(tokens, *rest), expected)
    state, found, rows = model.start(*rest), [], []
    for part in tokens.split(sizes, dim=1):
        before = state.num_steps
        model.step((part + 1) % 11, state)  # one state can be continued in two ways
        logits, later, weights = model.step(part, state, need_weights=True)
        assert (state.num_steps, later.num_steps) == (before, before + part.shape[1])  # the old state is as it was
        state, row = later, weights[1][0] if crosses else weights[1]
        found.append(logits)
        rows.append(F.pad(row, (0, 6 - row.shape[-1])))
    result, inputs = torch.cat(found, dim=1), [*model.parameters(), *rest[:1]]
    assert_close(result, expected)
    assert_close(torch.cat(rows, dim=2), expected_weights[1][0] if crosses else expected_weights[1])
    assert_close(*(torch.autograd.grad(logits.square().sum(), inputs) for logits in (result, expected)))
    assert state.cache[0][0].shape == (2, settings.get("num_kv_heads", 3), 6, 4)


def pad_left(prompts: list[Tensor]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, prompts))
    padding = torch.tensor([longest - len(prompt) for prompt in prompts])
    return torch.stack([F.pad(prompt, (longest - len(prompt), 0), value=7) for prompt in prompts]), padding


@pytest.mark.parametrize("positions", SCHEMES)
@either_norm
@pytest.mark.parametrize("crosses", [False, True])
def test_prompts_padded_on_the_left_are_read_as_alone(positions: str, crosses: bool, norm_first: bool) -> None:
    model, rest = invite(crosses, 3, positions=positions, norm_first=norm_first)
    prompts, following = [torch.randint(11, (n,)) for n in (5, 2, 4)], torch.randint(11, (3, 2))
    tokens, padding = pad_left(prompts)
    logits, state, _ = model.step(tokens, model.start(*rest, left_padding=padding))
    assert_close(model(tokens, *rest, left_padding=padding), logits)
    for i in range(2):
        logits, state, _ = model.step(following[:, i : i + 1], state)
        for b, prompt in enumerate(prompts):
            given = (torch.cat([prompt, following[b, : i + 1]])[None], *(part[b : b + 1] for part in rest))
            assert_close(logits[b, 0], model(*given)[0, -1])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_padding_is_counted_in_any_integers(dtype: torch.dtype) -> None:
    model, tokens, padding = make(d2l.DecoderOnlyTransformer), torch.randint(11, (2, 4)), torch.tensor([0, 2])
    assert_close(model(tokens, left_padding=padding.to(dtype)), model(tokens, left_padding=padding))


def test_a_state_keeps_its_own_padding_and_no_gradient_is_nan() -> None:
    model, padding = make(d2l.DecoderOnlyTransformer), torch.tensor([0, 2])
    state = model.start(left_padding=padding)
    padding += 1
    assert state.left_padding is not None and state.left_padding.tolist() == [0, 2]
    assert model(torch.randint(11, (2, 3)), left_padding=padding).isfinite().all()  # the second has padding only
    model.step(torch.randint(11, (2, 4)), state)[0][:, -1].square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())
