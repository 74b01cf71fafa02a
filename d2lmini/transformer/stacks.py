"""The Transformer: stacks of blocks on the embeddings of tokens, and decoding with a key-value cache."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_number, check_size
from d2lmini.attention.door import check_layer, check_sequences
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.positions.added import make_positions
from d2lmini.transformer.blocks import KeysAndValues, TransformerDecoderBlock, TransformerEncoderBlock

__all__ = ["DecoderState", "TransformerDecoder", "TransformerEncoder"]


class DecoderState(NamedTuple):
    """What a decoder keeps between two steps: keys and values, so that nothing is computed twice.

    A step returns a new state and leaves the old one as it is.

    Attributes:
        memory: for each block the keys and values of cross-attention, made from the encoder's output once.
        memory_valid_lens: ``(batch,)``, how many tokens of the encoder's output count; ``None`` for all.
        past: for each block the keys and values of self-attention of all tokens so far.
    """

    memory: tuple[KeysAndValues, ...]
    memory_valid_lens: Tensor | None
    past: tuple[KeysAndValues, ...]

    @property
    def num_steps(self) -> int:
        """How many tokens the decoder has seen."""
        return self.past[0][0].shape[1] if self.past else 0


class _Stack(nn.Module):
    """What encoder and decoder share: tokens become vectors with positions, and go through blocks."""

    block: type[TransformerEncoderBlock] | type[TransformerDecoderBlock]

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blks: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_first: bool = False,
        positions: str = "sinusoidal",
        max_len: int = 1000,
    ) -> None:
        super().__init__()
        for name, size in (("vocab_size", vocab_size), ("num_hiddens", num_hiddens), ("num_blks", num_blks)):
            check_size(name, size)
        check_number("dropout", dropout, 0, 1)
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.on_tokens = make_positions(positions, num_hiddens, num_heads, max_len=max_len)[0]
        self.dropout = nn.Dropout(dropout)
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        self.blks = nn.ModuleList(
            [self.block(*sizes, norm_first=norm_first, positions=positions) for _ in range(num_blks)]
        )
        self.norm = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()

    def embed(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """Vectors of the tokens, ``(batch, steps)``, with what the scheme adds to them."""
        vocab_size = self.embedding.num_embeddings
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
            found = f"{tokens.dtype} {tuple(tokens.shape)}" if isinstance(tokens, Tensor) else type(tokens).__name__
            raise ValueError(f"tokens must be integers (int64 or int32) of shape (batch, steps), got {found}")
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < vocab_size:
            raise ValueError(
                f"tokens must lie in 0..{vocab_size - 1}, got values from {int(tokens.min())} to {int(tokens.max())}"
            )
        X = self.embedding(tokens)
        X = X if isinstance(self.on_tokens, nn.Identity) else self.on_tokens(X, offset=offset)
        return self.dropout(X)


class TransformerEncoder(_Stack):
    """A stack of encoder blocks on the embeddings of tokens.

    Embeddings are not multiplied by the root of ``num_hiddens``: :class:`torch.nn.Embedding` draws them from a
    standard normal distribution, so that they are as large as the positions. Tokens are looked at, so
    ``torch.compile(fullgraph=True)`` cannot trace a stack; it can trace a block.

    Args:
        vocab_size: number of different tokens.
        num_hiddens: size of a token inside.
        ffn_num_hiddens: size of the hidden layers of the position-wise networks.
        num_heads: number of heads; it divides ``num_hiddens``.
        num_blks: number of blocks, at least 1.
        dropout: probability of dropping in training: weights, and entries of embeddings and of what layers add.
        use_bias: whether the projections of attention add a bias.
        norm_first: pre-norm instead of post-norm; then another norm follows the last block.
        positions: name of a scheme, see :func:`~d2lmini.positional.make_positions`.
        max_len: number of positions, for schemes that have a table of them.

    Raises:
        ValueError: if a size does not fit, or there is no such scheme.
    """

    block = TransformerEncoderBlock

    def forward(
        self,
        tokens: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Encode sequences of tokens.

        Args:
            tokens: integers ``(batch, steps)`` in ``0..vocab_size - 1``.
            valid_lens: ``(batch,)``, how many tokens count; the others are padding.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, num_heads, steps, steps)``.
            need_weights: also return the weights of each block.

        Returns:
            ``(batch, steps, num_hiddens)``; with ``need_weights`` the pair of it and a list with the weights of each
            block, ``(batch, num_heads, steps, steps)``. What comes out at padding means nothing.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        X, weights = self.embed(tokens), []
        for blk in self.blks:
            result = blk(X, valid_lens, mask=mask, need_weights=need_weights)
            X = result[0] if need_weights else result
            weights += [result[1]] if need_weights else []
        X = self.norm(X)
        return (X, weights) if need_weights else X


class TransformerDecoder(_Stack):
    """A stack of decoder blocks on the embeddings of tokens, with a linear layer that returns logits.

    The parallel pass over a whole sequence and decoding token by token are the same code: both go through
    :meth:`step`, with all tokens or with the newest ones.

    Args:
        vocab_size: number of different tokens.
        num_hiddens: size of a token inside, also of the encoder's output.
        ffn_num_hiddens: size of the hidden layers of the position-wise networks.
        num_heads: number of heads; it divides ``num_hiddens``.
        num_blks: number of blocks, at least 1.
        dropout: probability of dropping in training: weights, and entries of embeddings and of what layers add.
        use_bias: whether the projections of attention add a bias.
        norm_first: pre-norm instead of post-norm; then another norm follows the last block.
        positions: name of a scheme, see :func:`~d2lmini.positional.make_positions`.
        max_len: number of positions, for schemes that have a table of them.

    Raises:
        ValueError: if a size does not fit, or there is no such scheme.
    """

    block = TransformerDecoderBlock

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blks: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_first: bool = False,
        positions: str = "sinusoidal",
        max_len: int = 1000,
    ) -> None:
        super().__init__(
            vocab_size,
            num_hiddens,
            ffn_num_hiddens,
            num_heads,
            num_blks,
            dropout,
            use_bias,
            norm_first=norm_first,
            positions=positions,
            max_len=max_len,
        )
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def start(self, memory: Tensor, memory_valid_lens: Tensor | None = None) -> DecoderState:
        """The state before the first token.

        Args:
            memory: the encoder's output, ``(batch, memory_steps, num_hiddens)``. Its padding may hold anything.
            memory_valid_lens: ``(batch,)``, how many tokens of the memory count.

        Returns:
            The state, with the keys and values of the memory and no past.

        Raises:
            ValueError: if a shape or dtype does not fit.
        """
        blks = [cast(TransformerDecoderBlock, blk) for blk in self.blks]
        check_sequences(memory=memory)
        check_layer("memory", memory, blks[0].cross_attention.W_k)
        if memory_valid_lens is not None:
            memory = _without_padding(memory, memory_valid_lens)
            memory_valid_lens = memory_valid_lens.clone()
        kept = tuple(blk.cross_attention.keys_and_values(memory, memory) for blk in blks)
        return DecoderState(memory=kept, memory_valid_lens=memory_valid_lens, past=())

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, list[tuple[Tensor, Tensor]] | None]:
        """Decode the newest tokens.

        Args:
            tokens: integers ``(batch, steps)``: those that ``state`` has not seen.
            state: from :meth:`start` or from the step before. It is left as it is.
            need_weights: also return the weights of each block.

        Returns:
            Three things: the logits of the token that follows each of ``tokens``, ``(batch, steps, vocab_size)``; the
            new state; and a list with the weights of self-attention, ``(batch, num_heads, steps, all steps)``, and of
            cross-attention, ``(batch, num_heads, steps, memory_steps)``, of each block; ``None`` without
            ``need_weights``.

        Raises:
            ValueError: if a shape or dtype does not fit, a token or a position does not exist, or the state is that
                of another batch or another decoder.
        """
        self._check_state(tokens, state)
        X, past, all_weights = self.embed(tokens, offset=state.num_steps), [], []
        for i, blk in enumerate(self.blks):
            X, present, weights = blk(
                X,
                state.memory[i],
                state.memory_valid_lens,
                past=state.past[i] if state.past else None,
                need_weights=need_weights,
            )
            past.append(present)
            all_weights += [weights] if need_weights else []
        return self.dense(self.norm(X)), state._replace(past=tuple(past)), all_weights if need_weights else None

    def _check_state(self, tokens: Tensor, state: DecoderState) -> None:
        if not isinstance(state, DecoderState):
            raise ValueError(f"state must be what start or step has returned, got {type(state).__name__}")
        memory, past, blks = len(state.memory), len(state.past), len(self.blks)
        if memory != blks or past not in (0, blks):
            raise ValueError(f"state must be of {blks} blocks, got one of {memory} with a past of {past}")
        lengths = sorted({K.shape[1] for K, _ in state.past})
        if len(lengths) > 1:
            raise ValueError(f"state must have one length of the past in all blocks, got {lengths}")
        num_heads = cast(TransformerDecoderBlock, self.blks[0]).attention.num_heads
        rows = state.memory[0][0].shape[0]
        if isinstance(tokens, Tensor) and tokens.dim() == 2 and rows != tokens.shape[0] * num_heads:
            raise ValueError(
                f"tokens must have the batch size of the memory, {rows // num_heads}, got {tuple(tokens.shape)}"
            )

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        memory_valid_lens: Tensor | None = None,
        *,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Decode whole sequences at once, as in training.

        Args:
            tokens: integers ``(batch, steps)`` in ``0..vocab_size - 1``.
            memory: the encoder's output, ``(batch, memory_steps, num_hiddens)``.
            memory_valid_lens: ``(batch,)``, how many tokens of the memory count.
            need_weights: also return the weights of each block, see :meth:`step`.

        Returns:
            The logits of the token that follows each token, ``(batch, steps, vocab_size)``; with ``need_weights``
            the pair of them and the weights.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        logits, _, weights = self.step(tokens, self.start(memory, memory_valid_lens), need_weights=need_weights)
        return logits if weights is None else (logits, weights)


def _without_padding(memory: Tensor, memory_valid_lens: Tensor) -> Tensor:
    """Zeros for the padding: 0 times whatever it holds could be NaN, in the gradients of the projections."""
    try:
        counted = valid_lens_mask(memory_valid_lens, memory.shape[1])
    except ValueError as error:
        raise ValueError(f"memory_valid_lens: {error}") from None
    if memory_valid_lens.shape != memory.shape[:1]:
        raise ValueError(
            f"memory_valid_lens must have shape (batch,) = {tuple(memory.shape[:1])}, got "
            f"{tuple(memory_valid_lens.shape)}"
        )
    return memory.masked_fill(~counted.mT, 0.0)
