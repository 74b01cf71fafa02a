"""The sixteen mixers by their names, and what each keeps."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lmini.checks import check_size
from d2lmini.mixers.attention import Attention, LatentAttention
from d2lmini.mixers.mixer import Mixer
from d2lmini.mixers.states import Convolutions, GatedDelta, LinearAttention, Recurrent, StateSpace


def make_mixers(d: int) -> dict[str, Callable[[], Mixer]]:
    """What makes each of the sixteen mixers, by name, for tokens of d numbers; attention has four heads.

    Chapter: What is kept.

    Raises:
        ValueError: if d is not a multiple of 4, as many numbers as there are heads.

    >>> len(make_mixers(32))
    16
    """
    check_size("d", d)
    if d % 4:
        raise ValueError(f"d must be a multiple of 4, the number of heads, got {d}")
    return {
        "convolution": lambda: Convolutions(d, 4),
        "separable convolution": lambda: Convolutions(d, 4, separable=True),
        "dilated convolutions": lambda: Convolutions(d, 2, (1, 2, 4, 8, 16)),
        "RNN": lambda: Recurrent(d, nn.RNN),
        "GRU": lambda: Recurrent(d, nn.GRU),
        "LSTM": lambda: Recurrent(d, nn.LSTM),
        "multi-head attention": lambda: Attention(d),
        "multi-query attention": lambda: Attention(d, num_kv_heads=1),
        "grouped-query attention": lambda: Attention(d, num_kv_heads=2),
        "latent attention": lambda: LatentAttention(d, r=d // 2),
        "window": lambda: Attention(d, window=16),
        "window and sinks": lambda: Attention(d, window=16, sinks=4),
        "top-k attention": lambda: Attention(d, top=8),
        "linear attention": lambda: LinearAttention(d),
        "gated delta rule": lambda: GatedDelta(d),
        "state-space model": lambda: StateSpace(d),
    }


def count_state_bytes(mixer: Mixer, X: Tensor) -> int:
    """Bytes of the numbers that a mixer keeps of `X`, `(batch, n, d)`, to go on with the next token.

    Chapter: What is kept.

    >>> count_state_bytes(make_mixers(8)["GRU"](), torch.zeros(1, 10, 8))
    32
    """
    with torch.no_grad():
        _, state = mixer.extend(X)
    return sum(part.nbytes for part in state or () if part.is_floating_point())
