"""What the tests of blocks and stacks share: names of schemes, drawn numbers, and models of them."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from d2lmini.positions.by_name import POSITIONS

SCHEMES = list(POSITIONS)
TODAY: dict[str, Any] = {"norm": "rms", "ffn": "swiglu", "num_kv_heads": 1, "positions": "rotary", "tie": True}
DOUBLE = torch.float64
either_norm = pytest.mark.parametrize("norm_first", [False, True])


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


def shake(module: nn.Module) -> None:
    """Norms begin as the identity, biases as 0: draw them, so that an exchanged one shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)


def make(kind: Any, **settings: Any) -> Any:
    """A stack whose numbers are drawn."""
    torch.manual_seed(0)
    model = kind(11, 12, 20, 3, 2, 0.0, True, max_len=20, **settings).double()
    shake(model)
    return model
