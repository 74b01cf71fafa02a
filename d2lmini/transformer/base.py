"""What all stacks share: tokens become vectors with positions, and go through blocks."""

from collections.abc import Callable
from typing import Any, Self, Unpack

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import AttentionOptions
from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_flag, check_number, check_size, check_tokens
from d2lmini.positions.by_name import check_scheme, make_added, make_in_attention
from d2lmini.transformer.blocks import TransformerDecoderBlock, TransformerEncoderBlock
from d2lmini.transformer.layers import make_norm


class Stack(nn.Module):
    """What all stacks share: tokens become vectors with positions, and go through blocks."""

    block: type[TransformerEncoderBlock] | type[TransformerDecoderBlock] = TransformerEncoderBlock
    writes: bool  # whether it returns logits of the next token, and never sees later tokens

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
        norm: str = "layer",
        ffn: str = "relu",
        positions: str | RelativePositions = "sinusoidal",
        tie: bool = False,
        max_len: int = 1000,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Unpack[AttentionOptions],
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
            norm: the kind of norms, `"layer"` or `"rms"`.
            ffn: the kind of the position-wise networks, see `PositionWiseFFN`.
            positions: name of a scheme, see `make_positions`; what it learns in attention, each block learns itself. Or
                a scheme, which all blocks share, such as `RotaryEmbedding(base=100_000)`.
            tie: whether the logits are dot products with the embeddings (Press and Wolf, 2017,
                https://arxiv.org/abs/1608.05859), which are then drawn with a standard deviation of 1 / √num_hiddens.
            max_len: number of positions, for schemes that have a table of them.
            device: where to put the weights.
            dtype: of the weights.
            **options: of self-attention, see `MultiHeadAttention`: with `num_kv_heads` the cache keeps as many.
        """
        super().__init__()
        for name, size in (("vocab_size", vocab_size), ("num_blks", num_blks), ("max_len", max_len)):
            check_size(name, size)
        check_number("dropout", dropout, 0, 1)
        check_flag("tie", tie)
        if tie and not self.writes:
            raise ValueError("tie=True shares the embeddings with the logits, and an encoder has no logits")
        if not isinstance(positions, RelativePositions):
            check_scheme(positions, num_hiddens, num_heads)
        self.num_heads, self.tie = num_heads, tie
        self.embedding = nn.Embedding(vocab_size, num_hiddens, device=device, dtype=dtype)
        factory: Any = {"device": device, "dtype": dtype}
        self.on_tokens = make_added(positions, num_hiddens, max_len, **factory)
        self.dropout = nn.Dropout(dropout)
        kinds: Any = {"norm_first": norm_first, "norm": norm, "ffn": ffn, **options, **factory}
        self.blks = nn.ModuleList()
        for _ in range(num_blks):
            scheme = make_in_attention(positions, num_hiddens, num_heads, not self.writes, **factory)
            sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
            self.blks.append(self.block(*sizes, positions=scheme, **kinds))
        for layer in (self.on_tokens, *self.blks):
            layer.checks_input = False
        self.norm = make_norm(norm, num_hiddens, **factory) if norm_first else nn.Identity()
        if self.writes:
            self.dense = nn.Linear(num_hiddens, vocab_size, not tie, **factory)
        if tie:
            make_tie(self)
            nn.init.normal_(self.embedding.weight, std=num_hiddens**-0.5)
            self.register_load_state_dict_post_hook(make_tie)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # What comes from the meta device, or is kept in other bits, is a new parameter for each layer.
        super()._apply(fn, recurse)
        make_tie(self)
        return self

    def embed(self, tokens: Tensor, start: int | Tensor = 0) -> Tensor:
        """Turn tokens `(batch, steps)` into vectors `(batch, steps, num_hiddens)`, plus what the scheme adds."""
        check_tokens(tokens, self.embedding.num_embeddings)
        X = self.embedding(tokens)  # (batch, steps, num_hiddens)
        X = X if isinstance(self.on_tokens, nn.Identity) else self.on_tokens(X, start)
        return self.dropout(X)


def make_tie(stack: Any, _: Any = None) -> None:
    """Let the logits share the embeddings, if they are tied: also with those that were loaded or moved just now."""
    if stack.tie:
        stack.dense.weight = stack.embedding.weight
