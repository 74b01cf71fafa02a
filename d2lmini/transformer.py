"""The Transformer: stacks of blocks on the embeddings of tokens, and decoding with a key-value cache."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from d2lmini.inputs import check_size
from d2lmini.positional import make_positions
from d2lmini.transformer_blocks import KeysAndValues, TransformerDecoderBlock, TransformerEncoderBlock

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
    """What encoder and decoder share: tokens become vectors with positions; a norm at the end of pre-norm blocks."""

    def __init__(
        self, vocab_size: int, num_hiddens: int, num_heads: int, dropout: float, positions: str, max_len: int
    ) -> None:
        super().__init__()
        check_size("vocab_size", vocab_size)
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.on_tokens = make_positions(positions, num_hiddens, num_heads, max_len=max_len)[0]
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """Vectors of the tokens, ``(batch, steps)``, with what the scheme adds to them."""
        vocab_size = self.embedding.num_embeddings
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
            found = f"{tokens.dtype} {tuple(tokens.shape)}" if isinstance(tokens, Tensor) else type(tokens).__name__
            raise ValueError(f"tokens must be integers of shape (batch, steps), got {found}")
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
    standard normal distribution, so that they are as large as the positions.

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
        super().__init__(vocab_size, num_hiddens, num_heads, dropout, positions, max_len)
        check_size("num_blks", num_blks)
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        self.blks = nn.ModuleList(
            [TransformerEncoderBlock(*sizes, norm_first=norm_first, positions=positions) for _ in range(num_blks)]
        )
        self.norm = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()

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
        super().__init__(vocab_size, num_hiddens, num_heads, dropout, positions, max_len)
        check_size("num_blks", num_blks)
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        self.blks = nn.ModuleList(
            [TransformerDecoderBlock(*sizes, norm_first=norm_first, positions=positions) for _ in range(num_blks)]
        )
        self.norm = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def start(self, memory: Tensor, memory_valid_lens: Tensor | None = None) -> DecoderState:
        """The state before the first token.

        Args:
            memory: the encoder's output, ``(batch, memory_steps, num_hiddens)``.
            memory_valid_lens: ``(batch,)``, how many tokens of the memory count.

        Raises:
            ValueError: if a shape or dtype does not fit.
        """
        return DecoderState(
            memory=tuple(
                cast(TransformerDecoderBlock, blk).attention2.keys_and_values(memory, memory) for blk in self.blks
            ),
            memory_valid_lens=memory_valid_lens,
            past=(),
        )

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, list[tuple[Tensor, Tensor]]]:
        """Decode the newest tokens.

        Args:
            tokens: integers ``(batch, steps)``: those that ``state`` has not seen.
            state: from :meth:`start` or from the step before. It is left as it is.
            need_weights: also return the weights of each block.

        Returns:
            Three things: the logits of the token that follows each of ``tokens``, ``(batch, steps, vocab_size)``; the
            new state; and a list with the weights of self-attention, ``(batch, num_heads, steps, all steps)``, and of
            cross-attention, ``(batch, num_heads, steps, memory_steps)``, of each block: empty without
            ``need_weights``.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
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
        return self.dense(self.norm(X)), state._replace(past=tuple(past)), all_weights

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
        return (logits, weights) if need_weights else logits
