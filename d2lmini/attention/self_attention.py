"""Self-attention: queries, keys and values are made from one sequence."""

import torch
from torch import Tensor, nn

from d2lmini.attention.masks import combine_masks
from d2lmini.attention.pooling import DotProductAttention
from d2lmini.checks import check_projected, check_restrictions, check_shapes, check_size


class SelfAttention(nn.Module):
    """Self-attention with one head: queries, keys and values are made from one sequence.

        Y = softmax(Q Kᵀ / √d) V,   Q = X W_qᵀ + b_q,   K = X W_kᵀ + b_k,   V = X W_vᵀ + b_v

    It has no output projection and no dropout; `MultiHeadAttention` has both.

    Chapter: Self-attention.

    Args:
        d_model: size of a token, and of its query, key and value; at least 1.
        device: where to put the weights.
        dtype: of the weights.

    >>> output, weights = d2l.SelfAttention(8)(torch.ones(1, 3, 8), causal=True)
    >>> weights[0, 1]
    tensor([0.5000, 0.5000, 0.0000], grad_fn=<SelectBackward0>)
    """

    def __init__(
        self, d_model: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        check_size("d_model", d_model)
        self.d_model = d_model
        self.W_q = nn.Linear(d_model, d_model, device=device, dtype=dtype)
        self.W_k = nn.Linear(d_model, d_model, device=device, dtype=dtype)
        self.W_v = nn.Linear(d_model, d_model, device=device, dtype=dtype)
        self.pooling = DotProductAttention(dropout=0.0)

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None, causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Let each token of a sequence attend to the tokens of the same sequence.

        Args:
            X: `(batch, steps, d_model)`.
            valid_lens: `(batch,)` or `(batch, steps)`, see `valid_lens_mask`.
            mask: boolean, `True` = may attend, broadcasting to `(batch, steps, steps)`.
            causal: whether later tokens are hidden.

        Returns:
            The output, `(batch, steps, d_model)`, and the weights, `(batch, steps, steps)`. A token that may attend to
            nothing gets 0 for both. Padding is a query, a key and a value like any other, so it must be finite.

        Raises:
            ValueError: if a shape or dtype does not fit the others or `d_model`.
        """
        check_shapes(X=(X, "batch steps d_model"))
        check_projected("X", X, self.d_model, self.W_q)
        shape = (*X.shape[:2], X.shape[1])
        check_restrictions(shape, valid_lens, mask, causal)
        allowed, causal = combine_masks(shape, valid_lens, mask, X.device, causal)
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)  # (batch, steps, d_model) each
        return self.pooling.mix(Q, K, V, allowed, causal=causal)
