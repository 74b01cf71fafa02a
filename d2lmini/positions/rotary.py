"""Rotary positions: pairs of features are turned, by an angle that grows with the position."""

from __future__ import annotations

import torch
from torch import Tensor

from d2lmini.arguments import check_choice, name_kind, name_shape
from d2lmini.attention.numerics import at_least_float32
from d2lmini.attention.scheme import RelativePositions, check_positions
from d2lmini.positions.added import check_offset, make_angles


def apply_rotary(X: Tensor, offset: int = 0, *, base: float = 10000.0, pairing: str = "adjacent") -> Tensor:
    """Turn pairs of features by an angle that grows with the position (Su et al., 2021).

        (x, y)  →  (x cos iωⱼ - y sin iωⱼ,  x sin iωⱼ + y cos iωⱼ),   ωⱼ = base^(-2j / size)

    for pair j of the token at position i (https://arxiv.org/abs/2104.09864). The dot product of a turned query and a
    turned key depends on their positions through the difference alone.

    Chapter: Relative positions.

    Args:
        X: `(..., steps, size)`, `size` even. Half precision is turned in float32.
        offset: position of the first step, an integer of at least 0.
        base: the larger, the slower the last pairs turn; at least 1.
        pairing: which features form pair j: `"adjacent"` ones, 2j and 2j + 1, as in the paper, or those of two
            `"halves"`, j and j + size / 2, as in GPT-NeoX. Up to a permutation both are the same.

    Returns:
        A tensor of the shape and dtype of `X`.

    Raises:
        ValueError: if `X` has fewer than two dimensions, an odd size or no floating-point dtype, or another argument is
            not allowed.
    """
    check_rotation(base, pairing)
    check_offset(offset)
    if not isinstance(X, Tensor) or X.dim() < 2 or not X.is_floating_point():
        found = f"{name_kind(X)} {name_shape(X)}" if isinstance(X, Tensor) else name_kind(X)
        raise ValueError(f"X must hold floating-point numbers of shape (..., steps, size), got {found}")
    if X.shape[-1] % 2 or X.shape[-1] == 0:
        raise ValueError(f"rotary embedding turns pairs: the size must be even and at least 2, got {X.shape[-1]}")
    return turn(X, make_angles(X.shape[-2], X.shape[-1], base, offset), pairing)


def turn(X: Tensor, angles: Tensor, pairing: str) -> Tensor:
    """Turn the pairs of `X`, `(..., steps, size)`, by `angles`, `(steps, size / 2)`, in float32 at least."""
    wide = at_least_float32(X)
    cos, sin = (table.to(X.device, wide.dtype) for table in (angles.cos(), angles.sin()))  # (steps, size / 2)
    x, y = (wide[..., 0::2], wide[..., 1::2]) if pairing == "adjacent" else wide.chunk(2, dim=-1)
    both = (x * cos - y * sin, x * sin + y * cos)  # (..., steps, size / 2) each
    whole = torch.stack(both, dim=-1).flatten(-2) if pairing == "adjacent" else torch.cat(both, dim=-1)
    return whole.to(X.dtype)  # (..., steps, size)


class RotaryEmbedding(RelativePositions):
    """Rotary position embedding, RoPE: queries and keys are turned, values are not; see `apply_rotary`.

    Chapter: Relative positions.

    Args:
        base: the larger, the slower the last pairs turn; at least 1.
        pairing: `"adjacent"` or `"halves"`.
    """

    def __init__(self, base: float = 10000.0, *, pairing: str = "adjacent") -> None:
        super().__init__()
        check_rotation(base, pairing)
        self.base, self.pairing = base, pairing

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys. The size of a head must be even. See `RelativePositions`."""
        check_positions(queries, keys)
        num_queries, num_keys, size = queries.shape[-2], *keys.shape[-2:]
        if queries.shape[-1] != size or size % 2 or size == 0:
            found = f"{queries.shape[-1]} and {size}"
            raise ValueError(f"for rotary embedding queries and keys must share an even size, got {found}")
        angles = make_angles(num_keys, size, self.base)  # (keys, size / 2)
        Q = turn(queries, angles[num_keys - num_queries :], self.pairing)  # the queries are the last of the keys
        return Q, turn(keys, angles, self.pairing), None

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"base={self.base:g}, pairing={self.pairing!r}"


def check_rotation(base: float, pairing: str) -> None:
    """Check how fast pairs turn, and which features form them."""
    check_choice("pairing", pairing, ("adjacent", "halves"))
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not 1 <= base <= 1e300:
        raise ValueError(f"base must be a number of at least 1, got {base!r}")
