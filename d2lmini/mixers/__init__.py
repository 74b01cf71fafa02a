"""Layers that mix a sequence: sixteen causal ones with one interface, and what they recall; others for comparison."""

from d2lmini.mixers.attention import Attention, LatentAttention
from d2lmini.mixers.by_name import count_state_bytes, make_mixers
from d2lmini.mixers.mixer import Mixer
from d2lmini.mixers.recall import draw_pairs, measure_recall, train_recall
from d2lmini.mixers.states import Convolutions, GatedDelta, LinearAttention, Recurrent, StateSpace

__all__ = [
    "Attention",
    "Convolutions",
    "GatedDelta",
    "LatentAttention",
    "LinearAttention",
    "Mixer",
    "Recurrent",
    "StateSpace",
    "count_state_bytes",
    "draw_pairs",
    "make_mixers",
    "measure_recall",
    "train_recall",
]
