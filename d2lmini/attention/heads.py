"""Multi-head attention: several attention poolings side by side, computed as one.

Heads are a dimension, `(batch, num_heads, steps, p)`, where p = num_hiddens / num_heads is the size of one head. In
D2L they stand next to the batch, `(batch * num_heads, steps, p)`: `transpose_qkv` and `transpose_output`.
"""

from typing import Any, TypedDict

import torch
from torch import Tensor, nn

from d2lmini.attention.masks import combine_masks, include_bias, is_fully_masked
from d2lmini.attention.numerics import may_go_on
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.attention.scheme import RelativePositions, apply_positions
from d2lmini.checks import (
    check_divides,
    check_projected,
    check_restrictions,
    check_shapes,
    check_size,
    name_shape,
    name_tensor,
)
from d2lmini.renamed import read_older

KeysAndValues = tuple[Tensor, Tensor]  # (batch, num_kv_heads, steps, p) each, as `keys_and_values` makes them


class AttentionOptions(TypedDict, total=False):
    """What blocks and stacks hand on to their self-attention."""

    num_kv_heads: int | None


class MultiHeadAttention(nn.Module):
    """Multi-head attention (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        W_o [h_1; ...; h_H],   h_i = f(W_q⁽ⁱ⁾ q, W_k⁽ⁱ⁾ k, W_v⁽ⁱ⁾ v)

    where f is scaled dot-product attention. Each of the `num_heads` heads works with p = num_hiddens / num_heads
    numbers per token. The projections of all heads form one matrix: its p rows from row i p onwards belong to head i.
    With the same weights it computes the same as `torch.nn.MultiheadAttention`, which always returns a pair. Here you
    get the output alone: without `need_weights`, `out, weights = mha(...)` would unpack a batch of two.

    With fewer heads of keys and values than of queries, neighbouring heads share them (grouped queries, Ainslie et al.,
    2023, https://arxiv.org/abs/2305.13245), and decoding keeps less.

    Chapter: Multi-head attention.

    Args:
        key_size: size of a key.
        query_size: size of a query.
        value_size: size of a value.
        num_hiddens: size of the output, and of the queries, keys and values of all heads together.
        num_heads: number of heads; it divides `num_hiddens`.
        dropout: probability with which a weight is dropped in training.
        bias: whether the four projections add a bias.
        positions: a scheme that turns queries and keys, or adds to the scores; see `RelativePositions`.
        num_kv_heads: number of heads of keys and values; it divides `num_heads`, which is the default.
        device: where to put the weights.
        dtype: of the weights.

    >>> mha, X = d2l.MultiHeadAttention(8, 8, 8, 8, num_heads=2, dropout=0), torch.ones(1, 3, 8)
    >>> output, weights = mha(X, X, X, causal=True, need_weights=True)
    >>> weights.shape
    torch.Size([1, 2, 3, 3])
    >>> cache = mha.keys_and_values(X, X)
    >>> torch.allclose(mha(X, cache=cache, causal=True), output)
    True
    """

    checks_input = True  # a block that owns this layer has checked what comes in

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        bias: bool = False,
        *,
        positions: RelativePositions | None = None,
        num_kv_heads: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (("key_size", key_size), ("query_size", query_size), ("value_size", value_size)):
            check_size(name, size)
        check_divides("num_heads", num_heads, "num_hiddens", num_hiddens)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        if positions is not None and not isinstance(positions, RelativePositions):
            hint = "make_positions returns a pair, and the second of it belongs here"
            raise ValueError(f"positions must be a RelativePositions or None, got {positions!r}; {hint}")
        self.key_size, self.query_size, self.value_size = key_size, query_size, value_size
        self.num_hiddens, self.num_heads, self.num_kv_heads = num_hiddens, num_heads, num_kv_heads
        self.pooling = DotProductAttention(dropout)
        self.positions = positions
        shared_size = num_hiddens // num_heads * num_kv_heads
        self.W_q = nn.Linear(query_size, num_hiddens, bias, device, dtype)
        self.W_k = nn.Linear(key_size, shared_size, bias, device, dtype)
        self.W_v = nn.Linear(value_size, shared_size, bias, device, dtype)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias, device, dtype)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "attention":  # its name in the edition before: a layer would be kept under it, and never be run
            raise AttributeError("what pools the values is called pooling")
        super().__setattr__(name, value)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor | None = None,
        values: Tensor | None = None,
        valid_lens: Tensor | None = None,
        *,
        cache: KeysAndValues | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        **older: Any,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool the values, once in each head, and project what the heads found.

        Args:
            queries: `(batch, queries, query_size)`.
            keys: `(batch, keys, key_size)`.
            values: `(batch, keys, value_size)`.
            cache: instead of keys and values, the pair that `keys_and_values` made of them.
            valid_lens: `(batch,)` or `(batch, queries)`, the same for all heads, see `valid_lens_mask`.
            mask: boolean, `True` = may attend, broadcasting to `(batch, num_heads, queries, keys)`. If it has
                three dimensions, the first must be 1, because it could stand for examples or for heads. One of two
                dimensions is `(queries, keys)`, even if a padding mask `(batch, keys)` has the same shape: pass
                that as `mask[:, None, None]`.
            causal: whether later keys are hidden. As in `causal_mask`, the queries take the last positions.
            need_weights: also return the weights. Without them PyTorch's fused kernel is used; if `causal` is
                the only restriction and there are as many queries as keys, it needs no mask.
            **older: `kept`, an older name of `cache`.

        Returns:
            The output, `(batch, queries, num_hiddens)`; with `need_weights`, a pair of the output and the weights of
            each head before dropout, `(batch, num_heads, queries, keys)`. A query that may attend to nothing in one
            head gets 0 from that head; one that may attend to nothing in all heads gets output 0, even with a bias.

        Raises:
            ValueError: if a shape or dtype does not fit the others or the sizes given to the constructor.
        """
        cache = read_older(older, "kept", "cache") if older else cache
        if self.checks_input:
            self.check(queries, keys, values, valid_lens, cache, mask, causal)
        Q = self.split(self.W_q(queries))  # (batch, num_heads, queries, p)
        K = self.split(self.W_k(keys)) if cache is None else cache[0].to(Q.dtype)  # (batch, num_kv_heads, keys, p)
        V = self.split(self.W_v(values)) if cache is None else cache[1].to(Q.dtype)  # (batch, num_kv_heads, keys, p)
        if self.num_kv_heads < self.num_heads:
            K, V = self.share(K), self.share(V)  # (batch, num_heads, keys, p) each
        shape = (*Q.shape[:-1], K.shape[-2])
        allowed, causal = combine_masks(shape, valid_lens, mask, Q.device, causal)
        bias = None
        if self.positions is not None:
            Q, K, bias = apply_positions(self.positions, Q, K)
        if bias is not None:
            allowed, bias = include_bias(bias, allowed, causal, shape, Q.dtype)
            causal = False
        heads, weights = self.pooling.pool(Q, K, V, allowed, bias, causal, need_weights=need_weights)
        output = self.W_o(self.join(heads))  # W_o [h_1; ...; h_H], (batch, queries, num_hiddens)
        if allowed is not None:  # a bias of W_o would reach rows that are fully masked
            output = output.masked_fill(is_fully_masked(allowed).all(dim=1), 0.0)
        return output if weights is None else (output, weights)

    def keys_and_values(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Project keys and values, and split them into heads: decoding keeps the result and computes it only once.

        Args:
            keys: `(batch, keys, key_size)`.
            values: `(batch, keys, value_size)`.

        Returns:
            Keys and values, `(batch, num_kv_heads, keys, p)` each, without positions. Those of later tokens can be
            appended with `torch.cat` along dimension 2.

        Raises:
            ValueError: if a shape or dtype does not fit the sizes given to the constructor.
        """
        if self.checks_input:
            check_shapes(keys=(keys, "batch keys key_size"), values=(values, "batch keys value_size"))
            check_projected("keys", keys, self.key_size, self.W_k)
            check_projected("values", values, self.value_size, self.W_v)
        return self.split(self.W_k(keys)), self.split(self.W_v(values))

    def split(self, X: Tensor) -> Tensor:
        """Cut each token into heads of size p: `(batch, steps, heads * p)` to `(batch, heads, steps, p)`."""
        p = self.num_hiddens // self.num_heads
        return X.reshape(*X.shape[:2], X.shape[2] // p, p).transpose(1, 2)

    def share(self, X: Tensor) -> Tensor:
        """Repeat keys or values for the heads that share them: from `num_kv_heads` to `num_heads` in dimension 1."""
        return X.repeat_interleave(self.num_heads // X.shape[1], dim=1)

    def join(self, heads: Tensor) -> Tensor:
        """Put the heads of a token next to each other: `(batch, num_heads, steps, p)` to `(batch, steps, ...)`."""
        return heads.transpose(1, 2).flatten(2)

    def check(
        self,
        queries: Tensor,
        keys: Tensor | None,
        values: Tensor | None,
        valid_lens: Tensor | None,
        cache: KeysAndValues | None,
        mask: Tensor | None,
        causal: bool,
    ) -> None:
        """Check what comes in: whether sizes and dtypes go together, and what restricts whom."""
        if cache is None:
            check_shapes(
                queries=(queries, "batch queries query_size"),
                keys=(keys, "batch keys key_size"),
                values=(values, "batch keys value_size"),
            )
        elif keys is None and values is None:
            self.check_cache("cache", cache, queries)
        else:
            raise ValueError(f"cache stands for both, got {name_shape(keys)} and {name_shape(values)} as well")
        check_projected("queries", queries, self.query_size, self.W_q)
        if cache is None:
            check_projected("keys", keys, self.key_size, self.W_k)
            check_projected("values", values, self.value_size, self.W_v)
        if valid_lens is not None or mask is not None or causal is not False:
            num_keys = keys.shape[1] if cache is None else cache[0].shape[2]  # type: ignore[union-attr]
            check_restrictions((len(queries), self.num_heads, queries.shape[1], num_keys), valid_lens, mask, causal)

    def check_cache(self, name: str, cache: KeysAndValues, queries: Tensor) -> None:
        """Check that this is a pair that `keys_and_values` made, for queries `(batch, queries, query_size)`."""
        if not isinstance(cache, tuple) or len(cache) != 2:
            raise ValueError(f"{name} must be the pair that keys_and_values returns, got {name_tensor(cache)}")
        parts = {f"{name}[{i}]": part for i, part in enumerate(cache)}
        known = {"num_kv_heads": self.num_kv_heads, "p": self.num_hiddens // self.num_heads}
        shapes = {each: (part, "batch num_kv_heads keys p") for each, part in parts.items()}
        check_shapes(known, queries=(queries, "batch queries query_size"), **shapes)
        for each, part in parts.items():
            if not may_go_on(part, queries.dtype):
                raise ValueError(f"{each} must have the dtype of the queries, {queries.dtype}, got {part.dtype}")


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """Split the last dimension into heads, and put the heads next to the batch, as D2L does.

    Example b in head i becomes entry `b * num_heads + i`: repeat what belongs to an example, such as its valid
    length, with `torch.repeat_interleave`. `MultiHeadAttention` keeps the heads as a dimension of their own.

    Chapter: Multi-head attention.

    Args:
        X: `(batch, steps, num_hiddens)`.
        num_heads: number of heads; it divides `num_hiddens`.

    Returns:
        `(batch * num_heads, steps, num_hiddens / num_heads)`.

    Raises:
        ValueError: if `X` is not a tensor of three dimensions, or `num_hiddens` is not divisible by `num_heads`.

    >>> d2l.transpose_qkv(torch.zeros(2, 4, 15), num_heads=3).shape
    torch.Size([6, 4, 5])
    """
    check_shapes(X=(X, "batch steps num_hiddens"))
    check_divides("num_heads", num_heads, "num_hiddens", X.shape[2])
    X = X.unflatten(2, (num_heads, -1))  # (batch, steps, num_heads, p)
    return X.transpose(1, 2).flatten(0, 1)  # (batch * num_heads, steps, p)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo `transpose_qkv`: put the heads of a token next to each other.

    Chapter: Multi-head attention.

    Args:
        X: `(batch * num_heads, steps, num_hiddens / num_heads)`.
        num_heads: number of heads.

    Returns:
        `(batch, steps, num_hiddens)`.

    Raises:
        ValueError: if `X` is not a tensor of three dimensions, or the first of them is not divisible by `num_heads`.

    >>> d2l.transpose_output(torch.zeros(6, 4, 5), num_heads=3).shape
    torch.Size([2, 4, 15])
    """
    check_shapes(X=(X, "batch*num_heads steps p"))
    check_divides("num_heads", num_heads, "the first dimension of X", X.shape[0])
    X = X.unflatten(0, (X.shape[0] // num_heads, num_heads))  # (batch, num_heads, steps, p)
    return X.transpose(1, 2).flatten(2)  # (batch, steps, num_hiddens)
