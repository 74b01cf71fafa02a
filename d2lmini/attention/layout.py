"""The layout of D2L, in which heads stand next to the batch: `(batch * num_heads, steps, p)`."""

from torch import Tensor

from d2lmini.checks import check_divides, check_shapes


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
