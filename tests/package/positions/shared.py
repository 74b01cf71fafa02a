"""What the tests of positions share: the names of the schemes, and schemes whose numbers are drawn."""

from typing import Any

import torch
from torch import Tensor

import d2lmini as d2l
from d2lmini.positions.by_name import IN_ATTENTION

PAIRINGS = ["adjacent", "halves"]
DOUBLE = torch.float64
NAMES = list(IN_ATTENTION)


def scheme(name: str, num_hiddens: int = 12, num_heads: int = 3, **kwargs: Any) -> Any:
    """A scheme in float64 whose numbers are drawn, so that a wrong one shows."""
    module = d2l.make_positions(name, num_hiddens, num_heads, **kwargs)[1]
    assert module is not None
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double()


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)
