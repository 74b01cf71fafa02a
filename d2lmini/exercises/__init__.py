"""Checkers of the exercises, one module a chapter. To add one, see the page "Extending the book"."""

# Importing a module registers its checkers.
from d2lmini.exercises import (  # noqa: F401
    attention_pooling,
    complexity,
    decoding,
    images_as_sequences,
    multi_head_attention,
    positional_encoding,
    pruning,
    reading_reviews,
    relative_positions,
    self_attention,
    transformer,
    what_heads_learn,
)
from d2lmini.exercises.core import check

__all__ = ["check"]
