"""The blocks of the Transformer: attention and a position-wise network around a residual stream, and their norms.

In a block every line that begins with `X =` writes to the residual stream, `(batch, steps, num_hiddens)`.
"""

from typing import Any, Unpack

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import AttentionOptions, KeysAndValues, MultiHeadAttention
from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_flag, check_projected, check_restrictions, check_shapes
from d2lmini.renamed import read_older
from d2lmini.transformer.layers import PositionWiseFFN, make_norm


class _Block(nn.Module):
    """What both blocks share: their layers and norms, and self-attention with or without a cache."""

    checks_input = True  # a stack that owns this block has checked what comes in

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_first: bool = False,
        norm: str = "layer",
        ffn: str = "relu",
        positions: RelativePositions | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Unpack[AttentionOptions],
    ) -> None:
        """Make the layers of a block.

        Args:
            num_hiddens: size of a token.
            ffn_num_hiddens: size of the hidden layer of the position-wise network.
            num_heads: number of heads; it divides `num_hiddens`.
            dropout: probability of dropping a weight of attention, or an entry of what a layer adds, in training.
            use_bias: whether the projections of attention add a bias.
            norm_first: pre-norm instead of post-norm: a path without any norm then runs through all blocks (Xiong et
                al., 2020, https://arxiv.org/abs/2002.04745).
            norm: `"layer"` norms, or `"rms"` norms (Zhang and Sennrich, 2019, https://arxiv.org/abs/1910.07467).
            ffn: what is in the position-wise network, see `PositionWiseFFN`.
            positions: a scheme for self-attention, the second of the pair that `make_positions` returns.
            device: where to put the weights.
            dtype: of the weights.
            **options: of self-attention, such as `num_kv_heads`, see `MultiHeadAttention`.
        """
        super().__init__()
        check_flag("use_bias", use_bias)
        check_flag("norm_first", norm_first)
        self.num_hiddens, self.norm_first = num_hiddens, norm_first
        factory: Any = {"device": device, "dtype": dtype}
        sizes = (num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads, dropout, use_bias)
        self.attention = MultiHeadAttention(*sizes, positions=positions, **options, **factory)
        self.add_attention(sizes, norm, **factory)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens, ffn=ffn, **factory)
        self.norm1 = make_norm(norm, num_hiddens, **factory)
        self.norm2 = make_norm(norm, num_hiddens, **factory)
        self.dropout = nn.Dropout(dropout)
        for layer in self.children():
            layer.checks_input = False  # type: ignore[assignment]  # a module's attribute may be anything

    def add_attention(self, sizes: tuple[Any, ...], norm: str, **factory: Any) -> None:
        """Make what a block has between self-attention and the position-wise network: nothing."""

    def attend(
        self,
        X: Tensor,
        valid_lens: Tensor | None,
        cache: KeysAndValues | tuple[()] | None,
        mask: Tensor | None,
        causal: bool,
        need_weights: bool,
    ) -> tuple[Tensor, KeysAndValues | None, Tensor | None]:
        """Self-attention: what was found, keys and values of all tokens so far if there is a cache, and the weights."""
        if cache is None:
            found = self.attention(X, X, X, valid_lens, mask=mask, causal=causal, need_weights=need_weights)
        else:
            K, V = self.attention.keys_and_values(X, X)  # (batch, num_kv_heads, steps, p) each
            if cache:
                cache = torch.cat([cache[0], K], dim=2), torch.cat([cache[1], V], dim=2)
            else:  # laid out like all later ones, so that one compiled step serves all
                cache = K.contiguous(), V.contiguous()
            found = self.attention(X, cache=cache, mask=mask, causal=causal, need_weights=need_weights)
        output, weights = found if need_weights else (found, None)
        return output, cache, weights

    def check(
        self,
        X: Tensor,
        valid_lens: Tensor | None,
        cache: KeysAndValues | tuple[()] | None,
        mask: Tensor | None,
        causal: bool,
    ) -> None:
        """Check that `X` are tokens of this block that can follow those of the cache, and what restricts them."""
        check_shapes(X=(X, "batch steps num_hiddens"))
        check_projected("X", X, self.num_hiddens, self.attention.W_q)
        num_steps = X.shape[1]
        if cache:
            self.attention.check_cache("cache", cache, X)
            num_steps += cache[0].shape[2]
        if cache is not None and valid_lens is not None:
            raise ValueError(f"valid_lens counts tokens of a whole sequence: with a cache, use mask, got {valid_lens}")
        check_restrictions((len(X), self.attention.num_heads, X.shape[1], num_steps), valid_lens, mask, causal)


class TransformerEncoderBlock(_Block):
    """Self-attention and a position-wise network, each with a residual connection and a norm.

        post-norm:   X = LN(X + attention(X)),   X = LN(X + FFN(X))
        pre-norm:    X = X + attention(LN(X)),   X = X + FFN(LN(X))

    With the same weights, `use_bias=True` and no dropout, it computes the same as `torch.nn.TransformerEncoderLayer`,
    which also has dropout inside its position-wise network.

    Chapter: The Transformer block.

    >>> d2l.TransformerEncoderBlock(8, 16, num_heads=2, dropout=0)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def forward(
        self,
        X: Tensor,
        valid_lens: Tensor | None = None,
        *,
        cache: KeysAndValues | tuple[()] | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor] | tuple[Tensor, KeysAndValues, Tensor | None]:
        """Let the tokens look at each other, then let each one think.

        Args:
            X: `(batch, steps, num_hiddens)`.
            valid_lens: `(batch,)` or `(batch, steps)`, see `valid_lens_mask`.
            cache: keys and values of the tokens before `X`, which `X` attends to as well; `()` if there are none.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, all steps)`.
            causal: whether later tokens are hidden.
            need_weights: also return the weights of attention.

        Returns:
            The output, `(batch, steps, num_hiddens)`; with `need_weights`, a pair of the output and the weights,
            `(batch, num_heads, steps, steps)`. With a cache three things: the output; keys and values of all tokens
            so far; and the weights, `(batch, num_heads, steps, all steps)`, `None` without `need_weights`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        if self.checks_input:
            self.check(X, valid_lens, cache, mask, causal)
        restrictions = (valid_lens, cache, mask, causal, need_weights)
        if self.norm_first:
            found, new_cache, weights = self.attend(self.norm1(X), *restrictions)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm2(X)))
        else:
            found, new_cache, weights = self.attend(X, *restrictions)
            X = self.norm1(X + self.dropout(found))
            X = self.norm2(X + self.dropout(self.ffn(X)))
        if new_cache is not None:
            return X, new_cache, weights
        return X if weights is None else (X, weights)


class DecoderOnlyBlock(TransformerEncoderBlock):
    """The same block, always causal and with a cache: that of a decoder without an encoder, as in GPT.

    Chapter: The Transformer block.

    >>> block, X = DecoderOnlyBlock(8, 16, num_heads=2, dropout=0), torch.randn(1, 3, 8)
    >>> output, cache, _ = block(X[:, :2])
    >>> torch.allclose(block(X[:, 2:], cache=cache)[0], block(X)[0][:, 2:], atol=1e-6)
    True
    """

    def forward(  # type: ignore[override]  # it needs no lengths: no token sees a later one
        self,
        X: Tensor,
        *,
        cache: KeysAndValues | tuple[()] | None = None,
        mask: Tensor | None = None,
        need_weights: bool = False,
        **older: Any,
    ) -> tuple[Tensor, KeysAndValues, Tensor | None]:
        """Run the block on the newest tokens.

        Args:
            X: `(batch, steps, num_hiddens)`, the newest tokens.
            cache: keys and values of the tokens before `X`; `None` or `()` if there are none.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, all steps)`; later tokens
                are never seen.
            need_weights: also return the weights of attention.
            **older: `past`, an older name of `cache`.

        Returns:
            Three things: the output, `(batch, steps, num_hiddens)`; the keys and values of all tokens so far; and with
            `need_weights` the weights, `(batch, num_heads, steps, all steps)`, otherwise `None`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        cache = read_older(older, "past", "cache") if older else cache
        found = super().forward(X, cache=cache or (), mask=mask, causal=True, need_weights=need_weights)
        return found  # type: ignore[return-value]  # three things, since there is a cache


class TransformerDecoderBlock(_Block):
    """Causal self-attention, cross-attention and a position-wise network, each with a residual connection and a norm.

        post-norm:   X = LN(X + attention(X)),   X = LN(X + cross-attention(X, memory)),   X = LN(X + FFN(X))
        pre-norm:    X = X + attention(LN(X)),   X = X + cross-attention(LN(X), memory),   X = X + FFN(LN(X))

    It is causal in training and in evaluation. With the same weights, `use_bias=True` and no dropout, it computes the
    same as `torch.nn.TransformerDecoderLayer` with a causal mask.

    Chapter: Encoder and decoder.

    >>> block, E = d2l.TransformerDecoderBlock(8, 16, num_heads=2, dropout=0), torch.zeros(1, 5, 8)
    >>> output, (K, V), _ = block(E[:, :3], block.cross_attention.keys_and_values(E, E))
    >>> output.shape, K.shape
    (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 4]))
    """

    def add_attention(self, sizes: tuple[Any, ...], norm: str, **factory: Any) -> None:
        """Make cross-attention and its norm."""
        self.cross_attention = MultiHeadAttention(*sizes, **factory)
        self.norm3 = make_norm(norm, sizes[0], **factory)

    def forward(
        self,
        X: Tensor,
        memory: KeysAndValues,
        memory_valid_lens: Tensor | None = None,
        *,
        cache: KeysAndValues | tuple[()] | None = None,
        mask: Tensor | None = None,
        need_weights: bool = False,
        **older: Any,
    ) -> tuple[Tensor, KeysAndValues | None, tuple[Tensor | None, Tensor | None] | None]:
        """Run the block on the newest tokens.

        Args:
            X: `(batch, steps, num_hiddens)`, the newest tokens.
            memory: keys and values of cross-attention: `cross_attention.keys_and_values(E, E)` for the output `E` of
                the encoder, `(batch, memory_steps, num_hiddens)`.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            cache: keys and values of self-attention for the tokens before `X`; `None` or `()` if there are none.
            mask: for self-attention: boolean, `True` = may attend, broadcasting to
                `(batch, num_heads, steps, all steps)`; later tokens are never seen.
            need_weights: also return the weights of both attentions.
            **older: `past`, an older name of `cache`.

        Returns:
            Three things: the output, `(batch, steps, num_hiddens)`; the keys and values of self-attention for all
            tokens so far; and with `need_weights` the weights of self-attention,
            `(batch, num_heads, steps, all steps)`, and of cross-attention, `(batch, num_heads, steps, memory_steps)`,
            otherwise `None`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        cache = read_older(older, "past", "cache") if older else cache
        if self.checks_input:
            self.check(X, None, cache, mask, True)
            self.cross_attention.check_cache("memory", memory, X)
            check_restrictions((len(X), 1, X.shape[1], memory[0].shape[2]), memory_valid_lens, None)
        restrictions = (None, cache or (), mask, True, need_weights)
        if self.norm_first:
            found, new_cache, to_past = self.attend(self.norm1(X), *restrictions)
            X = X + self.dropout(found)
            found, to_memory = self.cross_attend(memory, self.norm2(X), memory_valid_lens, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm3(X)))
        else:
            found, new_cache, to_past = self.attend(X, *restrictions)
            X = self.norm1(X + self.dropout(found))
            found, to_memory = self.cross_attend(memory, X, memory_valid_lens, need_weights)
            X = self.norm2(X + self.dropout(found))
            X = self.norm3(X + self.dropout(self.ffn(X)))
        return X, new_cache, (to_past, to_memory) if need_weights else None

    def cross_attend(
        self, memory: KeysAndValues, X: Tensor, valid_lens: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Cross-attention: what was found in the memory, and the weights if they are wanted."""
        found = self.cross_attention(X, cache=memory, valid_lens=valid_lens, need_weights=need_weights)
        return found if need_weights else (found, None)
