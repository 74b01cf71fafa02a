"""d2lmini: the attention code that *Attention, Measured* teaches, and what its chapters use to show it.

``import d2lmini as d2l`` gives every public name. Batch first; a mask is boolean and ``True`` means *may attend*.
"""

from d2lmini.attention.heads import MultiHeadAttention, transpose_output, transpose_qkv
from d2lmini.attention.masks import causal_mask, from_mha_mask, to_mha_mask, valid_lens_mask
from d2lmini.attention.pooling import AdditiveAttention, DotProductAttention, SelfAttention, masked_softmax
from d2lmini.exercises import check
from d2lmini.figures.diagrams import draw_diagram
from d2lmini.figures.heatmaps import draw_words, show_heatmaps, show_tables
from d2lmini.figures.plot import plot
from d2lmini.instruments.costs import count_flops, count_sequential_operations, measure_activation_memory
from d2lmini.instruments.growth import describe_growth, take_differences
from d2lmini.instruments.layers import Convolution, RestrictedSelfAttention, SeparableConvolution
from d2lmini.instruments.receptive_field import find_maximum_path_length, find_receptive_field
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
from d2lmini.reviews import fetch_imdb, load_reviews, small_reviews
from d2lmini.train import train
from d2lmini.transformer.blocks import AddNorm, PositionWiseFFN, TransformerDecoderBlock, TransformerEncoderBlock
from d2lmini.transformer.stacks import DecoderState, TransformerDecoder, TransformerEncoder

__all__ = [
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
    "RotaryEmbedding",
    "SelfAttention",
    "SeparableConvolution",
    "T5PositionBias",
    "TransformerDecoder",
    "TransformerDecoderBlock",
    "TransformerEncoder",
    "TransformerEncoderBlock",
    "alibi_slopes",
    "apply_rotary",
    "causal_mask",
    "check",
    "count_flops",
    "count_sequential_operations",
    "describe_growth",
    "draw_diagram",
    "draw_words",
    "fetch_imdb",
    "find_maximum_path_length",
    "find_receptive_field",
    "from_mha_mask",
    "load_reviews",
    "make_positions",
    "masked_softmax",
    "measure_activation_memory",
    "plot",
    "relative_offsets",
    "show_heatmaps",
    "show_tables",
    "small_reviews",
    "t5_buckets",
    "take_differences",
    "to_mha_mask",
    "train",
    "transpose_output",
    "transpose_qkv",
    "valid_lens_mask",
]
