"""The Transformer: stacks of blocks on the embeddings of tokens, and decoding with a key-value cache."""

from typing import Any, cast

from torch import Tensor

from d2lmini.checks import check_lengths, check_one_length_each, check_projected, check_restrictions, check_shapes
from d2lmini.transformer.base import Stack
from d2lmini.transformer.blocks import DecoderOnlyBlock, TransformerDecoderBlock
from d2lmini.transformer.state import DecoderState, check_padding, check_state, keep_padding


class TransformerEncoder(Stack):
    """A stack of encoder blocks on the embeddings of tokens (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

    Embeddings are not multiplied by the root of `num_hiddens`: `torch.nn.Embedding` draws them from a standard normal
    distribution, so that they are as large as the positions. The values of tokens are checked only where they can be
    read: not on the meta device, under `vmap` or while a graph is recorded.

    Chapter: The Transformer block.

    >>> d2l.TransformerEncoder(10, 8, 16, num_heads=2, num_blks=2, dropout=0)(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 8])
    """

    writes = False

    def forward(
        self,
        tokens: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Encode sequences of tokens.

        Args:
            tokens: integers `(batch, steps)` in `0..vocab_size - 1`.
            valid_lens: `(batch,)`, how many tokens count; the others are padding.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, steps)`.
            causal: whether later tokens are hidden.
            need_weights: also return the weights of each block.

        Returns:
            `(batch, steps, num_hiddens)`; with `need_weights`, a pair of it and a list with the weights of each block,
            `(batch, num_heads, steps, steps)`. The output at padding is meaningless.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        X = self.embed(tokens)  # (batch, steps, num_hiddens)
        check_restrictions((len(X), self.num_heads, *X.shape[1:2] * 2), valid_lens, mask, causal)
        all_weights: list[Any] = []
        for blk in self.blks:
            found = blk(X, valid_lens, mask=mask, causal=causal, need_weights=need_weights)
            X, weights = found if need_weights else (found, None)
            all_weights.append(weights)
        X = self.norm(X)
        return (X, all_weights) if need_weights else X


class _Decoder(Stack):
    """What both decoders share: a step, which is the parallel pass over a whole sequence as well as decoding."""

    writes = True

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, list[Any] | None]:
        """Decode the newest tokens.

        Args:
            tokens: integers `(batch, steps)`: those that `state` has not seen.
            state: from `start` or from the step before. It is left unchanged.
            need_weights: also return the weights of each block.

        Returns:
            Three things: the logits of the token that follows each of `tokens`, `(batch, steps, vocab_size)`; the new
            state; and a list with the weights of each block, `None` without `need_weights`. They come from
            self-attention, `(batch, num_heads, steps, all steps)`; with an encoder, in a pair with those from
            cross-attention, `(batch, num_heads, steps, memory_steps)`.

        Raises:
            ValueError: if a shape or dtype does not fit, a token or a position does not exist, or the state belongs to
                another batch or a decoder of other sizes.
        """
        check_state(state, tokens, self.blks, issubclass(self.block, TransformerDecoderBlock))
        first = state.num_steps if state.left_padding is None else state.num_steps - state.left_padding
        X = self.embed(tokens, first)  # (batch, steps, num_hiddens)
        mask = state.show_tokens(tokens.shape[1])  # (batch, 1, 1, all steps)
        cache, all_weights = [], []
        for i, blk in enumerate(self.blks):
            before = state.cache[i] if state.cache else ()
            memory = (state.memory[i], state.memory_valid_lens) if state.memory else ()
            X, extended, weights = blk(X, *memory, cache=before, mask=mask, need_weights=need_weights)
            cache.append(extended)
            all_weights.append(weights)
        logits = self.dense(self.norm(X))  # (batch, steps, vocab_size)
        return logits, state._replace(cache=tuple(cache)), all_weights if need_weights else None


class TransformerDecoder(_Decoder):
    """A stack of decoder blocks on the embeddings of tokens, with a linear layer that returns logits.

    The parallel pass over a whole sequence and decoding token by token are the same code: both go through `step`, with
    all tokens or with the newest ones.

    Chapter: Encoder and decoder.

    >>> decoder = d2l.TransformerDecoder(10, 8, 16, num_heads=2, num_blks=2, dropout=0)
    >>> decoder(torch.tensor([[1, 2, 3]]), torch.zeros(1, 5, 8)).shape
    torch.Size([1, 3, 10])
    """

    block = TransformerDecoderBlock

    def start(
        self, memory: Tensor, memory_valid_lens: Tensor | None = None, *, left_padding: Tensor | None = None
    ) -> DecoderState:
        """The state before the first token.

        Args:
            memory: the encoder's output, `(batch, memory_steps, num_hiddens)`.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            left_padding: integers `(batch,)`, how many of the first tokens are padding: no token sees them, and
                positions count from the first one after them.

        Returns:
            The state, with the keys and values of the memory and no cache.

        Raises:
            ValueError: if a shape or dtype does not fit.
        """
        blks = cast(list[TransformerDecoderBlock], self.blks)
        check_shapes(memory=(memory, "batch memory_steps num_hiddens"))
        check_projected("memory", memory, blks[0].num_hiddens, blks[0].cross_attention.W_k)
        left_padding = keep_padding(left_padding, memory.shape[0])
        if memory_valid_lens is not None:
            check_lengths("memory_valid_lens", memory_valid_lens, memory.shape[1])
            check_one_length_each("memory_valid_lens", memory_valid_lens, tuple(memory.shape[:1]))
            memory_valid_lens = memory_valid_lens.clone()
        projected = tuple(blk.cross_attention.keys_and_values(memory, memory) for blk in blks)
        return DecoderState(projected, memory_valid_lens, (), left_padding)

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor,
        memory_valid_lens: Tensor | None = None,
        *,
        left_padding: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Decode whole sequences at once, as in training.

        Args:
            tokens: integers `(batch, steps)` in `0..vocab_size - 1`.
            memory: the encoder's output, `(batch, memory_steps, num_hiddens)`.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            left_padding: `(batch,)`, how many of the first tokens are padding, see `start`.
            need_weights: also return the weights of each block, see `step`.

        Returns:
            The logits of the token that follows each token, `(batch, steps, vocab_size)`; with `need_weights`, a pair
            of them and the weights.

        Raises:
            ValueError: if a shape or dtype does not fit, or a token or a position does not exist.
        """
        state = self.start(memory, memory_valid_lens, left_padding=left_padding)
        check_padding(state.left_padding, tokens)
        logits, _, weights = self.step(tokens, state, need_weights=need_weights)
        return logits if weights is None else (logits, weights)


class DecoderOnlyTransformer(_Decoder):
    """A stack of causal blocks on the embeddings of tokens, with logits of the next token and no encoder, as in GPT.

    Radford et al., 2018, Improving language understanding by generative pre-training. As in `TransformerDecoder`, the
    parallel pass and decoding token by token are the same code, `step`.

    Chapter: The Transformer block.

    >>> model = d2l.DecoderOnlyTransformer(10, 8, 16, num_heads=4, num_blks=2, dropout=0, num_kv_heads=1)
    >>> logits, state, _ = model.step(torch.tensor([[1, 2, 3]]), model.start())
    >>> logits.shape, state.cache[0][0].shape
    (torch.Size([1, 3, 10]), torch.Size([1, 1, 3, 2]))
    """

    block = DecoderOnlyBlock

    def start(self, *, left_padding: Tensor | None = None) -> DecoderState:
        """The state before the first token.

        Args:
            left_padding: integers `(batch,)`, how many of the first tokens are padding: no token sees them, and
                positions count from the first one after them. Prompts of different lengths can be continued together.

        Returns:
            The state, with no cache.

        Raises:
            ValueError: if `left_padding` does not hold integers of at least 0, `(batch,)`.
        """
        return DecoderState(left_padding=keep_padding(left_padding))

    def forward(
        self, tokens: Tensor, *, left_padding: Tensor | None = None, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Read whole sequences at once, as in training.

        Args:
            tokens: integers `(batch, steps)` in `0..vocab_size - 1`. Padding on the right needs no mask: no token
                before it sees it.
            left_padding: `(batch,)`, how many of the first tokens are padding, see `start`.
            need_weights: also return the weights of each block, `(batch, num_heads, steps, steps)`.

        Returns:
            The logits of the token that follows each token, `(batch, steps, vocab_size)`; with `need_weights`, a pair
            of them and a list with the weights.

        Raises:
            ValueError: if a shape does not fit, or a token or a position does not exist.
        """
        state = self.start(left_padding=left_padding)
        check_padding(state.left_padding, tokens)
        logits, _, weights = self.step(tokens, state, need_weights=need_weights)
        return logits if weights is None else (logits, weights)
