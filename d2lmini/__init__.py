"""d2lmini: the attention code that *Attention, Measured* teaches, and what its chapters use to show it.

``import d2lmini as d2l`` gives every public name. Batch first; a mask is boolean and ``True`` means *may attend*.
"""

from d2lmini.attention import AdditiveAttention, DotProductAttention, SelfAttention, masked_softmax
from d2lmini.checks import check
from d2lmini.drawings import draw_multi_head_attention, show_numbers
from d2lmini.masks import causal_mask, from_mha_mask, to_mha_mask, valid_lens_mask
from d2lmini.multihead import MultiHeadAttention, transpose_output, transpose_qkv
from d2lmini.plot import plot, show_heatmaps, use_svg_display

__all__ = [
    "AdditiveAttention",
    "DotProductAttention",
    "MultiHeadAttention",
    "SelfAttention",
    "causal_mask",
    "check",
    "draw_multi_head_attention",
    "from_mha_mask",
    "masked_softmax",
    "plot",
    "show_heatmaps",
    "show_numbers",
    "to_mha_mask",
    "transpose_output",
    "transpose_qkv",
    "use_svg_display",
    "valid_lens_mask",
]
