"""Answers to the exercises, a module a chapter: RIGHT ones, and WRONG ones, each with a piece of the hint it gets."""

from typing import Any

from tests.package.exercises.answers import (
    attention_pooling,
    complexity,
    images_as_sequences,
    multi_head_attention,
    positional_encoding,
    reading_reviews,
    relative_positions,
    self_attention,
    transformer,
    what_heads_learn,
)

CHAPTERS = (
    attention_pooling,
    self_attention,
    multi_head_attention,
    complexity,
    positional_encoding,
    relative_positions,
    transformer,
    what_heads_learn,
    images_as_sequences,
    reading_reviews,
)
RIGHT: dict[str, list[Any]] = {name: answers for chapter in CHAPTERS for name, answers in chapter.RIGHT.items()}
WRONG: list[tuple[str, Any, str]] = [answer for chapter in CHAPTERS for answer in chapter.WRONG]
