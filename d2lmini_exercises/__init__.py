"""Checkers of the exercises, a module or a folder for each chapter. To add one, see the page "Extending the book"."""

from importlib import import_module
from pkgutil import walk_packages

from d2lmini_exercises.engine.core import check, list_exercises
from d2lmini_exercises.engine.hints import hint
from d2lmini_exercises.engine.progress import progress
from d2lmini_exercises.engine.speech import speak

__all__ = ["check", "hint", "list_exercises", "progress", "speak"]

# Importing a module registers its checkers.
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
