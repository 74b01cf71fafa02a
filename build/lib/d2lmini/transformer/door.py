"""The door of blocks and stacks: tokens, what was kept of earlier ones, and where there is padding.

Each check raises a `ValueError` that names the argument, its value and what is allowed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from d2lmini.attention.masks import valid_lens_mask
from d2lmini.tensors import (
    check_integers,
    check_lengths,
    check_one_length_each,
    may_autocast,
    name_shape,
    name_tensor,
    read_range,
)
from d2lmini.transformer.state import DecoderState, KeysAndValues


def check_tokens(tokens: Tensor, vocab_size: int) -> None:
    """Check that these are tokens of the vocabulary, `(batch, steps)`, by looking at their values."""
    if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"tokens must be integers (int64 or int32) of shape (batch, steps), got {name_tensor(tokens)}")
    lowest, highest = read_range(tokens) or (0, 0)
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(f"tokens must lie in 0..{vocab_size - 1}, got values from {lowest} to {highest}")


def check_counts(name: str, counts: Tensor, batch_size: int | None) -> None:
    """Check that these are numbers of tokens, one for each example, by looking at their values."""
    check_integers(name, counts)
    if counts.dim() != 1 or batch_size not in (None, len(counts)):
        fitting = "(batch,)" if batch_size is None else f"({batch_size},)"
        raise ValueError(f"{name} must have shape {fitting}, got {name_shape(counts)}")
    lowest, _ = read_range(counts) or (0, 0)
    if lowest < 0:
        raise ValueError(f"{name} must be at least 0, got {lowest}")


def check_pair(name: str, pair: KeysAndValues) -> None:
    """Check that these are keys and values that a layer has projected, `(batch, num_heads, keys, p)` each."""
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, Tensor) for part in pair):
        raise ValueError(f"{name} must be a pair of tensors, keys and values, got {name_tensor(pair)}")
    if any(part.dim() != 4 for part in pair):
        found = f"{name_shape(pair[0])} and {name_shape(pair[1])}"
        raise ValueError(f"{name} must be what keys_and_values returns, (batch, num_heads, keys, p) each, got {found}")


def check_past(past: KeysAndValues, X: Tensor, num_kv_heads: int, size: int) -> None:
    """Check that the newest tokens `X` can follow these past keys and values, `(batch, num_kv_heads, keys, p)` each."""
    check_pair("past", past)
    fitting = (X.shape[0], num_kv_heads, past[0].shape[2], size)
    for part in past:
        if tuple(part.shape) != fitting or (part.dtype != X.dtype and not may_autocast(part)):
            raise ValueError(f"past must be {X.dtype} {fitting}, got {name_tensor(part)}")


def check_state(state: DecoderState, tokens: Tensor, num_blks: int, num_memories: int) -> None:
    """Check that a state belongs to these sequences, in a decoder with this many blocks and memories."""
    if not isinstance(state, DecoderState):
        raise ValueError(f"state must be what start or step has returned, got {name_tensor(state)}")
    memory, past = len(state.memory), len(state.past)
    if memory != num_memories or past not in (0, num_blks):
        fitting = f"a memory of {num_memories} blocks and a past of 0 or {num_blks}"
        raise ValueError(f"state must have {fitting}, got {memory} and {past}")
    if any(pair[0].shape[-2] != state.num_steps for pair in state.past):
        lengths = sorted({pair[0].shape[-2] for pair in state.past})
        raise ValueError(f"state must have one length of the past in all blocks, got {lengths}")
    batch = state.batch_size
    if isinstance(tokens, Tensor) and tokens.dim() == 2 and batch not in (None, tokens.shape[0]):
        raise ValueError(f"tokens must have the batch size of the state, {batch}, got {name_shape(tokens)}")


def hide_padding(memory: Tensor, memory_valid_lens: Tensor) -> Tensor:
    """Zeros for the padding: otherwise 0 times whatever it holds could be NaN, in the gradients of the projections."""
    check_lengths("memory_valid_lens", memory_valid_lens, memory.shape[1])
    check_one_length_each("memory_valid_lens", memory_valid_lens, tuple(memory.shape[:1]))
    counted = valid_lens_mask(memory_valid_lens, memory.shape[1])  # (batch, 1, memory_steps)
    return memory.masked_fill(~counted.mT, 0.0)


def keep_padding(left_padding: Tensor | None, batch_size: int | None = None) -> Tensor | None:
    """A copy of the numbers of padding tokens, `(batch,)`, which nobody else can change."""
    if left_padding is None:
        return None
    check_counts("left_padding", left_padding, batch_size)
    return left_padding.to(torch.int64, copy=True)


def check_padding(left_padding: Tensor | None, tokens: Tensor) -> None:
    """Check that no whole sequence has more padding than tokens."""
    _, highest = (None if left_padding is None else read_range(left_padding)) or (0, 0)
    if highest > tokens.shape[1]:
        raise ValueError(f"left_padding must be at most {tokens.shape[1]}, the number of tokens, got {highest}")
