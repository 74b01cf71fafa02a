"""The door: what attention asks of its arguments, and how padding is kept out of sight."""

from __future__ import annotations

import torch
from torch import Tensor

from d2lmini.attention.masks import sees_nothing


def check_offset(offset: int) -> None:
    """Check that the position of a first token is one that float64 can count on from.

    Raises:
        ValueError: if it is no integer in ``0..2**52``.
    """
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= 2**52:
        raise ValueError(f"offset must be an integer of at least 0 (and at most 2**52), got {offset!r}")


def check_sequences(**sequences: Tensor) -> None:
    """Check that each argument is a tensor of shape ``(batch, steps, size)``, and that all share a dtype.

    Raises:
        ValueError: if not. Under autocast the dtypes may differ.
    """
    for name, sequence in sequences.items():
        if not isinstance(sequence, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(sequence).__name__}")
        if sequence.dim() != 3:
            raise ValueError(f"{name} must have shape (batch, steps, size), got {tuple(sequence.shape)}")
    names = " and ".join([", ".join(list(sequences)[:-1]), list(sequences)[-1]]).removeprefix(" and ")
    dtypes = [sequence.dtype for sequence in sequences.values()]
    devices = {sequence.device.type for sequence in sequences.values()}
    mixed = len(set(dtypes)) > 1 and not all(map(torch.is_autocast_enabled, devices))
    if mixed or not all(dtype.is_floating_point for dtype in dtypes):
        raise ValueError(f"{names} must share one floating-point dtype, got {dtypes}")


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Check that queries, keys and values go together.

    Raises:
        ValueError: if one of them is no tensor of shape ``(batch, steps, size)``, or their batch sizes, numbers of
            keys and values, or dtypes differ.
    """
    check_sequences(queries=queries, keys=keys, values=values)
    shapes = {"queries": tuple(queries.shape), "keys": tuple(keys.shape), "values": tuple(values.shape)}
    if not shapes["queries"][0] == shapes["keys"][0] == shapes["values"][0]:
        raise ValueError(f"queries, keys and values must have the same batch size, got {shapes}")
    if shapes["keys"][1] != shapes["values"][1]:
        raise ValueError(f"there must be one value for each key, got {shapes}")


def check_layer(name: str, inputs: Tensor, layer: torch.nn.Linear) -> None:
    """Check that a linear layer takes these inputs, of shape ``(..., size)``.

    Raises:
        ValueError: if their size or dtype is another one. Under autocast float16, bfloat16 and float32 may meet.
    """
    if inputs.shape[-1] != layer.in_features:
        raise ValueError(
            f"{name} must have size {layer.in_features} in their last dimension, got {tuple(inputs.shape)}"
        )
    cast = torch.is_autocast_enabled(inputs.device.type) and inputs.dtype != torch.float64
    if inputs.dtype != layer.weight.dtype and not cast:
        raise ValueError(f"{name} must have the dtype of the weights, {layer.weight.dtype}, got {inputs.dtype}")


def check_bias(bias: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Check that a bias of the scores broadcasts to ``shape``, ``(..., queries, keys)``.

    Raises:
        ValueError: if not, or it holds no floating-point numbers, or lies on another device.
    """
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        found = bias.dtype if isinstance(bias, Tensor) else type(bias).__name__
        raise ValueError(f"bias must be a tensor of floating-point numbers, got {found}")
    if bias.device != device:
        raise ValueError(f"bias must be on the device of the queries, {device}, got {bias.device}")
    pairs = zip(bias.shape[::-1], shape[::-1], strict=False)
    if bias.dim() > len(shape) or any(size not in (1, whole) for size, whole in pairs):
        raise ValueError(f"bias must broadcast to {tuple(shape)}, got {tuple(bias.shape)}")


def hide_unseen(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros for the queries that see nothing, and for the keys and values that nobody sees.

    0 times whatever the padding holds could be NaN, in the output or in a gradient. ``allowed`` broadcasts to
    ``(batch, queries, keys)``.
    """
    if allowed is None:
        return queries, keys, values
    unseen = ~allowed.any(dim=-2)[..., None]
    queries = queries.masked_fill(sees_nothing(allowed), 0.0)
    return queries, keys.masked_fill(unseen, 0.0), values.masked_fill(unseen, 0.0)
