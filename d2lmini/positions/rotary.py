"""Rotary positions: pairs of features are turned by an angle that grows with the position."""

from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_choice, check_number, check_pairs, check_positions, check_start
from d2lmini.positions.added import make_angles
from d2lmini.renamed import read_older


def apply_rotary(
    X: Tensor, start: int = 0, *, base: float = 10000.0, pairing: str = "adjacent", **older: Any
) -> Tensor:
    """Turn pairs of features by an angle that grows with the position (Su et al., 2021).

        (x, y)  →  (x cos iωⱼ - y sin iωⱼ,  x sin iωⱼ + y cos iωⱼ),   ωⱼ = base^(-2j / size)

    for pair j of the token at position i (https://arxiv.org/abs/2104.09864). The dot product of a turned query and a
    turned key depends on their positions only through the difference.

    Chapter: How to tell a distance.

    Args:
        X: `(..., steps, size)`, with `size` even. Half precision is turned in float32.
        start: position of the first step, an integer of at least 0.
        base: the larger it is, the more slowly the last pairs turn; at least 1.
        pairing: which features form pair j: `"adjacent"` ones, 2j and 2j + 1, as in the paper, or those of two
            `"halves"`, j and j + size / 2, as in GPT-NeoX. They are the same up to a permutation.
        **older: `offset`, an older name of `start`.

    Returns:
        A tensor of the shape and dtype of `X`.

    Raises:
        ValueError: if `X` has fewer than two dimensions, an odd size or a dtype that is not floating-point, or another
            argument is not allowed.

    >>> d2l.apply_rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    start = read_older(older, "offset", "start") if older else start
    check_rotation(base, pairing)
    check_start(start)
    check_pairs("X", X)
    return turn(X, make_angles(X.shape[-2], X.shape[-1], base, start), pairing)


def turn(X: Tensor, angles: Tensor, pairing: str) -> Tensor:
    """Turn the pairs of `X`, `(..., steps, size)`, by `angles`, `(steps, size / 2)`, in at least float32."""
    wide = X.to(torch.promote_types(X.dtype, torch.float32))
    cos, sin = angles.cos().to(X.device, wide.dtype), angles.sin().to(X.device, wide.dtype)  # (steps, size / 2)
    x, y = (wide[..., 0::2], wide[..., 1::2]) if pairing == "adjacent" else wide.chunk(2, dim=-1)
    both = (x * cos - y * sin, x * sin + y * cos)  # (..., steps, size / 2) each
    whole = torch.stack(both, dim=-1).flatten(-2) if pairing == "adjacent" else torch.cat(both, dim=-1)
    return whole.to(X.dtype)  # (..., steps, size)


def check_rotation(base: float, pairing: str) -> None:
    """Check how fast pairs turn, and which features form them."""
    check_choice("pairing", pairing, ("adjacent", "halves"))
    check_number("base", base, 1, 1e300)


class RotaryEmbedding(RelativePositions):
    """Rotary position embedding, RoPE: queries and keys are turned, values are not; see `apply_rotary`.

    Chapter: How to tell a distance.

    Args:
        base: the larger it is, the more slowly the last pairs turn; at least 1.
        pairing: `"adjacent"` or `"halves"`.

    >>> Q = K = torch.ones(1, 1, 3, 2)
    >>> turned_Q, turned_K, _ = d2l.RotaryEmbedding()(Q, K)
    >>> torch.allclose((turned_Q @ turned_K.mT)[0, 0, 1, 0], (turned_Q @ turned_K.mT)[0, 0, 2, 1])
    True
    """

    def __init__(self, base: float = 10000.0, *, pairing: str = "adjacent") -> None:
        super().__init__()
        check_rotation(base, pairing)
        self.base, self.pairing = base, pairing

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys. The size of a head must be even. See `RelativePositions`."""
        check_positions(queries, keys)
        check_pairs("queries", queries)
        num_queries, num_keys, size = queries.shape[-2], *keys.shape[-2:]
        angles = make_angles(num_keys, size, self.base)  # (keys, size / 2)
        Q = turn(queries, angles[num_keys - num_queries :], self.pairing)  # the queries are the last of the keys
        return Q, turn(keys, angles, self.pairing), None

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"base={self.base:g}, pairing={self.pairing!r}"
