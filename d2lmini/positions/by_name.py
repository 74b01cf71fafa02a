"""The names of the position schemes: the one place that lists them, for stacks, chapters and tests."""

from collections.abc import Callable

import torch
from torch import nn

from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_choice, check_divides, check_flag, check_size
from d2lmini.positions.added import LearnedPositionalEncoding, PositionalEncoding
from d2lmini.positions.biases import ALiBi, RelativePositionBias, RelativePositionKeys, T5PositionBias
from d2lmini.positions.rotary import RotaryEmbedding

ADDED: dict[str, type[PositionalEncoding] | type[LearnedPositionalEncoding]] = {
    "sinusoidal": PositionalEncoding,
    "learned": LearnedPositionalEncoding,
}
# Each is made from the number of heads, the size of one head, whether queries also see later keys, and where to put
# the weights and in which dtype.
IN_ATTENTION: dict[str, Callable[..., RelativePositions]] = {
    "rotary": lambda num_heads, size, both, **factory: RotaryEmbedding(),
    "alibi": lambda num_heads, size, both, **factory: ALiBi(num_heads),
    "relative": lambda num_heads, size, both, **factory: RelativePositionBias(num_heads, **factory),
    "relative-keys": lambda num_heads, size, both, **factory: RelativePositionKeys(size, **factory),
    "t5": lambda num_heads, size, both, **factory: T5PositionBias(num_heads, bidirectional=both, **factory),
}
POSITIONS = ("none", *ADDED, *IN_ATTENTION)


def make_positions(
    positions: str,
    num_hiddens: int,
    num_heads: int,
    *,
    max_len: int = 1000,
    bidirectional: bool = True,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[nn.Module, RelativePositions | None]:
    """Make a position scheme by its name, for a layer of attention and the tokens that go into it.

    Chapter: How to tell a distance.

    Args:
        positions: `"none"`; `"sinusoidal"` or `"learned"`, which are added to the tokens; `"rotary"`, `"alibi"`,
            `"relative"` (a number for each clipped offset), `"relative-keys"` (a vector for each clipped offset) or
            `"t5"`, which work inside attention.
        num_hiddens: size of a token.
        num_heads: number of heads of the layer.
        max_len: number of positions, for those schemes that have a table of them.
        bidirectional: whether queries also see later keys; it matters only for `"t5"`.
        device: where to put what is learned, or the table.
        dtype: of what is learned, or of the table.

    Returns:
        What to apply to the tokens, and what to give to `MultiHeadAttention` as `positions`. Whichever a scheme does
        not need is `torch.nn.Identity` or `None`.

    Raises:
        ValueError: if there is no such scheme (the message lists them all), or the sizes do not go together.

    >>> on_tokens, in_attention = d2l.make_positions("rotary", num_hiddens=8, num_heads=2)
    >>> on_tokens, in_attention
    (Identity(), RotaryEmbedding(base=10000, pairing='adjacent'))
    """
    check_size("max_len", max_len)
    check_flag("bidirectional", bidirectional)
    check_scheme(positions, num_hiddens, num_heads)
    added = make_added(positions, num_hiddens, max_len, device, dtype)
    return added, make_in_attention(positions, num_hiddens, num_heads, bidirectional, device, dtype)


def make_added(
    positions: str | RelativePositions,
    num_hiddens: int,
    max_len: int,
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> nn.Module:
    """What a scheme adds to the tokens."""
    if isinstance(positions, RelativePositions) or positions not in ADDED:
        return nn.Identity()
    return ADDED[positions](num_hiddens, 0.0, max_len, device=device, dtype=dtype)


def make_in_attention(
    positions: str | RelativePositions,
    num_hiddens: int,
    num_heads: int,
    bidirectional: bool,
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> RelativePositions | None:
    """What a scheme does inside one layer of attention; a scheme that was made already is taken as it is."""
    if isinstance(positions, RelativePositions):
        return positions
    if positions not in IN_ATTENTION:
        return None
    size = num_hiddens // num_heads
    return IN_ATTENTION[positions](num_heads, size, bidirectional, device=device, dtype=dtype)


def check_scheme(positions: str, num_hiddens: int, num_heads: int) -> None:
    """Check that there is such a scheme, and that it works with heads of this size."""
    check_choice("positions", positions, POSITIONS)
    check_divides("num_heads", num_heads, "num_hiddens", num_hiddens)
    if positions == "rotary" and num_hiddens // num_heads % 2:
        raise ValueError(f"rotary needs an even size of a head, got {num_hiddens=}, {num_heads=}")
