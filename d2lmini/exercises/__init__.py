"""Checkers of the exercises, a module or a folder for each chapter. To add one, see the page "Extending the book"."""

from importlib import import_module
from pkgutil import iter_modules

from d2lmini.exercises.core import check, list_exercises

__all__ = ["check", "list_exercises"]

# Importing a chapter's module registers its checkers.
for _chapter in iter_modules(__path__):
    import_module(f"{__name__}.{_chapter.name}")
