"""What records a graph: compile, export, trace, ONNX. It serves other batches and lengths than it was made for."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx

import d2lmini as d2l
from tests.package.tools_of_torch.guests import assert_same, every_guest_at_night, example, invite

# With those that become an ONNX model, which begins with an export, and what they are made of, these are all.
EXPORTED = [
    *("attention with weights", "attention, rotary", "attention, relative-keys", "additive attention"),
    *("self-attention", "decoder only", "encoder, alibi", "separable convolution", "restricted attention"),
]
weekly = pytest.mark.thorough
DYNAMIC = ({0: Dim("batch"), 1: Dim("steps", max=900)},)


@pytest.fixture(autouse=True)
def forget_graphs() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def count_graphs(module: Any, dynamic: bool | None = None) -> tuple[Any, list[Any]]:
    """The module, compiled as one graph, and a list that grows by each graph."""
    graphs: list[Any] = []

    def note(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    return torch.compile(module, backend=note, fullgraph=True, dynamic=dynamic), graphs


@pytest.mark.no_cover  # noting each line makes what records a graph half as slow again
@every_guest_at_night
def test_two_graphs_serve_all_lengths(name: str) -> None:
    """The first for the first length, the second for any."""
    guest = invite(name)
    compiled, graphs = count_graphs(guest)
    for steps in (5, 6, 9):
        assert_same(compiled(example(steps=steps)), guest(example(steps=steps)))
    assert 1 <= len(graphs) <= 2


@pytest.mark.parametrize("name", [EXPORTED[0], *(pytest.param(other, marks=weekly) for other in EXPORTED[1:])])
def test_an_exported_module_is_the_module(name: str) -> None:
    guest = invite(name)
    windows = name == "restricted attention"  # `unfold` fixes how many windows there are
    exported = torch.export.export(guest, (example(),), dynamic_shapes=None if windows else DYNAMIC).module()
    for X in (example(),) if windows else (example(), example(2, 9)):
        assert_same(exported(X), guest(X))


@every_guest_at_night
def test_a_traced_module_is_the_module(name: str) -> None:
    guest = invite(name)
    traced = torch.jit.trace(guest, (example(),))
    for X in (example(), example(2, 9)):
        assert_same(traced(X), guest(X))


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["grouped queries", "encoder", "decoder", "decoder only, t5"])
def test_an_onnx_model_is_the_module(name: str) -> None:
    guest = invite(name)
    program = torch.onnx.export(guest, (example(),), dynamo=True, dynamic_shapes=DYNAMIC, verbose=False)
    assert program is not None
    assert_same(program(example(2, 9))[0], guest(example(2, 9)))


@pytest.mark.no_cover
@pytest.mark.parametrize("positions", [pytest.param("sinusoidal", marks=pytest.mark.thorough), "t5"])
def test_decoding_is_compiled_once(positions: str) -> None:
    """A state that grows needs no cache of a fixed size: one graph serves all steps after the prompt."""
    torch.manual_seed(0)
    model = d2l.DecoderOnlyTransformer(9, 16, 32, 4, 1, 0.0, positions=positions).eval()
    tokens = torch.randint(9, (2, 14))
    _, state, _ = model.step(tokens[:, :7], model.start())
    step, graphs = count_graphs(model.step, dynamic=True)
    found = []
    for i in range(7, 14):
        logits, state, _ = step(tokens[:, i : i + 1], state)
        found.append(logits)
    assert_same(torch.cat(found, dim=1), model(tokens)[:, 7:])
    assert len(graphs) == 1


def test_a_traced_module_decides_nothing_for_other_inputs() -> None:
    """One query has no later key, three have; as many queries as keys need no mask; a bias may hide all of a row."""
    torch.manual_seed(0)
    X, block = example(2, 6), d2l.TransformerDecoderBlock(16, 32, 4, 0.0).requires_grad_(False)
    mha = d2l.MultiHeadAttention(16, 16, 16, 16, 4, 0.0).requires_grad_(False)
    memory, bias = block.cross_attention.keys_and_values(X, X), torch.zeros(2, 6, 6)
    bias[1, 1] = -torch.inf

    def attend_to_kept(X: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return block(X, memory, cache=(K, V))[0]

    def attend(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return mha(queries, keys, keys, causal=True)

    def attend_with(bias: torch.Tensor) -> torch.Tensor:
        return d2l.DotProductAttention(0.0)(X, X, X, bias=bias, need_weights=True)[0]

    functions: list[tuple[Any, tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]] = [
        (attend_to_kept, (X[:, :1], *torch.randn(2, 2, 4, 6, 4)), (X[:, :3], *torch.randn(2, 2, 4, 4, 4))),
        (attend, (X, X), (X[:, 3:], X)),
        (attend_with, (bias[:1],), (bias,)),
    ]
    for function, given, other in functions:
        assert_same(torch.jit.trace(function, given)(*other), function(*other))


class Step(nn.Module):
    """A step of decoding, as a function of the newest token and of what was kept."""

    def __init__(self, positions: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = d2l.DecoderOnlyTransformer(9, 16, 32, 4, 1, 0.0, positions=positions).requires_grad_(False)

    def forward(self, tokens: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return self.model.step(tokens, self.model.start()._replace(cache=((K, V),)))[0]


@pytest.mark.parametrize("positions", ["sinusoidal", pytest.param("rotary", marks=pytest.mark.thorough)])
def test_a_step_of_decoding_can_be_exported_and_traced(positions: str) -> None:
    step, token = Step(positions), torch.tensor([[3], [4]])
    given, other = ((token, *torch.randn(2, 2, 4, length, 4)) for length in (7, 9))
    length = {2: Dim.AUTO}
    exported = torch.export.export(step, given, dynamic_shapes=(None, length, length)).module()
    traced = torch.jit.trace(step, given)
    for recorded in (exported, traced):
        assert_same(recorded(*other), step(*other))


def test_padding_takes_no_room_also_where_it_cannot_be_read() -> None:
    torch.manual_seed(0)
    model, tokens = d2l.DecoderOnlyTransformer(9, 16, 32, 4, 1, 0.0, max_len=20), torch.randint(9, (1, 24))
    padding = torch.tensor([6])
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    found = model(tokens, left_padding=padding)
    assert_same(compiled(tokens, left_padding=padding), found)
    assert_same(found[:, 6:], model(tokens[:, 6:]))
    with pytest.raises(ValueError, match="does not fit into max_len=20"):
        model(tokens, left_padding=padding - 3)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize("name", ["attention, t5", "attention with lengths", "decoder only"])
def test_symbols_instead_of_numbers_go_through(name: str, mode: str) -> None:
    guest = invite(name)
    recorded = make_fx(guest, tracing_mode=mode, _allow_non_fake_inputs=True)(example())
    assert_same(recorded(example()), guest(example()))
