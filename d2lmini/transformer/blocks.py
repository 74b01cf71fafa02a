"""The blocks of the Transformer: attention and a position-wise network around a residual stream, and their norms.

In a block every line that begins with `X =` writes to the residual stream, `(batch, steps, num_hiddens)`.
"""

import torch
from torch import Tensor, nn

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.scheme import RelativePositions
from d2lmini.checks import check_flag, check_projected, check_shapes
from d2lmini.transformer.layers import PositionWiseFFN, make_norm
from d2lmini.transformer.state import KeysAndValues


class _Block(nn.Module):
    """What all blocks share: their layers and norms."""

    crosses: bool  # whether cross-attention looks at a memory

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
        num_kv_heads: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
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
            num_kv_heads: number of heads of keys and values in self-attention, see `MultiHeadAttention`.
            device: where to put the weights.
            dtype: of the weights.
        """
        super().__init__()
        check_flag("use_bias", use_bias)
        check_flag("norm_first", norm_first)
        self.num_hiddens, self.norm_first = num_hiddens, norm_first
        sizes = (num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads, dropout, use_bias)
        self.attention = MultiHeadAttention(
            *sizes, positions=positions, num_kv_heads=num_kv_heads, device=device, dtype=dtype
        )
        if self.crosses:
            self.cross_attention = MultiHeadAttention(*sizes, device=device, dtype=dtype)
            self.norm3 = make_norm(norm, num_hiddens, device, dtype)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens, ffn=ffn, device=device, dtype=dtype)
        self.norm1 = make_norm(norm, num_hiddens, device, dtype)
        self.norm2 = make_norm(norm, num_hiddens, device, dtype)
        self.dropout = nn.Dropout(dropout)


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

    crosses = False

    def forward(
        self,
        X: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens look at each other, then let each one think.

        Args:
            X: `(batch, steps, num_hiddens)`.
            valid_lens: `(batch,)` or `(batch, steps)`, see `valid_lens_mask`.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, steps)`.
            causal: whether later tokens are hidden.
            need_weights: also return the weights of attention.

        Returns:
            The output, `(batch, steps, num_hiddens)`; with `need_weights`, a pair of the output and the weights,
            `(batch, num_heads, steps, steps)`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_shapes(X=(X, "batch steps num_hiddens"))
        check_projected("X", X, self.num_hiddens, self.attention.W_q)
        if self.norm_first:
            found, weights = self.attend(self.norm1(X), valid_lens, mask, causal, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm2(X)))
        else:
            found, weights = self.attend(X, valid_lens, mask, causal, need_weights)
            X = self.norm1(X + self.dropout(found))
            X = self.norm2(X + self.dropout(self.ffn(X)))
        return X if weights is None else (X, weights)

    def attend(
        self, X: Tensor, valid_lens: Tensor | None, mask: Tensor | None, causal: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Self-attention: what was found, `(batch, steps, num_hiddens)`, and the weights if they are wanted."""
        return separate(self.attention(X, X, X, valid_lens, mask=mask, causal=causal, need_weights=need_weights))


class _CausalBlock(_Block):
    """What the blocks share that write a sequence: causal self-attention with keys and values that were kept."""

    def check_newest(self, X: Tensor, past: KeysAndValues | None) -> None:
        """Check that `X` are tokens of this block, and that they can follow those that were kept."""
        check_shapes(X=(X, "batch steps num_hiddens"))
        check_projected("X", X, self.num_hiddens, self.attention.W_q)
        if past is not None:
            self.attention.check_kept("past", past, X)

    def attend(
        self, X: Tensor, past: KeysAndValues | None, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, KeysAndValues, Tensor | None]:
        """Causal self-attention: what was found, the keys and values of all tokens so far, and the weights."""
        K = self.attention.split(self.attention.W_k(X))  # (batch, num_kv_heads, steps, p)
        V = self.attention.split(self.attention.W_v(X))  # (batch, num_kv_heads, steps, p)
        if past is None:
            K, V = K.contiguous(), V.contiguous()  # laid out like all later ones, so that one compiled step serves all
        else:
            K, V = torch.cat([past[0], K], dim=2), torch.cat([past[1], V], dim=2)  # (batch, num_kv_heads, all steps, p)
        found, weights = separate(self.attention(X, kept=(K, V), mask=mask, causal=True, need_weights=need_weights))
        return found, (K, V), weights


class DecoderOnlyBlock(_CausalBlock):
    """No memory: causal self-attention and a position-wise network, each with a residual connection and a norm.

    It matches `TransformerEncoderBlock` with `causal=True`, and can continue from kept keys and values.

    Chapter: The Transformer block.
    """

    crosses = False

    def forward(
        self, X: Tensor, *, past: KeysAndValues | None = None, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, KeysAndValues, Tensor | None]:
        """Run the block on the newest tokens.

        Args:
            X: `(batch, steps, num_hiddens)`, the newest tokens.
            past: keys and values for the tokens before `X`; `None` if there are none.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, all steps)`; later tokens
                are never seen.
            need_weights: also return the weights of attention.

        Returns:
            Three things: the output, `(batch, steps, num_hiddens)`; the keys and values for all tokens so far; and with
            `need_weights` the weights, `(batch, num_heads, steps, all steps)`, otherwise `None`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        self.check_newest(X, past)
        if self.norm_first:
            found, present, weights = self.attend(self.norm1(X), past, mask, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm2(X)))
        else:
            found, present, weights = self.attend(X, past, mask, need_weights)
            X = self.norm1(X + self.dropout(found))
            X = self.norm2(X + self.dropout(self.ffn(X)))
        return X, present, weights


class TransformerDecoderBlock(_CausalBlock):
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

    crosses = True

    def forward(
        self,
        X: Tensor,
        memory: KeysAndValues,
        memory_valid_lens: Tensor | None = None,
        *,
        past: KeysAndValues | None = None,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, KeysAndValues, tuple[Tensor, Tensor] | None]:
        """Run the block on the newest tokens.

        Args:
            X: `(batch, steps, num_hiddens)`, the newest tokens.
            memory: keys and values of cross-attention: `cross_attention.keys_and_values(E, E)` for the output `E` of
                the encoder, `(batch, memory_steps, num_hiddens)`, with its padding set to 0.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            past: keys and values of self-attention for the tokens before `X`; `None` if there are none.
            mask: for self-attention: boolean, `True` = may attend, broadcasting to
                `(batch, num_heads, steps, all steps)`; later tokens are never seen.
            need_weights: also return the weights of both attentions.

        Returns:
            Three things: the output, `(batch, steps, num_hiddens)`; the keys and values of self-attention for all
            tokens so far; and with `need_weights` the weights of self-attention,
            `(batch, num_heads, steps, all steps)`, and of cross-attention, `(batch, num_heads, steps, memory_steps)`,
            otherwise `None`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        self.check_newest(X, past)
        self.cross_attention.check_kept("memory", memory, X)
        if self.norm_first:
            found, present, to_past = self.attend(self.norm1(X), past, mask, need_weights)
            X = X + self.dropout(found)
            found, to_memory = self.cross_attend(memory, self.norm2(X), memory_valid_lens, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm3(X)))
        else:
            found, present, to_past = self.attend(X, past, mask, need_weights)
            X = self.norm1(X + self.dropout(found))
            found, to_memory = self.cross_attend(memory, X, memory_valid_lens, need_weights)
            X = self.norm2(X + self.dropout(found))
            X = self.norm3(X + self.dropout(self.ffn(X)))
        return X, present, None if to_past is None or to_memory is None else (to_past, to_memory)

    def cross_attend(
        self, memory: KeysAndValues, X: Tensor, valid_lens: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Cross-attention: what was found in the memory, and the weights if they are wanted."""
        return separate(self.cross_attention(X, kept=memory, valid_lens=valid_lens, need_weights=need_weights))


def separate(result: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None]:
    """Split what attention returned into its output and its weights, if there are any."""
    return result if isinstance(result, tuple) else (result, None)
