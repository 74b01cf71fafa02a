"""Offsets: how far each key stands after each query, and numbers by offset turned into numbers by pair."""

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini.checks import check_steps


def relative_offsets(num_queries: int, num_keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """How far each key stands after each query: negative for earlier keys, 0 for the query's own position.

    Chapter: How to tell a distance.

    Args:
        num_queries: number of queries, at least 0. They stand at the last positions of the keys.
        num_keys: number of keys, at least `num_queries`; by default the same.
        device: where to put the result.

    Returns:
        Integers of shape `(num_queries, num_keys)`: position of the key minus position of the query.

    Raises:
        ValueError: if `num_queries` is negative or there are fewer keys than queries.

    >>> d2l.relative_offsets(2, 3)
    tensor([[-1,  0,  1],
            [-2, -1,  0]])
    """
    num_keys = num_queries if num_keys is None else num_keys
    check_steps(num_queries, num_keys)
    positions = torch.arange(num_keys, device=device)  # (keys,)
    return positions - positions[num_keys - num_queries :, None]  # (queries, keys)


def list_offsets(queries: Tensor, keys: Tensor) -> Tensor:
    """All offsets that occur, in order: `(queries + keys - 1,)`. The first key is the furthest from the last query.

    What belongs to an offset is worked out once for each of these, not once for each pair.
    """
    num_queries, num_keys = queries.shape[-2], keys.shape[-2]
    return torch.arange(num_queries + num_keys, device=keys.device)[1:] - num_keys


def spread(by_offset: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Numbers by offset, `(..., queries + keys - 1)`, as numbers by pair, `(..., queries, keys)`.

    The row of a query is a window of `keys` numbers; it begins one number earlier than that of the query before.
    """
    num_queries, num_keys = queries.shape[-2], keys.shape[-2]
    if not torch.compiler.is_compiling():
        windows = F.pad(by_offset, (1, 0)).unfold(-1, num_keys, 1)  # (..., queries + 1, keys), a view
        return windows.flip(-2)[..., :num_queries, :]
    # In a compiled graph `unfold` would fix the lengths. Here one row per query, all alike and queries + keys + 1 wide,
    # is read as rows that are one narrower: each of them then begins one number earlier than the row above it.
    row = F.pad(by_offset, (1, 1)).unsqueeze(-2)  # (..., 1, queries + keys + 1)
    rows = row.expand(*row.shape[:-2], num_queries, -1).flatten(-2)[..., num_queries:]
    return rows.unflatten(-1, (num_queries, num_queries + num_keys))[..., :num_keys]
