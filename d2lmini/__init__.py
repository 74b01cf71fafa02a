"""d2lmini: the attention code that *Attention, Measured* teaches, and what its chapters use to show it.

``import d2lmini as d2l`` gives every public name. Batch first; a mask is boolean and ``True`` means *may attend*.
"""

from d2lmini.attention import AdditiveAttention, DotProductAttention, SelfAttention, masked_softmax
from d2lmini.checks import check
from d2lmini.complexity import activation_memory, count_flops, differences, doubling, longest_chain
from d2lmini.drawings import draw_architectures, draw_multi_head_attention, show_tables
from d2lmini.masks import causal_mask, from_mha_mask, to_mha_mask, valid_lens_mask
from d2lmini.multihead import MultiHeadAttention, transpose_output, transpose_qkv
from d2lmini.plot import plot, show_heatmaps, use_svg_display
from d2lmini.reach import layers_to_connect, reach
from d2lmini.sequence_layers import Convolution, RestrictedSelfAttention, SeparableConvolution

__all__ = [
    "AdditiveAttention",
    "Convolution",
    "DotProductAttention",
    "MultiHeadAttention",
    "RestrictedSelfAttention",
    "SelfAttention",
    "SeparableConvolution",
    "activation_memory",
    "causal_mask",
    "check",
    "count_flops",
    "differences",
    "doubling",
    "draw_architectures",
    "draw_multi_head_attention",
    "from_mha_mask",
    "layers_to_connect",
    "longest_chain",
    "masked_softmax",
    "plot",
    "reach",
    "show_heatmaps",
    "show_tables",
    "to_mha_mask",
    "transpose_output",
    "transpose_qkv",
    "use_svg_display",
    "valid_lens_mask",
]
