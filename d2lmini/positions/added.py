"""Positions that are added to the tokens, and the angles that sinusoids and rotations share."""

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

from d2lmini.checks import check_first, check_number, check_room, check_size
from d2lmini.renamed import read_older


def make_angles(num_steps: int, size: int, base: float = 10000.0, start: int = 0) -> Tensor:
    """The angles i ωⱼ with ωⱼ = base^(-2j / size), for the positions i = start, start + 1, ..., in float64.

    They are computed on the CPU, because some devices have no float64. Returns `(num_steps, size / 2, rounded up)`.
    """
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device="cpu") / size)  # (size / 2,)
    positions = torch.arange(num_steps, device="cpu") + start  # (num_steps,)
    return positions[:, None] * frequencies  # (num_steps, size / 2)


class _AddedEncoding(nn.Module):
    """What both encodings share: row i of a table `P` is added to the token at position i.

    Args:
        num_hiddens: size of a token.
        dropout: probability with which an entry of the sum is dropped in training.
        max_len: number of positions in the table `P`, `(1, max_len, num_hiddens)`.
        device: where to put the table.
        dtype: of the table.
    """

    P: Tensor
    checks_input = True  # a stack that owns this layer has checked what comes in

    def __init__(
        self,
        num_hiddens: int,
        dropout: float,
        max_len: int = 1000,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("num_hiddens", num_hiddens)
        check_size("max_len", max_len)
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)
        self.make_table(torch.empty(1, max_len, num_hiddens, device=device, dtype=dtype))

    def make_table(self, empty: Tensor) -> None:
        """Set `P`, of the shape, device and dtype of `empty`."""
        raise NotImplementedError

    def forward(self, X: Tensor, start: int | Tensor = 0, **older: Any) -> Tensor:
        """Add the positions `start`, `start + 1`, ... to the tokens.

        Args:
            X: `(batch, steps, num_hiddens)`.
            start: position of the first token; more than 0 if earlier tokens have been seen, as in decoding. Or
                integers `(batch,)`, one for each example; -n means n tokens of padding, also at position 0. These are
                checked only where they can be read: not under `vmap` or while a graph is recorded.
            **older: `offset`, an older name of `start`.

        Returns:
            `(batch, steps, num_hiddens)`, in the dtype of `X`, after dropout.

        Raises:
            ValueError: if `X` has another shape or is not floating-point, `start` is not an integer of at least 0 or
                not one integer for each example, or a position lies beyond `max_len`.
        """
        start = read_older(older, "offset", "start") if older else start
        if self.checks_input:
            check_first(X, start, self.P.shape[2])
        check_room(X.shape[1], start, self.P.shape[1])
        if isinstance(start, Tensor) and start.dim() == 1:
            steps = torch.arange(X.shape[1], device=start.device)  # (steps,)
            P = self.P[0, (start[:, None] + steps).clamp(min=0)]  # (batch, steps, num_hiddens)
        else:
            P = self.P[:, start : start + X.shape[1]]  # (1, steps, num_hiddens)
        return self.dropout(X + P.to(X.dtype))  # (batch, steps, num_hiddens)


class PositionalEncoding(_AddedEncoding):
    """Sinusoidal positional encoding (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        pᵢ,₂ⱼ = sin(i ωⱼ),   pᵢ,₂ⱼ₊₁ = cos(i ωⱼ),   ωⱼ = 10000^(-2j / d)

    for positions i = 0, 1, ... and d = num_hiddens. With an odd d, the last sine has no cosine. Angles are computed in
    float64. The table `P`, `(1, max_len, num_hiddens)`, has the default dtype of torch unless you give one; it moves
    with the module, but is not part of its `state_dict`.

    Chapter: Positional encoding.

    Args:
        num_hiddens: size of a token.
        dropout: probability with which an entry of the sum is dropped in training.
        max_len: number of positions in the table.
        device: where to put the table.
        dtype: of the table.

    >>> d2l.PositionalEncoding(4, dropout=0)(torch.zeros(1, 1, 4))
    tensor([[[0., 1., 0., 1.]]])
    """

    def make_table(self, empty: Tensor) -> None:
        """Set `P` to sines and cosines side by side."""
        _, max_len, num_hiddens = empty.shape
        angles = make_angles(max_len, num_hiddens)  # (max_len, num_hiddens / 2, rounded up)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (max_len, num_hiddens / 2, 2)
        table = pairs.flatten(1)[None, :, :num_hiddens]  # (1, max_len, num_hiddens)
        self.register_buffer("P", table.to(empty), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # What comes from the meta device has no numbers, and no state_dict has them either.
        was_meta = self.P.is_meta
        super()._apply(fn, recurse)
        if was_meta and not self.P.is_meta:
            self.make_table(self.P)
        return self


class LearnedPositionalEncoding(_AddedEncoding):
    """Learned positional encoding: the table is a parameter.

    At first it is drawn from a standard normal distribution, as in `torch.nn.Embedding`. A row is trained only by
    sequences that are long enough to reach it.

    Chapter: Positional encoding.

    Args:
        num_hiddens: size of a token.
        dropout: probability with which an entry of the sum is dropped in training.
        max_len: number of positions in the table `P`, `(1, max_len, num_hiddens)`.
        device: where to put the table.
        dtype: of the table.

    >>> d2l.LearnedPositionalEncoding(8, dropout=0)(torch.zeros(2, 10, 8), start=5).shape
    torch.Size([2, 10, 8])
    """

    def make_table(self, empty: Tensor) -> None:
        """Draw `P`."""
        self.P = nn.Parameter(torch.randn_like(empty))
