"""What the attention modules ask of their queries, keys and values, and how they keep padding out of sight."""

from __future__ import annotations

import torch
from torch import Tensor

from d2lmini.masks import sees_nothing


def check_inputs(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Check that queries, keys and values go together.

    Raises:
        ValueError: if one of them is no tensor of shape ``(batch, steps, size)``, or their batch sizes, numbers of
            keys and values, or dtypes differ.
    """
    inputs = {"queries": queries, "keys": keys, "values": values}
    for name, tensor in inputs.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(tensor).__name__}")
    shapes = {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    for name, shape in shapes.items():
        if len(shape) != 3:
            raise ValueError(f"{name} must have shape (batch, steps, size), got {shape}")
    if not shapes["queries"][0] == shapes["keys"][0] == shapes["values"][0]:
        raise ValueError(f"queries, keys and values must have the same batch size, got {shapes}")
    if shapes["keys"][1] != shapes["values"][1]:
        raise ValueError(f"there must be one value for each key, got {shapes}")
    dtypes = [queries.dtype, keys.dtype, values.dtype]
    if len(set(dtypes)) > 1 or not queries.is_floating_point():
        raise ValueError(f"queries, keys and values must share one floating-point dtype, got {dtypes}")


def check_layer(name: str, inputs: Tensor, layer: torch.nn.Linear) -> None:
    """Check that a linear layer takes these inputs, of shape ``(..., size)``.

    Raises:
        ValueError: if their size or dtype is another one. Under autocast the dtypes may differ.
    """
    if inputs.shape[-1] != layer.in_features:
        raise ValueError(
            f"{name} must have size {layer.in_features} in their last dimension, got {tuple(inputs.shape)}"
        )
    if inputs.dtype != layer.weight.dtype and not torch.is_autocast_enabled(inputs.device.type):
        raise ValueError(f"{name} must have the dtype of the weights, {layer.weight.dtype}, got {inputs.dtype}")


def hide_unseen(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Zeros for the queries that see nothing, and for the keys and values that nobody sees.

    0 times whatever the padding holds could be NaN, in the output or in a gradient. ``allowed`` broadcasts to
    ``(batch, queries, keys)``.
    """
    if allowed is None:
        return queries, keys, values
    unseen = ~allowed.any(dim=-2)[..., None]
    return (
        queries.masked_fill(sees_nothing(allowed), 0.0),
        keys.masked_fill(unseen, 0.0),
        values.masked_fill(unseen, 0.0),
    )
