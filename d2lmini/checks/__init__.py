"""Checkers of the exercises, one module a chapter. To add one, see the page "Extending the book"."""

from d2lmini.checks import attention_pooling as _attention_pooling  # noqa: F401  (registers its checkers)
from d2lmini.checks.core import check

__all__ = ["check"]
