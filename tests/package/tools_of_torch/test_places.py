"""Where a module may be: on the meta device and back, made on a device and in a dtype, under autocast, inside vmap."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

import d2lmini as d2l
from d2lmini.positions.by_name import POSITIONS
from tests.package.tools_of_torch.guests import assert_same, every_guest, example, invite

# Stacks make all other layers.
MAKERS: dict[str, Any] = {
    "AdditiveAttention": lambda **where: d2l.AdditiveAttention(4, 4, 5, 0.0, **where),
    "SelfAttention": lambda **where: d2l.SelfAttention(4, **where),
    "Convolution": lambda **where: d2l.Convolution(4, 3, **where),
    "SeparableConvolution": lambda **where: d2l.SeparableConvolution(4, 3, **where),
    "RestrictedSelfAttention": lambda **where: d2l.RestrictedSelfAttention(4, 2, **where),
}
for scheme in POSITIONS:
    for stack in (d2l.TransformerEncoder, d2l.TransformerDecoder, d2l.DecoderOnlyTransformer):
        MAKERS[f"{stack.__name__}, {scheme}"] = lambda stack=stack, scheme=scheme, **where: stack(
            7, 4, 8, 2, 2, 0.0, True, norm_first=True, positions=scheme, **where
        )


@pytest.mark.parametrize("name", list(MAKERS))
def test_weights_are_made_where_and_as_one_says(name: str) -> None:
    module = MAKERS[name](device="meta", dtype=torch.float64)
    tensors = [*module.parameters(), *module.buffers()]
    assert tensors and all(tensor.is_meta and tensor.dtype == torch.float64 for tensor in tensors)
    plain = MAKERS[name]()
    assert all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in plain.parameters())


def test_a_module_made_without_numbers_gets_all_it_needs() -> None:
    """A table of sinusoids is in no state_dict: it is made anew where the module leaves the meta device."""
    sizes: Any = (7, 4, 8, 2, 2, 0.0)
    model = d2l.DecoderOnlyTransformer(*sizes)
    empty = torch.nn.utils.skip_init(d2l.DecoderOnlyTransformer, *sizes)
    empty.load_state_dict(model.state_dict())
    tokens = torch.tensor([[1, 2, 3]])
    torch.testing.assert_close(empty(tokens), model(tokens))
    table = d2l.PositionalEncoding(4, 0.0, 9, device="meta").to_empty(device="cpu").P
    assert torch.equal(table, d2l.PositionalEncoding(4, 0.0, 9).P)


@every_guest
def test_a_module_may_be_pickled(name: str) -> None:
    guest = invite(name).eval()
    torch.testing.assert_close(pickle.loads(pickle.dumps(guest))(example()), guest(example()), rtol=0, atol=0)


@every_guest
def test_meta_tensors_go_through(name: str) -> None:
    guest = invite(name)
    result = copy.deepcopy(guest).to("meta")(example().to("meta"))
    assert result.is_meta and result.shape == guest(example()).shape


@every_guest
def test_each_example_has_its_own_gradient(name: str) -> None:
    guest, X = invite(name), example()
    parameters = {key: parameter.detach() for key, parameter in guest.named_parameters()}

    def loss(parameters: Any, one: torch.Tensor) -> torch.Tensor:
        return functional_call(guest, parameters, (one[None],)).square().sum()

    each = vmap(grad(loss), in_dims=(None, 0))(parameters, X)
    guest(X).square().sum().backward() if parameters else None
    for key, parameter in guest.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(each[key].sum(0), expected, atol=1e-3, rtol=1e-3)


class LoRA(nn.Module):
    """A layer with a low-rank change beside it, which has no weight of its own."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down, self.up = nn.Linear(layer.in_features, 2, bias=False), nn.Linear(2, layer.out_features, bias=False)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.layer(X) + self.up(self.down(X))


def find_linear_layers(module: nn.Module) -> list[tuple[nn.Module, str, nn.Linear]]:
    """Each linear layer, where it hangs and by which name."""
    pairs = [(parent, *child) for parent in module.modules() for child in parent.named_children()]
    return [(parent, name, child) for parent, name, child in pairs if isinstance(child, nn.Linear)]


@every_guest
def test_linear_layers_may_be_exchanged(name: str) -> None:
    guest, X = invite(name), example()
    exchanged = copy.deepcopy(guest)
    for parent, key, layer in find_linear_layers(exchanged):
        setattr(parent, key, LoRA(layer))
        nn.init.zeros_(getattr(parent, key).up.weight)
    assert_same(exchanged(X), guest(X))


def test_a_layer_may_keep_its_weights_in_fewer_bits() -> None:
    """It turns them into what it computes with, and nobody looks at them before."""
    torch.manual_seed(0)
    mha, X = d2l.MultiHeadAttention(16, 16, 16, 16, 4, 0.0), example()
    expected = mha(X, X, X)
    mha.W_q.bfloat16()
    mha.W_q.register_forward_pre_hook(lambda layer, _: layer.float() and None)
    mha.W_q.register_forward_hook(lambda layer, *_: layer.bfloat16() and None)
    torch.testing.assert_close(mha(X, X, X), expected, atol=0.02, rtol=0.02)
    assert mha.W_q.weight.dtype == torch.bfloat16
