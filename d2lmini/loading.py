"""Parameters trained elsewhere: what the layers of PyTorch and of D2L have learned, copied into those of this package.

Only names differ, with two exceptions: PyTorch keeps the projections to queries, keys and values in one matrix, and
D2L's stacks multiply their embeddings by the root of `num_hiddens` while they run.
"""

import math
import re
from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import name_shape, name_tensor
from d2lmini.positions.added import PositionalEncoding
from d2lmini.transformer.blocks import TransformerDecoderBlock, TransformerEncoderBlock
from d2lmini.transformer.stacks import TransformerDecoder, TransformerEncoder

STACKS = (TransformerEncoder, TransformerDecoder)
LAYERS = (MultiHeadAttention, TransformerEncoderBlock, TransformerDecoderBlock, *STACKS)

# What a part of a name is elsewhere, and what it is here.
RENAMED = (
    (r"\b(self_attn|attention1)\.", "attention."),
    (r"\b(multihead_attn|attention2)\.", "cross_attention."),
    (r"\b([qkv])_proj_weight$", r"W_\1.weight"),
    (r"\bout_proj\.", "W_o."),
    (r"\blinear([12])\.", r"ffn.dense\1."),
    (r"\baddnorm([123])\.ln\.", r"norm\1."),
    (r"\bblks\.block(\d+)\.", r"blks.\1."),
)


def load_parameters(ours: nn.Module, state_dict: Mapping[str, Tensor]) -> None:
    """Copy the parameters of a layer trained elsewhere, so that ours computes the same.

    They may come from `torch.nn.MultiheadAttention`, `TransformerEncoderLayer` or `TransformerDecoderLayer`, or from
    D2L's attention, blocks or stacks. Everything is checked before anything is copied. A `state_dict` does not say how
    many heads a layer has, whether it is pre-norm, which activation it uses (ours is ReLU), or what its norms add to
    the variance (ours 1e-5): see to that yourself.

    Chapter: The Transformer block.

    Args:
        ours: a `MultiHeadAttention`, a block, or one of the stacks `TransformerEncoder` and `TransformerDecoder`, with
            the same sizes, and with biases exactly where the other layer has them.
        state_dict: what `state_dict()` of the other layer returns.

    Raises:
        ValueError: if a name or a size does not fit, a parameter is missing, or `ours` computes something else:
            positions inside attention, pre-norm where D2L has none, or a stack that is not like D2L's, with sinusoids.
    """
    if not isinstance(ours, LAYERS):
        fitting = ", ".join(layer.__name__ for layer in LAYERS)
        raise ValueError(f"ours must be one of {fitting}, got {type(ours).__name__}")
    check_tensors(state_dict)
    check_same_layer(ours, state_dict)
    missing, found = ours.state_dict(), dict[str, Tensor]()
    for name, tensor in state_dict.items():
        targets = translate(name)
        if not missing.keys() >= set(targets):
            cure = "; pass bias=True, or use_bias=True in blocks and stacks" if name.endswith("bias") else ""
            found_none = f"this {type(ours).__name__} has no such parameter, or already has a value"
            raise ValueError(f"{name} stands for {', '.join(targets)}, but {found_none}{cure}")
        places = {target: missing.pop(target) for target in targets}
        found.update(zip(targets, split(name, tensor, places), strict=True))
    if missing:
        some = ", ".join(list(missing)[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(f"state_dict has nothing for {len(missing)} of the parameters: {some}")
    if isinstance(ours, STACKS):
        found["embedding.weight"] = found["embedding.weight"] * math.sqrt(ours.embedding.embedding_dim)
    ours.load_state_dict(found)


def translate(name: str) -> list[str]:
    """What a parameter is called here: one name, or three for the projections that PyTorch keeps together."""
    for elsewhere, here in RENAMED:
        name = re.sub(elsewhere, here, name)
    return [name.replace("in_proj_", f"W_{letter}.") for letter in "qkv"] if "in_proj_" in name else [name]


def split(name: str, tensor: Tensor, places: dict[str, Tensor]) -> tuple[Tensor, ...]:
    """Cut a tensor into the rows of each of the parameters that it holds."""
    rows = [place.shape[0] for place in places.values()]
    if tensor.shape[:1] != (sum(rows),) or any(place.shape[1:] != tensor.shape[1:] for place in places.values()):
        fitting = ", ".join(f"{target} {name_shape(place)}" for target, place in places.items())
        raise ValueError(f"{name} must fit {fitting}, got {name_shape(tensor)}")
    return tensor.split(rows)


def check_tensors(state_dict: Mapping[str, Tensor]) -> None:
    """Check that this is a dictionary of parameters that have been made."""
    if not isinstance(state_dict, Mapping):
        raise ValueError(f"state_dict must be what module.state_dict() returns, got {type(state_dict).__name__}")
    for name, tensor in state_dict.items():
        if not isinstance(name, str):
            raise ValueError(f"state_dict must have names as keys, got {name!r}")
        if is_lazy(tensor):
            raise ValueError(f"{name} has no size yet: call the lazy module once, then take its state_dict")
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or tensor.is_meta:
            raise ValueError(f"{name} must be a floating-point tensor with numbers, got {name_tensor(tensor)}")


def check_same_layer(ours: nn.Module, state_dict: Mapping[str, Tensor]) -> None:
    """Check what the names of parameters do not show: that both layers compute with them in the same way."""
    named = list(ours.named_parameters(remove_duplicate=False))
    if len({id(parameter) for _, parameter in named}) < len(named):
        raise ValueError("ours must not use one parameter in two places: theirs may differ there")
    if any(parameter.is_meta for parameter in ours.parameters()):
        raise ValueError("ours must be on a device with numbers, got the meta device")
    if any(isinstance(part, RelativePositions) for part in ours.modules()):
        raise ValueError("ours must have no positions inside attention: the layers of PyTorch and D2L have none")
    pre_norm = any(getattr(part, "norm_first", False) for part in ours.modules())
    if pre_norm and any("addnorm" in name for name in state_dict):
        raise ValueError("ours must be made with norm_first=False, as D2L's blocks are, got norm_first=True")
    if isinstance(ours, STACKS):
        if not any(name.startswith("blks.block") for name in state_dict):
            raise ValueError(f"state_dict must come from a stack of D2L, with blks.block0, got {list(state_dict)[:3]}")
        if not isinstance(ours.on_tokens, PositionalEncoding):
            raise ValueError('ours must be made with positions="sinusoidal", as D2L\'s stacks are')
