"""What a decoder keeps between two steps, and what it may be."""

import warnings
from typing import NamedTuple

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import KeysAndValues
from d2lmini.attention.numerics import may_go_on
from d2lmini.checks import check_integers, check_shapes, name_shape, name_tensor, read_range


class DecoderState(NamedTuple):
    """What a decoder keeps between two steps: keys and values, so that nothing is computed twice.

    A step returns a new state and leaves the old one unchanged.

    Attributes:
        memory: for each block, the keys and values of cross-attention, made once from the encoder's output; empty in a
            decoder without an encoder.
        memory_valid_lens: `(batch,)`, how many tokens of the encoder's output count; `None` for all.
        cache: for each block, the keys and values of self-attention for all tokens so far.
        left_padding: `(batch,)`, how many of the first tokens are padding; `None` if none is.
    """

    memory: tuple[KeysAndValues, ...] = ()
    memory_valid_lens: Tensor | None = None
    cache: tuple[KeysAndValues, ...] = ()
    left_padding: Tensor | None = None

    @property
    def num_steps(self) -> int:
        """How many tokens the decoder has seen."""
        return self.cache[0][0].shape[2] if self.cache else 0

    @property
    def batch_size(self) -> int | None:
        """How many sequences are decoded; `None` while any number would do."""
        if self.left_padding is not None:
            return self.left_padding.shape[0]
        pairs = self.memory or self.cache
        return pairs[0][0].shape[0] if pairs else None

    @property
    def past(self) -> tuple[KeysAndValues, ...]:
        """An older name of `cache`."""
        warnings.warn("past is called cache; this edition is the last to know past", stacklevel=2)
        return self.cache

    def show_tokens(self, num_newest: int) -> Tensor | None:
        """Which tokens may be seen, those so far and the newest: `(batch, 1, 1, all steps)`, `None` for all of them."""
        if self.left_padding is None:
            return None
        steps = torch.arange(self.num_steps + num_newest, device=self.left_padding.device)  # (all steps,)
        return (steps >= self.left_padding[:, None])[:, None, None]  # (batch, 1, 1, all steps)


def check_state(state: DecoderState, tokens: Tensor, blks: nn.ModuleList, crosses: bool) -> None:
    """Check that a state belongs to these sequences, in a decoder with these blocks."""
    if not isinstance(state, DecoderState):
        raise ValueError(f"state must be what start or step has returned, got {name_tensor(state)}")
    memory, cache, expected = len(state.memory), len(state.cache), len(blks) if crosses else 0
    if memory != expected or cache not in (0, len(blks)):
        fitting = f"a memory of {expected} blocks and a cache of 0 or {len(blks)}"
        raise ValueError(f"state must have {fitting}, got {memory} and {cache}")
    batch = state.batch_size
    if isinstance(tokens, Tensor) and tokens.dim() == 2 and batch not in (None, tokens.shape[0]):
        raise ValueError(f"tokens must have the batch size of the state, {batch}, got {name_shape(tokens)}")
    for name, pairs, attention in (("cache", state.cache, "attention"), ("memory", state.memory, "cross_attention")):
        for i, pair in enumerate(pairs):  # of the size of its layer, and as long as the first
            layer, steps = getattr(blks[i], attention), pairs[0][0].shape[2]
            shape = (batch, layer.num_kv_heads, steps, layer.num_hiddens // layer.num_heads)
            dtype = getattr(getattr(layer.W_k, "weight", None), "dtype", pair[0].dtype)
            for part in pair:
                if part.shape != shape or not (part.dtype == dtype or may_go_on(part, dtype)):
                    raise ValueError(f"state.{name}[{i}] must be {dtype} {shape}, got {name_tensor(part)}")


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
