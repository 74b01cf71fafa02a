"""Checkers of the exercises, one module a chapter. To add one, see the page "Extending the book"."""

# Importing a module registers its checkers.
from d2lmini.checks import attention_pooling, complexity, multi_head_attention, self_attention  # noqa: F401
from d2lmini.checks.core import check

__all__ = ["check"]
