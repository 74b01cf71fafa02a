"""Sequences, and a recurrent network as a loop: what the tests of the instruments measure."""

import torch
from torch import Tensor, nn


def sequence(n: int, d: int) -> Tensor:
    return torch.randn(1, n, d, dtype=torch.float64)


class Recurrent(nn.Module):
    """A recurrent network as a loop over its cell."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, X: Tensor) -> Tensor:
        state, outputs = None, []
        for x in X.unbind(1):
            state = self.cell(x, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)
