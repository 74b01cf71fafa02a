"""What a decoder keeps between two steps."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

KeysAndValues = tuple[Tensor, Tensor]  # (batch, num_heads, steps, p) each, as MultiHeadAttention.keys_and_values makes


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
