"""What the tests of blocks and stacks share: names of schemes, and drawn numbers."""

import pytest
import torch
from torch import Tensor, nn

from d2lmini.positions.by_name import POSITIONS

SCHEMES = list(POSITIONS)
DOUBLE = torch.float64
either_norm = pytest.mark.parametrize("norm_first", [False, True])


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


def shake(module: nn.Module) -> None:
    """Norms begin as the identity, biases as 0: draw them, so that an exchanged one shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
