"""d2lmini: the attention code that *Attention, Measured* teaches, and what its chapters use to show it.

``import d2lmini as d2l`` gives every public name. Batch first; a mask is boolean and ``True`` means *may attend*.
"""

from d2lmini.attention.heads import MultiHeadAttention, transpose_output, transpose_qkv
from d2lmini.attention.masks import causal_mask, from_mha_mask, to_mha_mask, valid_lens_mask
from d2lmini.attention.pooling import AdditiveAttention, DotProductAttention, SelfAttention, masked_softmax
from d2lmini.exercises import check
from d2lmini.figures.diagrams import (
    draw_architectures,
    draw_multi_head_attention,
    draw_residual_streams,
    draw_transformer,
    draw_words,
    show_tables,
)
from d2lmini.figures.plot import plot, show_heatmaps, use_svg_display
from d2lmini.instruments.costs import activation_memory, count_flops, differences, doubling, longest_chain
from d2lmini.instruments.layers import Convolution, RestrictedSelfAttention, SeparableConvolution
from d2lmini.instruments.receptive_field import layers_to_connect, reach
from d2lmini.positions.added import LearnedPositionalEncoding, PositionalEncoding, make_positions
from d2lmini.positions.biases import (
    ALiBi,
    RelativePositionBias,
    RelativePositionKeys,
    T5PositionBias,
    alibi_slopes,
    t5_buckets,
)
from d2lmini.positions.rotary import RelativePositions, RotaryEmbedding, apply_rotary, relative_offsets
from d2lmini.reviews import IMDB_SHA256, IMDB_URL, Reviews, extract_reviews, fetch_imdb, load_reviews, small_reviews
from d2lmini.train import Trained, choose_device, train
from d2lmini.transformer.blocks import AddNorm, PositionWiseFFN, TransformerDecoderBlock, TransformerEncoderBlock
from d2lmini.transformer.stacks import DecoderState, TransformerDecoder, TransformerEncoder

__all__ = [
    "IMDB_SHA256",
    "IMDB_URL",
    "ALiBi",
    "AddNorm",
    "AdditiveAttention",
    "Convolution",
    "DecoderState",
    "DotProductAttention",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "PositionWiseFFN",
    "PositionalEncoding",
    "RelativePositionBias",
    "RelativePositionKeys",
    "RelativePositions",
    "RestrictedSelfAttention",
    "Reviews",
    "RotaryEmbedding",
    "SelfAttention",
    "SeparableConvolution",
    "T5PositionBias",
    "Trained",
    "TransformerDecoder",
    "TransformerDecoderBlock",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "activation_memory",
    "alibi_slopes",
    "apply_rotary",
    "causal_mask",
    "check",
    "choose_device",
    "count_flops",
    "differences",
    "doubling",
    "draw_architectures",
    "draw_multi_head_attention",
    "draw_residual_streams",
    "draw_transformer",
    "draw_words",
    "extract_reviews",
    "fetch_imdb",
    "from_mha_mask",
    "layers_to_connect",
    "load_reviews",
    "longest_chain",
    "make_positions",
    "masked_softmax",
    "plot",
    "reach",
    "relative_offsets",
    "show_heatmaps",
    "show_tables",
    "small_reviews",
    "t5_buckets",
    "to_mha_mask",
    "train",
    "transpose_output",
    "transpose_qkv",
    "use_svg_display",
    "valid_lens_mask",
]
