"""The parts of a block that are not attention: the position-wise network, and the norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.checks import check_choice, check_projected, check_size

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}
NORMS: dict[str, Callable[..., nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}


def make_norm(
    norm: str, num_hiddens: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> nn.Module:
    """A layer norm, or an RMS norm: x / √(mean of x² + 1e-5), times a gain for each feature.

    Zhang and Sennrich, 2019, https://arxiv.org/abs/1910.07467.
    """
    check_choice("norm", norm, tuple(NORMS))
    return NORMS[norm](num_hiddens, eps=1e-5, device=device, dtype=dtype)


class PositionWiseFFN(nn.Module):
    """The same small network for each token on its own (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762).

        FFN(x) = W₂ max(0, W₁ x + b₁) + b₂

    It is a convolution along the sequence with a kernel of size 1, a ReLU, and another such convolution. With
    `"swiglu"` a second projection decides how much of the first passes (Shazeer, 2020,
    https://arxiv.org/abs/2002.05202), and nothing adds a bias:

        FFN(x) = W₂ (silu(W_g x) ⊙ W₁ x),   silu(x) = x / (1 + exp(-x))

    Chapter: The Transformer block.

    Args:
        ffn_num_input: size of a token.
        ffn_num_hiddens: size of the hidden layer.
        ffn_num_outputs: size of the output.
        ffn: `"relu"`, `"gelu"` in its place, or `"swiglu"`.
        device: where to put the weights.
        dtype: of the weights.

    >>> PositionWiseFFN(4, 8, 4)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    checks_input = True  # a block that owns this layer has checked what comes in

    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        *,
        ffn: str = "relu",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_size("ffn_num_input", ffn_num_input)
        check_size("ffn_num_hiddens", ffn_num_hiddens)
        check_size("ffn_num_outputs", ffn_num_outputs)
        check_choice("ffn", ffn, tuple(ACTIVATIONS))
        self.ffn_num_input, self.ffn, bias = ffn_num_input, ffn, ffn != "swiglu"
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens, bias, device, dtype)
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs, bias, device, dtype)
        self.gate = None if bias else nn.Linear(ffn_num_input, ffn_num_hiddens, False, device, dtype)

    def forward(self, X: Tensor) -> Tensor:
        """Apply the network to each token.

        Args:
            X: `(..., ffn_num_input)`.

        Returns:
            `(..., ffn_num_outputs)`.

        Raises:
            ValueError: if `X` is not a tensor of that size, or its dtype is not that of the weights.
        """
        if self.checks_input:
            check_projected("X", X, self.ffn_num_input, self.dense1)
        hidden, activate = self.dense1(X), ACTIVATIONS[self.ffn]  # (..., ffn_num_hiddens)
        return self.dense2(activate(hidden) if self.gate is None else activate(self.gate(X)) * hidden)

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"ffn={self.ffn!r}"
