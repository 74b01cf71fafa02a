"""The Transformer: stacks of blocks on the embeddings of tokens, and decoding with a key-value cache."""

from __future__ import annotations

from typing import NamedTuple, cast

from torch import Tensor, nn

from d2lmini.arguments import check_number, check_size
from d2lmini.attention.masks import valid_lens_mask
from d2lmini.positions.by_name import check_scheme, make_added, make_in_attention
from d2lmini.tensors import (
    check_lengths,
    check_one_length_each,
    check_projected,
    check_sequences,
    check_tokens,
    name_shape,
    name_tensor,
)
from d2lmini.transformer.blocks import KeysAndValues, TransformerDecoderBlock, TransformerEncoderBlock, separate


class DecoderState(NamedTuple):
    """What a decoder keeps between two steps: keys and values, so that nothing is computed twice.

    A step returns a new state and leaves the old one unchanged.

    Attributes:
        memory: for each block, the keys and values of cross-attention, made once from the encoder's output.
        memory_valid_lens: `(batch,)`, how many tokens of the encoder's output count; `None` for all.
        past: for each block, the keys and values of self-attention for all tokens so far.
    """

    memory: tuple[KeysAndValues, ...]
    memory_valid_lens: Tensor | None
    past: tuple[KeysAndValues, ...]

    @property
    def num_steps(self) -> int:
        """How many tokens the decoder has seen."""
        return self.past[0][0].shape[2] if self.past else 0


class _Stack(nn.Module):
    """What encoder and decoder share: tokens become vectors with positions, and go through blocks."""

    block: type[TransformerEncoderBlock] | type[TransformerDecoderBlock]
    returns_logits: bool

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
        """Make the embeddings, the positions and the blocks.

        Args:
            vocab_size: number of different tokens.
            num_hiddens: size of a token inside the stack, and of the encoder's output that a decoder looks at.
            ffn_num_hiddens: size of the hidden layers of the position-wise networks.
            num_heads: number of heads; it divides `num_hiddens`.
            num_blks: number of blocks, at least 1.
            dropout: probability of dropping in training: weights, and entries of embeddings and of what layers add.
            use_bias: whether the projections of attention add a bias.
            norm_first: pre-norm instead of post-norm; then another norm follows the last block.
            positions: name of a scheme, see `make_positions`. What it learns in attention, each block learns itself.
            max_len: number of positions, for schemes that have a table of them.
        """
        super().__init__()
        for name, size in (("vocab_size", vocab_size), ("num_blks", num_blks), ("max_len", max_len)):
            check_size(name, size)
        check_scheme(positions, num_hiddens, num_heads)
        check_number("dropout", dropout, 0, 1)
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.on_tokens = make_added(positions, num_hiddens, max_len)
        self.dropout = nn.Dropout(dropout)
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        both_ways = not self.block.crosses  # a decoder never sees later tokens
        self.blks = nn.ModuleList()
        for _ in range(num_blks):
            scheme = make_in_attention(positions, num_hiddens, num_heads, both_ways)
            self.blks.append(self.block(*sizes, norm_first=norm_first, positions=scheme))
        self.norm = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        if self.returns_logits:
            self.dense = nn.Linear(num_hiddens, vocab_size)

    def embed(self, tokens: Tensor, offset: int = 0) -> Tensor:
        """Turn tokens `(batch, steps)` into vectors `(batch, steps, num_hiddens)`, plus what the scheme adds."""
        check_tokens(tokens, self.embedding.num_embeddings)
        X = self.embedding(tokens)  # (batch, steps, num_hiddens)
        X = X if isinstance(self.on_tokens, nn.Identity) else self.on_tokens(X, offset=offset)
        return self.dropout(X)


class TransformerEncoder(_Stack):
    """A stack of encoder blocks on the embeddings of tokens (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

    Embeddings are not multiplied by the root of `num_hiddens`: `torch.nn.Embedding` draws them from a standard normal
    distribution, so that they are as large as the positions. The values of tokens are checked, so
    `torch.compile(fullgraph=True)` cannot trace a stack; it can trace a block.

    Chapter: The Transformer block.
    """

    block = TransformerEncoderBlock
    returns_logits = False

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
            tokens: integers `(batch, steps)` in `0..vocab_size - 1`.
            valid_lens: `(batch,)`, how many tokens count; the others are padding.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, steps)`.
            need_weights: also return the weights of each block.

        Returns:
            `(batch, steps, num_hiddens)`; with `need_weights`, a pair of it and a list with the weights of each block,
            `(batch, num_heads, steps, steps)`. The output at padding is meaningless.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        X = self.embed(tokens)  # (batch, steps, num_hiddens)
        all_weights: list[Tensor] = []
        for blk in self.blks:
            X, weights = separate(blk(X, valid_lens, mask=mask, need_weights=need_weights))
            all_weights += [] if weights is None else [weights]
        X = self.norm(X)
        return (X, all_weights) if need_weights else X


class TransformerDecoder(_Stack):
    """A stack of decoder blocks on the embeddings of tokens, with a linear layer that returns logits.

    The parallel pass over a whole sequence and decoding token by token are the same code: both go through `step`, with
    all tokens or with the newest ones.

    Chapter: The Transformer block.
    """

    block = TransformerDecoderBlock
    returns_logits = True

    def start(self, memory: Tensor, memory_valid_lens: Tensor | None = None) -> DecoderState:
        """The state before the first token.

        Args:
            memory: the encoder's output, `(batch, memory_steps, num_hiddens)`. Its padding may hold anything.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.

        Returns:
            The state, with the keys and values of the memory and no past.

        Raises:
            ValueError: if a shape or dtype does not fit.
        """
        blks = cast(list[TransformerDecoderBlock], self.blks)
        check_sequences(memory=memory)
        check_projected("memory", memory, blks[0].num_hiddens, blks[0].cross_attention.W_k)
        if memory_valid_lens is not None:
            memory = hide_padding(memory, memory_valid_lens)
            memory_valid_lens = memory_valid_lens.clone()
        kept = tuple(blk.cross_attention.keys_and_values(memory, memory) for blk in blks)
        return DecoderState(memory=kept, memory_valid_lens=memory_valid_lens, past=())

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, list[tuple[Tensor, Tensor]] | None]:
        """Decode the newest tokens.

        Args:
            tokens: integers `(batch, steps)`: those that `state` has not seen.
            state: from `start` or from the step before. It is left unchanged.
            need_weights: also return the weights of each block.

        Returns:
            Three things: the logits of the token that follows each of `tokens`, `(batch, steps, vocab_size)`; the new
            state; and a list with the weights of self-attention, `(batch, num_heads, steps, all steps)`, and of
            cross-attention, `(batch, num_heads, steps, memory_steps)`, of each block; `None` without `need_weights`.

        Raises:
            ValueError: if a shape or dtype does not fit, a token or a position does not exist, or the state belongs to
                another batch or another decoder.
        """
        check_state(state, tokens, len(self.blks))
        X, past, all_weights = self.embed(tokens, offset=state.num_steps), [], []  # (batch, steps, num_hiddens)
        for i, blk in enumerate(self.blks):
            before = state.past[i] if state.past else None
            memory = (state.memory[i], state.memory_valid_lens)
            X, present, weights = blk(X, *memory, past=before, need_weights=need_weights)
            past.append(present)
            all_weights.append(weights)
        logits = self.dense(self.norm(X))  # (batch, steps, vocab_size)
        return logits, state._replace(past=tuple(past)), all_weights if need_weights else None

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
            tokens: integers `(batch, steps)` in `0..vocab_size - 1`.
            memory: the encoder's output, `(batch, memory_steps, num_hiddens)`.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            need_weights: also return the weights of each block, see `step`.

        Returns:
            The logits of the token that follows each token, `(batch, steps, vocab_size)`; with `need_weights`, a pair
            of them and the weights.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        logits, _, weights = self.step(tokens, self.start(memory, memory_valid_lens), need_weights=need_weights)
        return logits if weights is None else (logits, weights)


def hide_padding(memory: Tensor, memory_valid_lens: Tensor) -> Tensor:
    """Zeros for the padding: otherwise 0 times whatever it holds could be NaN, in the gradients of the projections."""
    check_lengths("memory_valid_lens", memory_valid_lens, memory.shape[1])
    check_one_length_each("memory_valid_lens", memory_valid_lens, tuple(memory.shape[:1]))
    counted = valid_lens_mask(memory_valid_lens, memory.shape[1])  # (batch, 1, memory_steps)
    return memory.masked_fill(~counted.mT, 0.0)


def check_state(state: DecoderState, tokens: Tensor, num_blks: int) -> None:
    """Check that a state belongs to these sequences, in a decoder with this many blocks."""
    if not isinstance(state, DecoderState):
        raise ValueError(f"state must be what start or step has returned, got {name_tensor(state)}")
    memory, past = len(state.memory), len(state.past)
    if memory != num_blks or past not in (0, num_blks):
        raise ValueError(f"state must be of {num_blks} blocks, got one of {memory} with a past of {past}")
    lengths = sorted({K.shape[-2] for K, _ in state.past})
    if len(lengths) > 1:
        raise ValueError(f"state must have one length of the past in all blocks, got {lengths}")
    batch = state.memory[0][0].shape[0]
    if isinstance(tokens, Tensor) and tokens.dim() == 2 and tokens.shape[0] != batch:
        raise ValueError(f"tokens must have the batch size of the memory, {batch}, got {name_shape(tokens)}")
