"""The part of a block that is not attention: the position-wise network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from d2lmini.checks import check_projected, check_size


class PositionWiseFFN(nn.Module):
    """The same small network for each token on its own (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        FFN(x) = W₂ max(0, W₁ x + b₁) + b₂

    It is a convolution along the sequence with a kernel of size 1, a ReLU, and another such convolution.

    Chapter: The Transformer block.

    Args:
        ffn_num_input: size of a token.
        ffn_num_hiddens: size of the hidden layer.
        ffn_num_outputs: size of the output.
        device: where to put the weights.
        dtype: of the weights.
    """

    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("ffn_num_input", ffn_num_input)
        check_size("ffn_num_hiddens", ffn_num_hiddens)
        check_size("ffn_num_outputs", ffn_num_outputs)
        self.ffn_num_input = ffn_num_input
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens, device=device, dtype=dtype)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs, device=device, dtype=dtype)

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
