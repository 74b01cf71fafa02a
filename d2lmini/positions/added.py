"""Positions added to the tokens, and the names under which the schemes of this book are known.

Schemes that work inside attention are in :mod:`d2lmini.relative_positions` and :mod:`d2lmini.position_bias`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_choice, check_flag, check_number, check_size
from d2lmini.attention.door import check_offset, check_sequences
from d2lmini.positions.biases import ALiBi, RelativePositionBias, RelativePositionKeys, T5PositionBias
from d2lmini.positions.rotary import RelativePositions, RotaryEmbedding, position_angles

__all__ = ["LearnedPositionalEncoding", "PositionalEncoding", "make_positions"]


class _AddedEncoding(nn.Module):
    """What both encodings share: row ``i`` of a table ``P`` is added to the token at position ``i``."""

    P: Tensor

    def __init__(self, num_hiddens: int, dropout: float, max_len: int) -> None:
        super().__init__()
        check_size("num_hiddens", num_hiddens)
        check_size("max_len", max_len)
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        """Add the positions ``offset``, ``offset + 1``, ... to the tokens.

        Args:
            X: ``(batch, steps, num_hiddens)``.
            offset: position of the first token; more than 0 where earlier tokens were seen before, as in decoding.

        Returns:
            ``(batch, steps, num_hiddens)``, in the dtype of ``X``, after dropout.

        Raises:
            ValueError: if ``X`` has another shape or no floating-point dtype, ``offset`` is no integer of at least
                0, or a position lies beyond ``max_len``.
        """
        check_sequences(X=X)
        max_len, num_hiddens = self.P.shape[1:]
        if X.shape[2] != num_hiddens:
            raise ValueError(f"X must have size num_hiddens={num_hiddens} in its last dimension, got {tuple(X.shape)}")
        check_offset(offset)
        end = offset + X.shape[1]
        if end > max_len:
            begins = f" that begins at position offset={offset}" if offset else ""
            raise ValueError(f"a sequence of length {X.shape[1]}{begins} does not fit into max_len={max_len}")
        return self.dropout(X + self.P[:, offset:end].to(X.dtype))


class PositionalEncoding(_AddedEncoding):
    r"""Sinusoidal positional encoding (`Vaswani et al., 2017 <https://arxiv.org/abs/1706.03762>`_).

    .. math:: p_{i,2j} = \sin(i \omega_j), \quad p_{i,2j+1} = \cos(i \omega_j), \quad
              \omega_j = 10000^{-2j/d}

    for positions :math:`i = 0, 1, \ldots` and :math:`d` = ``num_hiddens``. With an odd :math:`d` the last sine has no
    cosine. Angles are computed in float64. The table ``P``, ``(1, max_len, num_hiddens)``, has the default dtype of
    torch; it moves with the module, but is not part of its ``state_dict``.

    Args:
        num_hiddens: size of a token.
        dropout: probability with which an entry of the sum is dropped in training.
        max_len: number of positions in the table.

    Raises:
        ValueError: if ``num_hiddens`` or ``max_len`` is no integer of at least 1.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__(num_hiddens, dropout, max_len)
        angles = position_angles(max_len, num_hiddens)  # (max_len, num_hiddens / 2, rounded up)
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[None, :, :num_hiddens]
        like = torch.empty(0)  # torch's default dtype and device
        self.register_buffer("P", table.to(like.device, like.dtype), persistent=False)


class LearnedPositionalEncoding(_AddedEncoding):
    """Learned positional encoding: the table is a parameter.

    At first it is drawn from a standard normal distribution, as in :class:`torch.nn.Embedding`. A row is trained only
    by sequences that are long enough to reach it.

    Args:
        num_hiddens: size of a token.
        dropout: probability with which an entry of the sum is dropped in training.
        max_len: number of positions in the table ``P``, ``(1, max_len, num_hiddens)``.

    Raises:
        ValueError: if ``num_hiddens`` or ``max_len`` is no integer of at least 1.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__(num_hiddens, dropout, max_len)
        self.P = nn.Parameter(torch.randn(1, max_len, num_hiddens))


def make_positions(
    positions: str, num_hiddens: int, num_heads: int, *, max_len: int = 1000, bidirectional: bool = True
) -> tuple[nn.Module, RelativePositions | None]:
    """Make a position scheme by its name, for a layer of attention and the tokens that go into it.

    Args:
        positions: ``"none"``; ``"sinusoidal"`` or ``"learned"``, which are added to the tokens; ``"rotary"``,
            ``"alibi"``, ``"relative"`` (a number for each clipped offset), ``"relative-keys"`` (a vector for each
            clipped offset) or ``"t5"``, which work inside attention.
        num_hiddens: size of a token.
        num_heads: number of heads of the layer.
        max_len: number of positions, for those schemes that have a table of them.
        bidirectional: whether queries also see later keys; only ``"t5"`` makes a difference.

    Returns:
        What to apply to the tokens, and what to give to :class:`~d2lmini.multihead.MultiHeadAttention` as
        ``positions``. The one that a scheme does not need is :class:`torch.nn.Identity` or ``None``.

    Raises:
        ValueError: if there is no such scheme; the message lists them. Or if the sizes do not go together.
    """
    check_size("num_hiddens", num_hiddens)
    check_size("num_heads", num_heads)
    check_size("max_len", max_len)
    check_flag("bidirectional", bidirectional)
    if num_hiddens % num_heads:
        raise ValueError(f"num_hiddens={num_hiddens} must be divisible by num_heads={num_heads}")
    added: dict[str, Callable[[], nn.Module]] = {
        "sinusoidal": lambda: PositionalEncoding(num_hiddens, 0.0, max_len),
        "learned": lambda: LearnedPositionalEncoding(num_hiddens, 0.0, max_len),
    }
    in_attention: dict[str, Callable[[], RelativePositions]] = {
        "rotary": RotaryEmbedding,
        "alibi": lambda: ALiBi(num_heads),
        "relative": lambda: RelativePositionBias(num_heads),
        "relative-keys": lambda: RelativePositionKeys(num_hiddens // num_heads),
        "t5": lambda: T5PositionBias(num_heads, bidirectional=bidirectional),
    }
    check_choice("positions", positions, ("none", *added, *in_attention))
    if positions == "rotary" and num_hiddens // num_heads % 2:
        raise ValueError(f"rotary needs an even size of a head, got num_hiddens={num_hiddens}, num_heads={num_heads}")
    return added.get(positions, nn.Identity)(), in_attention[positions]() if positions in in_attention else None
