"""What a decoder keeps between two steps, and what it may be."""

from typing import NamedTuple

import torch
from torch import Tensor

from d2lmini.attention.masks import valid_lens_mask
from d2lmini.checks import (
    check_integers,
    check_lengths,
    check_one_length_each,
    check_shapes,
    name_shape,
    name_tensor,
    read_range,
)

KeysAndValues = tuple[
    Tensor, Tensor
]  # (batch, num_kv_heads, steps, p) each, as MultiHeadAttention.keys_and_values makes


class DecoderState(NamedTuple):
    """What a decoder keeps between two steps: keys and values, so that nothing is computed twice.

    A step returns a new state and leaves the old one unchanged.

    Attributes:
        memory: for each block, the keys and values of cross-attention, made once from the encoder's output; empty in a
            decoder without an encoder.
        memory_valid_lens: `(batch,)`, how many tokens of the encoder's output count; `None` for all.
        past: for each block, the keys and values of self-attention for all tokens so far.
        left_padding: `(batch,)`, how many of the first tokens are padding; `None` if none is.
    """

    memory: tuple[KeysAndValues, ...] = ()
    memory_valid_lens: Tensor | None = None
    past: tuple[KeysAndValues, ...] = ()
    left_padding: Tensor | None = None

    @property
    def num_steps(self) -> int:
        """How many tokens the decoder has seen."""
        return self.past[0][0].shape[2] if self.past else 0

    @property
    def batch_size(self) -> int | None:
        """How many sequences are decoded; `None` while any number would do."""
        if self.left_padding is not None:
            return self.left_padding.shape[0]
        kept = self.memory or self.past
        return kept[0][0].shape[0] if kept else None

    def show_tokens(self, num_newest: int) -> Tensor | None:
        """Which tokens may be seen, those so far and the newest: `(batch, 1, 1, all steps)`, `None` for all of them."""
        if self.left_padding is None:
            return None
        steps = torch.arange(self.num_steps + num_newest, device=self.left_padding.device)  # (all steps,)
        return (steps >= self.left_padding[:, None])[:, None, None]  # (batch, 1, 1, all steps)


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
    check_integers("left_padding", left_padding)
    check_shapes({} if batch_size is None else {"batch": batch_size}, left_padding=(left_padding, "batch"))
    if (lowest := (read_range(left_padding) or (0, 0))[0]) < 0:
        raise ValueError(f"left_padding must be at least 0, got {lowest}")
    return left_padding.to(torch.int64, copy=True)


def check_padding(left_padding: Tensor | None, tokens: Tensor) -> None:
    """Check that no whole sequence has more padding than tokens."""
    _, highest = read_range(left_padding) or (0, 0)
    if highest > tokens.shape[1]:
        raise ValueError(f"left_padding must be at most {tokens.shape[1]}, the number of tokens, got {highest}")
