"""d2lmini: the attention code that *Attention, Measured* teaches, and what its chapters use to show it.

`import d2lmini as d2l` gives every public name, in the order of the chapters. Tensors are batch first; a mask is
boolean and `True` means *may attend*.
"""

import typing

__version__ = "0.2.0.dev0"

# What every chapter uses.
from d2lmini.figures.diagrams import draw_diagram as draw_diagram
from d2lmini.figures.heatmaps import show_heatmaps as show_heatmaps
from d2lmini.figures.heatmaps import show_tables as show_tables
from d2lmini.figures.plot import plot as plot
from d2lmini.figures.tables import Table as Table
from d2lmini.train import train as train

# Attention pooling, self-attention, multi-head attention.
from d2lmini.attention.pooling import AdditiveAttention as AdditiveAttention
from d2lmini.attention.pooling import DotProductAttention as DotProductAttention
from d2lmini.attention.pooling import attend as attend
from d2lmini.attention.pooling import attention_weights as attention_weights
from d2lmini.attention.pooling import masked_softmax as masked_softmax
from d2lmini.attention.masks import causal_mask as causal_mask
from d2lmini.attention.masks import valid_lens_mask as valid_lens_mask
from d2lmini.attention.self_attention import SelfAttention as SelfAttention
from d2lmini.attention.heads import MultiHeadAttention as MultiHeadAttention
from d2lmini.attention.heads import transpose_output as transpose_output
from d2lmini.attention.heads import transpose_qkv as transpose_qkv
from d2lmini.attention.masks import from_mha_mask as from_mha_mask
from d2lmini.attention.masks import to_mha_mask as to_mha_mask
from d2lmini.explore.softmax import explore_softmax as explore_softmax
from d2lmini.explore.attention import explore_attention as explore_attention
from d2lmini.explore.sentences import explore_sentences as explore_sentences

# CNN, RNN, self-attention.
from d2lmini.costs.counting import count_flops as count_flops
from d2lmini.costs.counting import count_sequential_operations as count_sequential_operations
from d2lmini.costs.counting import measure_activation_memory as measure_activation_memory
from d2lmini.costs.growth import take_differences as take_differences
from d2lmini.mixers.layers import Convolution as Convolution
from d2lmini.mixers.layers import RestrictedSelfAttention as RestrictedSelfAttention
from d2lmini.mixers.layers import SeparableConvolution as SeparableConvolution
from d2lmini.costs.receptive_field import find_receptive_field as find_receptive_field
from d2lmini.explore.paths import explore_paths as explore_paths

# Positional encoding, relative positions.
from d2lmini.positions.added import LearnedPositionalEncoding as LearnedPositionalEncoding
from d2lmini.positions.added import PositionalEncoding as PositionalEncoding
from d2lmini.positions.biases import ALiBi as ALiBi
from d2lmini.positions.biases import RelativePositionBias as RelativePositionBias
from d2lmini.positions.biases import RelativePositionKeys as RelativePositionKeys
from d2lmini.positions.biases import alibi_slopes as alibi_slopes
from d2lmini.positions.offsets import relative_offsets as relative_offsets
from d2lmini.positions.biases import t5_buckets as t5_buckets
from d2lmini.positions.rotary import RotaryEmbedding as RotaryEmbedding
from d2lmini.positions.rotary import apply_rotary as apply_rotary
from d2lmini.attention.scheme import RelativePositions as RelativePositions
from d2lmini.positions.by_name import make_positions as make_positions
from d2lmini.explore.positions import explore_positions as explore_positions

# The Transformer block.
from d2lmini.transformer.layers import PositionWiseFFN as PositionWiseFFN
from d2lmini.transformer.blocks import TransformerEncoderBlock as TransformerEncoderBlock
from d2lmini.transformer.blocks import TransformerDecoderBlock as TransformerDecoderBlock
from d2lmini.transformer.stacks import TransformerEncoder as TransformerEncoder
from d2lmini.transformer.stacks import TransformerDecoder as TransformerDecoder
from d2lmini.transformer.stacks import DecoderOnlyTransformer as DecoderOnlyTransformer

# What heads learn.
from d2lmini.explore.heads import explore_pruning as explore_pruning

# Reading reviews.
from d2lmini.figures.heatmaps import draw_words as draw_words
from d2lmini.reviews import imdb_reviews as imdb_reviews
from d2lmini.reviews import load_reviews as load_reviews
from d2lmini.reviews import opinion_words as opinion_words
from d2lmini.reviews import small_reviews as small_reviews

# What is kept.

# A real model.
from d2lmini.pretrained.smollm2 import load_smollm2 as load_smollm2
from d2lmini.pretrained.texts import load_texts as load_texts


def __getattr__(name: str) -> typing.Any:
    """`check`, `hint` and `progress` are loaded when first used: the exercises stand above this package."""
    if name in ("check", "hint", "progress", "speak"):
        import d2lmini_exercises

        return getattr(d2lmini_exercises, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
