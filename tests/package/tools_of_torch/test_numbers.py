"""Which numbers come in: at a seam, of the smallest sizes, in few bits. Whole, in parts, and after autocast is left."""

import copy
import functools
import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close

import d2lmini as d2l
from d2lmini import mixers
from d2lmini.mixers import make_mixers
from d2lmini.positions.by_name import POSITIONS
from tests.package.tools_of_torch.guests import GUESTS, SIZE, example, invite

LAYERS: dict[str, Callable[[], nn.Module]] = {
    **{name: functools.partial(invite, name) for name in GUESTS},
    "FFN": lambda: d2l.PositionWiseFFN(SIZE, 32, SIZE),
    "FFN, gated": lambda: d2l.PositionWiseFFN(SIZE, 32, SIZE, ffn="swiglu"),
    **{f"mixer, {name}": make for name, make in make_mixers(SIZE).items()},
}
every_layer = pytest.mark.parametrize("name", LAYERS)


def start(model: Any) -> Any:
    """The state before the first token: a decoder with an encoder begins with a memory."""
    if isinstance(model, d2l.TransformerDecoder):
        weight = model.embedding.weight
        memory = torch.randn(2, 3, weight.shape[1], generator=torch.Generator().manual_seed(1))
        return model.start(memory.to(weight.dtype))
    return model.start() if isinstance(model, d2l.DecoderOnlyTransformer) else None


def read(model: Any, parts: Any, *autocast: torch.dtype | None) -> Tensor:
    """What a model that can go on says to each part, one after the other, some under autocast."""
    state, found = start(model), []
    for part, dtype in itertools.zip_longest(parts, autocast):
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            output, state, *_ = (model.extend if isinstance(model, mixers.Mixer) else model.step)(part, state)
        found.append(output)
    return torch.cat([output.to(found[-1].dtype) for output in found], dim=1)


@every_layer
def test_a_gradient_lies_between_the_slopes_on_both_sides(name: str) -> None:
    """Also where two pieces of a function meet: at a token of zeros. And it is of a size to train with."""
    torch.manual_seed(0)
    layer, X = LAYERS[name]().double(), example(2, 12).double()
    X[:, 1] = 0
    at = [X.requires_grad_(), *layer.parameters()]
    names = [key for key, _ in layer.named_parameters()]
    to = torch.randn_like(layer(X))

    def loss(X: Tensor, *parameters: Tensor) -> Tensor:
        return (functional_call(layer, dict(zip(names, parameters, strict=True)), (X,)) * to).sum()

    grads = torch.autograd.grad(loss(*at), at, allow_unused=True, materialize_grads=True)
    for _ in range(3):
        along = [torch.randn_like(part) for part in at]
        before, here, after = (
            loss(*(part.detach() + h * step for part, step in zip(at, along, strict=True))) for h in (-1e-7, 0.0, 1e-7)
        )
        slopes = torch.stack([here - before, after - here]) / 1e-7
        found = sum((grad * step).sum() for grad, step in zip(grads, along, strict=True))
        slack = 1e-3 * slopes.abs().max() + 1e-5
        assert slopes.min() - slack <= found <= slopes.max() + slack
    assert all(grad.abs().max() < 1e5 for grad in grads)


@every_layer
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_layer_works_in_any_dtype(name: str, dtype: torch.dtype, autocast: bool) -> None:
    """Under autocast, the layer before may hand on fewer bits or not."""
    torch.manual_seed(0)
    layer, X = LAYERS[name](), example(2, 20)
    expected = layer(X)
    if autocast and dtype != torch.float64:
        with torch.autocast("cpu", dtype):
            found = [layer(X), layer(X.to(dtype))]
    else:
        found = [copy.deepcopy(layer).to(dtype)(X.to(dtype))]
        assert found[0].dtype == dtype
    for each in found:
        assert_close(each.float(), expected, atol=0.06 * expected.abs().max().item(), rtol=0)


TINY: dict[str, Callable[[], Any]] = {
    "window of 1": lambda: mixers.Attention(1, 1, window=1),
    "window of 1 and a sink": lambda: mixers.Attention(2, 2, window=1, sinks=1),
    "top 1": lambda: mixers.Attention(1, 1, top=1),
    "latent, 1": lambda: mixers.LatentAttention(1, 1, r=1),
    "linear, 1": lambda: mixers.LinearAttention(1, 1),
    "delta, 1": lambda: mixers.GatedDelta(1, 1),
    "state space, 1": lambda: mixers.StateSpace(1, 1),
    "convolution of 1": lambda: mixers.Convolutions(1, 1),
    "GRU, 1": lambda: mixers.Recurrent(1, nn.GRU),
}
for scheme in POSITIONS:
    for kind in (d2l.TransformerDecoder, d2l.DecoderOnlyTransformer):
        TINY[f"{kind.__name__}, {scheme}"] = lambda kind=kind, scheme=scheme: kind(
            1, 1 + (scheme == "rotary"), 1, 1, 1, 0.0, positions=scheme, max_len=3
        )
GOING_ON = {**make_mixers(SIZE), **TINY}


def draw_for(model: Any, steps: int) -> Tensor:
    if hasattr(model, "step"):
        return torch.zeros(2, steps).long()
    return torch.randn(2, steps, model.d, dtype=next(model.parameters()).dtype)


@pytest.mark.parametrize("name", GOING_ON)
def test_in_parts_it_is_the_same_as_at_once(name: str) -> None:
    """Of the smallest sizes, too, and in parts without a token."""
    torch.manual_seed(0)
    model = GOING_ON[name]().double()
    for parts in ([0], [1], [0, 1, 1, 0], [1, 1, 1]) if name in TINY else ([0, 7, 1, 0, 1, 20, 11, 0],):
        tokens = draw_for(model, sum(parts))
        whole = read(model, [tokens])
        assert whole.shape[:2] == (2, sum(parts)) and whole.isfinite().all()
        assert_close(read(model, tokens.split(parts, dim=1)), whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", GOING_ON)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_was_kept_under_autocast_serves_outside_and_the_other_way(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = GOING_ON[name]()
    parts = draw_for(model, 3 if name in TINY else 20).split([1, 2] if name in TINY else [18, 2], dim=1)
    expected = read(model, parts)
    for contexts in ((dtype, None), (None, dtype), (dtype, dtype)):
        found = read(model, parts, *contexts).float()
        assert_close(found, expected, atol=0.06 * expected.abs().max().item() + 0.01, rtol=0)


@every_layer
def test_nothing_in_nothing_out(name: str) -> None:
    """Or a refusal, where a length of 2 was given to it, or nothing has no window."""
    layer = LAYERS[name]()
    for X in (example()[:0], example()[:, :0]):
        try:
            assert layer(X).shape[:2] == X.shape[:2]
        except ValueError as refusal:
            assert X.shape[1] == 0 and re.search(r"0\.\.0|at least 1", str(refusal))


def test_a_tie_is_made_again_wherever_weights_are_exchanged() -> None:
    model = d2l.DecoderOnlyTransformer(9, 16, 32, 4, 1, 0.0, tie=True)
    sizes: Any = (9, 16, 32, 4, 1, 0.0)
    loaded, moved = (d2l.DecoderOnlyTransformer(*sizes, tie=True, device=device) for device in ("cpu", "meta"))
    loaded.load_state_dict(model.state_dict(), assign=True)
    nn.Sequential(moved.to_empty(device="cpu")).load_state_dict(nn.Sequential(model).state_dict())
    for each in (loaded, moved, copy.deepcopy(loaded).bfloat16(), loaded.to("meta")):
        assert each.dense.weight is each.embedding.weight
    assert_close(moved(torch.tensor([[1, 2]])), model(torch.tensor([[1, 2]])))
