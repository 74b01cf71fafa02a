"""The blocks of the Transformer: attention and a position-wise network, each with a residual connection and a norm.

Shapes: ``batch`` sequences of ``steps`` tokens, each token ``num_hiddens`` numbers wide.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lmini.arguments import check_flag, check_number, check_size
from d2lmini.attention.door import check_layer, check_sequences
from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.attention.masks import causal_mask
from d2lmini.positions.added import make_positions
from d2lmini.positions.rotary import RelativePositions

__all__ = ["AddNorm", "PositionWiseFFN", "TransformerDecoderBlock", "TransformerEncoderBlock"]

KeysAndValues = tuple[Tensor, Tensor]  # as MultiHeadAttention.keys_and_values makes them


class PositionWiseFFN(nn.Module):
    r"""The same small network for each token by itself (`Vaswani et al., 2017 <https://arxiv.org/abs/1706.03762>`_).

    .. math:: \mathrm{FFN}(x) = W_2 \max(0, W_1 x + b_1) + b_2

    It is a convolution along the sequence with a kernel of 1, a ReLU, and another such convolution.

    Args:
        ffn_num_input: size of a token.
        ffn_num_hiddens: size of the hidden layer.
        ffn_num_outputs: size of the output.

    Raises:
        ValueError: if a size is no integer of at least 1.
    """

    def __init__(self, ffn_num_input: int, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        sizes = {
            "ffn_num_input": ffn_num_input,
            "ffn_num_hiddens": ffn_num_hiddens,
            "ffn_num_outputs": ffn_num_outputs,
        }
        for name, size in sizes.items():
            check_size(name, size)
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X: Tensor) -> Tensor:
        """Apply the network to each token.

        Args:
            X: ``(..., ffn_num_input)``.

        Returns:
            ``(..., ffn_num_outputs)``.

        Raises:
            ValueError: if ``X`` is no tensor of that size, or has another dtype than the weights.
        """
        if not isinstance(X, Tensor):
            raise ValueError(f"X must be a tensor, got {type(X).__name__}")
        check_layer("X", X, self.dense1)
        return self.dense2(self.relu(self.dense1(X)))


class AddNorm(nn.Module):
    r"""A residual connection, then layer normalisation: :math:`\mathrm{LN}(X + \mathrm{dropout}(Y))`.

    Args:
        normalized_shape: size of a token, or the shape of what is normalised together, as in
            :class:`torch.nn.LayerNorm`.
        dropout: probability with which an entry of ``Y`` is dropped in training.

    Raises:
        ValueError: if a size is no integer of at least 1, or ``dropout`` no probability.
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
            X: what went into a layer, ``(batch, steps, num_hiddens)``.
            Y: what came out of it, of the same shape.

        Returns:
            A tensor of the shape of ``X``.

        Raises:
            ValueError: if the shapes differ; nothing is broadcast.
        """
        return self.ln(self._add(X, Y))

    def around(self, X: Tensor, layer: Callable[[Tensor], Tensor], *, norm_first: bool) -> Tensor:
        r"""A layer with its residual connection, in either order.

        Post-norm: :math:`\mathrm{LN}(X + \mathrm{layer}(X))`. Pre-norm, with ``norm_first``:
        :math:`X + \mathrm{layer}(\mathrm{LN}(X))`, so that a way without any norm leads through all blocks
        (`Xiong et al., 2020 <https://arxiv.org/abs/2002.04745>`_). What the layer returns is dropped out as above.

        Args:
            X: ``(batch, steps, num_hiddens)``.
            layer: maps a tensor to one of the same shape.
            norm_first: pre-norm instead of post-norm.

        Returns:
            A tensor of the shape of ``X``.

        Raises:
            ValueError: if the layer returns another shape; nothing is broadcast.
        """
        return self._add(X, layer(self.ln(X))) if norm_first else self(X, layer(X))

    def _add(self, X: Tensor, Y: Tensor) -> Tensor:
        if X.shape != Y.shape:
            raise ValueError(f"X and Y must have the same shape, got {tuple(X.shape)} and {tuple(Y.shape)}")
        return X + self.dropout(Y)


class TransformerEncoderBlock(nn.Module):
    """Self-attention and a position-wise network, each with a residual connection and a norm.

    With the same weights, ``use_bias=True`` and no dropout it is equal to :class:`torch.nn.TransformerEncoderLayer`,
    which also drops inside its position-wise network.

    Args:
        num_hiddens: size of a token.
        ffn_num_hiddens: size of the hidden layer of the position-wise network.
        num_heads: number of heads; it divides ``num_hiddens``.
        dropout: probability of dropping a weight of attention, or an entry of what a layer adds, in training.
        use_bias: whether the projections of attention add a bias.
        norm_first: pre-norm instead of post-norm, see :meth:`AddNorm.around`.
        positions: name of a scheme, see :func:`~d2lmini.positional.make_positions`. A block uses those that work
            inside attention; the others are the business of the stack.

    Raises:
        ValueError: if a size does not fit, or there is no such scheme.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_first: bool = False,
        positions: str = "none",
    ) -> None:
        super().__init__()
        check_flag("norm_first", norm_first)
        self.norm_first = norm_first
        in_attention = make_positions(positions, num_hiddens, num_heads)[1]
        self.attention = _attention(num_hiddens, num_heads, dropout, use_bias, in_attention)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout)

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens look at each other, then let each one think.

        Args:
            X: ``(batch, steps, num_hiddens)``.
            valid_lens: ``(batch,)`` or ``(batch, steps)``, see :func:`~d2lmini.masks.valid_lens_mask`.
            mask: boolean, ``True`` = may attend, broadcasting to ``(batch, num_heads, steps, steps)``.
            need_weights: also return the weights of attention.

        Returns:
            The output, ``(batch, steps, num_hiddens)``; with ``need_weights`` the pair of it and the weights,
            ``(batch, num_heads, steps, steps)``.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_sequences(X=X)
        check_layer("X", X, self.attention.W_q)
        weights: list[Tensor] = []

        def attend(Y: Tensor) -> Tensor:
            return _apart(self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights), weights)

        X = self.addnorm1.around(X, attend, norm_first=self.norm_first)
        X = self.addnorm2.around(X, self.ffn, norm_first=self.norm_first)
        return (X, weights[0]) if need_weights else X


class TransformerDecoderBlock(nn.Module):
    """Causal self-attention, cross-attention and a position-wise network, each with a residual connection and a norm.

    It is causal in training and in evaluation. With the same weights, ``use_bias=True`` and no dropout it is equal to
    :class:`torch.nn.TransformerDecoderLayer` with a causal mask.

    Args:
        num_hiddens: size of a token.
        ffn_num_hiddens: size of the hidden layer of the position-wise network.
        num_heads: number of heads; it divides ``num_hiddens``.
        dropout: probability of dropping a weight of attention, or an entry of what a layer adds, in training.
        use_bias: whether the projections of attention add a bias.
        norm_first: pre-norm instead of post-norm, see :meth:`AddNorm.around`.
        positions: name of a scheme; a block uses those that work inside attention, in self-attention only.

    Raises:
        ValueError: if a size does not fit, or there is no such scheme.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_first: bool = False,
        positions: str = "none",
    ) -> None:
        super().__init__()
        check_flag("norm_first", norm_first)
        self.norm_first = norm_first
        in_attention = make_positions(positions, num_hiddens, num_heads, bidirectional=False)[1]
        self.attention = _attention(num_hiddens, num_heads, dropout, use_bias, in_attention)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.cross_attention = _attention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def forward(
        self,
        X: Tensor,
        memory: KeysAndValues,
        memory_valid_lens: Tensor | None = None,
        *,
        past: KeysAndValues | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, KeysAndValues, tuple[Tensor, Tensor] | None]:
        """One block for the newest tokens.

        Args:
            X: ``(batch, steps, num_hiddens)``, the newest tokens.
            memory: keys and values of cross-attention: ``cross_attention.keys_and_values(E, E)`` for the output ``E``
                of the encoder, ``(batch, memory_steps, num_hiddens)``, with 0 as padding.
            memory_valid_lens: ``(batch,)``, how many tokens of the memory count.
            past: keys and values of self-attention of the tokens before ``X``; ``None`` if there are none.
            need_weights: also return the weights of both attentions.

        Returns:
            Three things: the output, ``(batch, steps, num_hiddens)``; the keys and values of self-attention of all
            tokens so far; and with ``need_weights`` the weights of self-attention,
            ``(batch, num_heads, steps, all steps)``, and of cross-attention,
            ``(batch, num_heads, steps, memory_steps)``, else ``None``.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        check_sequences(X=X)
        check_layer("X", X, self.attention.W_q)
        _check_pair("memory", memory)
        present: list[KeysAndValues] = []
        weights: list[Tensor] = []

        def look_back(Y: Tensor) -> Tensor:
            K, V = self.attention.keys_and_values(Y, Y)
            if past is not None:
                _check_pair("past", past, K)
                K, V = torch.cat([past[0], K], dim=1), torch.cat([past[1], V], dim=1)
            present.append((K, V))
            mask = causal_mask(Y.shape[1], K.shape[1], device=Y.device)
            return _apart(self.attention.attend(Y, K, V, mask=mask, need_weights=need_weights), weights)

        def look_at_memory(Y: Tensor) -> Tensor:
            found = self.cross_attention.attend(Y, *memory, memory_valid_lens, need_weights=need_weights)
            return _apart(found, weights)

        X = self.addnorm1.around(X, look_back, norm_first=self.norm_first)
        X = self.addnorm2.around(X, look_at_memory, norm_first=self.norm_first)
        X = self.addnorm3.around(X, self.ffn, norm_first=self.norm_first)
        return X, present[0], (weights[0], weights[1]) if need_weights else None


def _attention(
    num_hiddens: int, num_heads: int, dropout: float, use_bias: bool, positions: RelativePositions | None = None
) -> MultiHeadAttention:
    check_flag("use_bias", use_bias)
    sizes = (num_hiddens, num_hiddens, num_hiddens, num_hiddens)
    return MultiHeadAttention(*sizes, num_heads, dropout, use_bias, positions=positions)


def _apart(result: Tensor | tuple[Tensor, Tensor], weights: list[Tensor]) -> Tensor:
    """The output of an attention; its weights, if there are any, go to the end of the list."""
    if isinstance(result, tuple):
        weights.append(result[1])
        return result[0]
    return result


def _check_pair(name: str, pair: KeysAndValues, newest: Tensor | None = None) -> None:
    """Check that these are keys and values, and that those of the newest tokens can be appended."""
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, Tensor) for part in pair):
        raise ValueError(f"{name} must be a pair of tensors, keys and values, got {type(pair).__name__}")
    check_sequences(**{f"the keys of {name}": pair[0], f"the values of {name}": pair[1]})
    if newest is None:
        return
    expected = (newest.shape[0], pair[0].shape[1], newest.shape[2])
    for part in pair:
        if tuple(part.shape) != expected or part.dtype != newest.dtype:
            raise ValueError(f"{name} must be {newest.dtype} {expected}, got {part.dtype} {tuple(part.shape)}")
