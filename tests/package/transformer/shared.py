"""What the tests of blocks and stacks share: drawn numbers, and PyTorch's weights in our layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import d2lmini as d2l
from d2lmini.positions.by_name import POSITIONS

SCHEMES = list(POSITIONS)
DOUBLE = torch.float64
either_norm = pytest.mark.parametrize("norm_first", [False, True])


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


def copy_attention(ours: d2l.MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    for name in ("weight", "bias"):
        parts = getattr(theirs, f"in_proj_{name}").chunk(3)
        for layer, part in zip((ours.W_q, ours.W_k, ours.W_v), parts, strict=True):
            getattr(layer, name).data.copy_(part)
        getattr(ours.W_o, name).data.copy_(getattr(theirs.out_proj, name))


def copy_rest(ours: Any, theirs: Any, norms: int) -> None:
    ours.ffn.dense1.load_state_dict(theirs.linear1.state_dict())
    ours.ffn.dense2.load_state_dict(theirs.linear2.state_dict())
    for i in range(1, norms + 1):
        getattr(ours, f"norm{i}").load_state_dict(getattr(theirs, f"norm{i}").state_dict())


def shake(module: nn.Module) -> None:
    """Norms begin as the identity, biases as 0: draw them, so that an exchanged one shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
