"""Checkers of the chapter "The Transformer block"."""

from d2lmini.exercises.transformer import blocks, decoding

__all__ = ["blocks", "decoding"]
