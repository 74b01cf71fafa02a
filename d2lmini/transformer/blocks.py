"""The blocks of the Transformer: attention and a position-wise network around a residual stream, and their norms.

In a block every line that begins with `X =` writes to the residual stream, `(batch, steps, num_hiddens)`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_flag, check_number, check_size
from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.masks import causal_mask
from d2lmini.attention.scheme import RelativePositions
from d2lmini.tensors import check_pair, check_past, check_projected, check_same_shape, check_sequences

KeysAndValues = tuple[Tensor, Tensor]  # (batch, num_heads, steps, p) each, as MultiHeadAttention.keys_and_values makes


class PositionWiseFFN(nn.Module):
    """The same small network for each token on its own (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        FFN(x) = W₂ max(0, W₁ x + b₁) + b₂

    It is a convolution along the sequence with a kernel of size 1, a ReLU, and another such convolution.

    Chapter: The Transformer block.

    Args:
        ffn_num_input: size of a token.
        ffn_num_hiddens: size of the hidden layer.
        ffn_num_outputs: size of the output.
    """

    def __init__(self, ffn_num_input: int, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        check_size("ffn_num_input", ffn_num_input)
        check_size("ffn_num_hiddens", ffn_num_hiddens)
        check_size("ffn_num_outputs", ffn_num_outputs)
        self.ffn_num_input = ffn_num_input
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X: Tensor) -> Tensor:
        """Apply the network to each token.

        Args:
            X: `(..., ffn_num_input)`.

        Returns:
            `(..., ffn_num_outputs)`.

        Raises:
            ValueError: if `X` is not a tensor of that size, or its dtype is not that of the weights.
        """
        check_projected("X", X, self.ffn_num_input, self.dense1)
        return self.dense2(self.relu(self.dense1(X)))


class AddNorm(nn.Module):
    """A residual connection, then layer normalisation.

        LN(X + dropout(Y))

    Chapter: The Transformer block.

    Args:
        normalized_shape: size of a token, or the shape of what is normalised together, as in `torch.nn.LayerNorm`.
        dropout: probability with which an entry of `Y` is dropped in training.
    """

    def __init__(self, normalized_shape: int | tuple[int, ...], dropout: float) -> None:
        super().__init__()
        for size in normalized_shape if isinstance(normalized_shape, tuple) else (normalized_shape,):
            check_size("normalized_shape", size)
        check_number("dropout", dropout, 0, 1)
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(normalized_shape)

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """Add and normalise.

        Args:
            X: what went into a layer, `(batch, steps, num_hiddens)`.
            Y: what came out of it, of the same shape.

        Returns:
            A tensor of the shape of `X`.

        Raises:
            ValueError: if the shapes differ; nothing is broadcast.
        """
        check_same_shape(X, Y)
        return self.ln(X + self.dropout(Y))


class _Block(nn.Module):
    """What the blocks of encoder and decoder share: their layers and norms."""

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
        positions: RelativePositions | None = None,
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
            positions: a scheme for self-attention, the second of the pair that `make_positions` returns.
        """
        super().__init__()
        check_flag("use_bias", use_bias)
        check_flag("norm_first", norm_first)
        self.num_hiddens, self.norm_first = num_hiddens, norm_first
        sizes = (num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads, dropout, use_bias)
        self.attention = MultiHeadAttention(*sizes, positions=positions)
        if self.crosses:
            self.cross_attention = MultiHeadAttention(*sizes)
            self.norm3 = nn.LayerNorm(num_hiddens)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.norm1, self.norm2 = nn.LayerNorm(num_hiddens), nn.LayerNorm(num_hiddens)
        self.dropout = nn.Dropout(dropout)


class TransformerEncoderBlock(_Block):
    """Self-attention and a position-wise network, each with a residual connection and a norm.

        post-norm:   X = LN(X + attention(X)),   X = LN(X + FFN(X))
        pre-norm:    X = X + attention(LN(X)),   X = X + FFN(LN(X))

    With the same weights, `use_bias=True` and no dropout, it computes the same as `torch.nn.TransformerEncoderLayer`,
    which also has dropout inside its position-wise network.

    Chapter: The Transformer block.
    """

    crosses = False

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens look at each other, then let each one think.

        Args:
            X: `(batch, steps, num_hiddens)`.
            valid_lens: `(batch,)` or `(batch, steps)`, see `valid_lens_mask`.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, steps, steps)`.
            need_weights: also return the weights of attention.

        Returns:
            The output, `(batch, steps, num_hiddens)`; with `need_weights`, a pair of the output and the weights,
            `(batch, num_heads, steps, steps)`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_sequences(X=X)
        check_projected("X", X, self.num_hiddens, self.attention.W_q)
        if self.norm_first:
            found, weights = self.look_around(self.norm1(X), valid_lens, mask, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm2(X)))
        else:
            found, weights = self.look_around(X, valid_lens, mask, need_weights)
            X = self.norm1(X + self.dropout(found))
            X = self.norm2(X + self.dropout(self.ffn(X)))
        return X if weights is None else (X, weights)

    def look_around(
        self, X: Tensor, valid_lens: Tensor | None, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Self-attention: what was found, `(batch, steps, num_hiddens)`, and the weights if they are wanted."""
        return separate(self.attention(X, X, X, valid_lens, mask=mask, need_weights=need_weights))


class TransformerDecoderBlock(_Block):
    """Causal self-attention, cross-attention and a position-wise network, each with a residual connection and a norm.

        post-norm:   X = LN(X + attention(X)),   X = LN(X + cross-attention(X, memory)),   X = LN(X + FFN(X))
        pre-norm:    X = X + attention(LN(X)),   X = X + cross-attention(LN(X), memory),   X = X + FFN(LN(X))

    It is causal in training and in evaluation. With the same weights, `use_bias=True` and no dropout, it computes the
    same as `torch.nn.TransformerDecoderLayer` with a causal mask.

    Chapter: The Transformer block.
    """

    crosses = True

    def forward(
        self,
        X: Tensor,
        memory: KeysAndValues,
        memory_valid_lens: Tensor | None = None,
        *,
        past: KeysAndValues | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, KeysAndValues, tuple[Tensor, Tensor] | None]:
        """Run the block on the newest tokens.

        Args:
            X: `(batch, steps, num_hiddens)`, the newest tokens.
            memory: keys and values of cross-attention: `cross_attention.keys_and_values(E, E)` for the output `E` of
                the encoder, `(batch, memory_steps, num_hiddens)`, with its padding set to 0.
            memory_valid_lens: `(batch,)`, how many tokens of the memory count.
            past: keys and values of self-attention for the tokens before `X`; `None` if there are none.
            need_weights: also return the weights of both attentions.

        Returns:
            Three things: the output, `(batch, steps, num_hiddens)`; the keys and values of self-attention for all
            tokens so far; and with `need_weights` the weights of self-attention,
            `(batch, num_heads, steps, all steps)`, and of cross-attention, `(batch, num_heads, steps, memory_steps)`,
            otherwise `None`.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_sequences(X=X)
        check_projected("X", X, self.num_hiddens, self.attention.W_q)
        check_pair("memory", memory)
        if past is not None:
            check_past(past, X, self.num_hiddens, self.attention.num_heads)
        if self.norm_first:
            found, present, to_past = self.look_back(self.norm1(X), past, need_weights)
            X = X + self.dropout(found)
            found, to_memory = self.look_at(memory, self.norm2(X), memory_valid_lens, need_weights)
            X = X + self.dropout(found)
            X = X + self.dropout(self.ffn(self.norm3(X)))
        else:
            found, present, to_past = self.look_back(X, past, need_weights)
            X = self.norm1(X + self.dropout(found))
            found, to_memory = self.look_at(memory, X, memory_valid_lens, need_weights)
            X = self.norm2(X + self.dropout(found))
            X = self.norm3(X + self.dropout(self.ffn(X)))
        return X, present, None if to_past is None or to_memory is None else (to_past, to_memory)

    def look_back(
        self, X: Tensor, past: KeysAndValues | None, need_weights: bool
    ) -> tuple[Tensor, KeysAndValues, Tensor | None]:
        """Causal self-attention: what was found, the keys and values of all tokens so far, and the weights."""
        K = self.attention.split(self.attention.W_k(X))  # (batch, num_heads, steps, p)
        V = self.attention.split(self.attention.W_v(X))  # (batch, num_heads, steps, p)
        if past is not None:
            K, V = torch.cat([past[0], K], dim=2), torch.cat([past[1], V], dim=2)  # (batch, num_heads, all steps, p)
        mask = causal_mask(X.shape[1], K.shape[2], device=X.device)  # (steps, all steps)
        found, weights = separate(self.attention(X, K, V, mask=mask, need_weights=need_weights))
        return found, (K, V), weights

    def look_at(
        self, memory: KeysAndValues, X: Tensor, valid_lens: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Cross-attention: what was found in the memory, and the weights if they are wanted."""
        return separate(self.cross_attention(X, *memory, valid_lens, need_weights=need_weights))


def separate(result: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None]:
    """Split what attention returned into its output and its weights, if there are any."""
    return result if isinstance(result, tuple) else (result, None)
