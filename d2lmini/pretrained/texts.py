"""Two texts for a language model to read, both written for this book, and known to no model."""

from pathlib import Path

_FOLDER = Path(__file__).with_name("texts")


def load_texts() -> tuple[str, str]:
    """A story of 340 words about apples and a computer, and an explanation of 239 words, how a lock lifts a boat.

    They were written for this book, so that no model was trained on them.

    Chapter: A real model.

    >>> story, essay = d2l.load_texts()
    >>> story[:29]
    'The market opened at six, and'
    """
    story, essay = (" ".join((_FOLDER / f"{name}.txt").read_text("utf-8").split()) for name in ("story", "essay"))
    return story, essay
