"""A processor that nobody has built: a notebook that runs on it rounds as no machine does.

    PYTHONSTARTUP=tools/notebooks/noise.py NOISE=1 .venv/bin/pytest --nbval --nbval-current-env notebooks/complexity.ipynb

Each result of a product, a sum, a mean, a softmax, an exponential, a norm or a convolution, forwards and backwards, is
moved by up to two units in its last place, as another order of summing would move it. This is Monte Carlo arithmetic
(Parker, 1997) with the chance taken out: where a result goes depends on its own bits and on the seed in `NOISE`, so the
same call gives the same result. Whole numbers stay: sums of whole numbers are exact on every machine. So does what IEEE
754 rounds in one way only: +, -, *, / and the square root. The book tells what it found: `pages/same-numbers.ipynb`.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

# What is summed, in an order that the processor chooses, or computed by a series.
SHAKEN = {
    *("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "addr", "convolution", "convolution_backward"),
    *("sum", "mean", "var", "std", "var_mean", "std_mean", "prod", "cumsum", "logsumexp", "logcumsumexp", "nansum"),
    *("linalg_vector_norm", "norm", "_cdist_forward", "_euclidean_dist", "embedding_dense_backward", "index_add"),
    *("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "nll_loss_forward"),
    *("native_layer_norm", "native_layer_norm_backward", "native_batch_norm", "native_batch_norm_backward"),
    *("_fused_rms_norm", "_fused_rms_norm_backward", "scatter_add", "_scaled_dot_product_flash_attention_for_cpu"),
    *("_scaled_dot_product_flash_attention_for_cpu_backward", "binary_cross_entropy_with_logits"),
    *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "atan2", "sigmoid", "pow"),
    *("erf", "gelu", "gelu_backward", "elu", "silu", "silu_backward", "softplus", "softplus_backward", "rsqrt"),
    *("log_sigmoid_forward", "log_sigmoid_backward", "mse_loss", "_linalg_solve_ex", "linalg_inv_ex", "linalg_qr"),
    *("_linalg_svd", "_linalg_eigh", "linalg_lstsq", "linalg_cholesky_ex", "_linalg_slogdet", "linalg_pinv"),
}
FLOATS, INTEGERS = (torch.float64, torch.float32), (np.dtype("i8"), np.dtype("i4"))


class Noise(TorchDispatchMode):
    """While it is entered, PyTorch rounds on the CPU as a processor of this seed would."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        odd = (2 * seed + 1) * 0x9E3779B97F4A7C15  # times the bits of a number: its highest bits look drawn
        self.factors = {bits: bits.type(odd % (1 << bits.itemsize * 8 - 1)) for bits in INTEGERS}
        self.shaken = {getattr(torch.ops.aten, name) for name in SHAKEN if hasattr(torch.ops.aten, name)}

    def shake(self, result: torch.Tensor) -> None:
        """Move each number that is not whole by up to two units in its last place."""
        numbers: Any = result.numpy()
        bits = numbers.view(f"i{numbers.itemsize}")
        units = (bits * self.factors[bits.dtype] >> 8 * bits.itemsize - 2) + 1  # of the two highest bits: -1, 0, 1, 2
        np.add(bits, units, out=bits, where=numbers != np.rint(numbers))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call an operation, and shake what it returns."""
        call: Callable[..., Any] = func
        out = call(*args, **(kwargs or {}))
        if func.overloadpacket in self.shaken:
            for result in out if isinstance(out, (tuple, list)) else (out,):
                if type(result) is torch.Tensor and result.dtype in FLOATS and result.device.type == "cpu":
                    self.shake(result.detach())
        return out


if os.environ.get("NOISE"):  # a kernel reads this file at its start, and stays inside
    Noise(int(os.environ["NOISE"])).__enter__()
