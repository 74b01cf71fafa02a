"""Numbers on their way into a panel: looked at once, then written as text that is the same everywhere."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from d2lmini.checks import name_tensor

__all__ = ["check_lang", "check_words", "list_words", "read_numbers", "write", "write_plain"]


def read_numbers(name: str, numbers: Tensor, shape: Sequence[str], lowest: float, highest: float) -> Tensor:
    """The numbers in double precision, if they have these dimensions, none of them empty, and lie in this range."""
    if not isinstance(numbers, Tensor) or numbers.is_complex() or numbers.dim() != len(shape) or not numbers.numel():
        found = name_tensor(numbers)
        raise ValueError(f"{name} must be a tensor of shape ({', '.join(shape)}), none of them 0, got {found}")
    values = numbers.detach().cpu().double()
    wrong = values[~((values >= lowest - 1e-6) & (values <= highest + 1e-6))]
    if wrong.numel():
        raise ValueError(f"{name} must be numbers from {lowest:g} to {highest:g}, got {wrong[0].item():g}")
    return values


def check_words(name: str, words: Any, count: int, what: str) -> None:
    """Check that there is one text, not empty, for each of so many things."""
    if isinstance(words, str) or not isinstance(words, Sequence) or len(words) != count:
        found = repr(words) if isinstance(words, str) or not isinstance(words, Sequence) else len(words)
        raise ValueError(f"{name} must have one entry for each of the {count} {what}, got {found}")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{name} must be texts that are not empty, got {word!r}")


def check_lang(lang: Any) -> None:
    """Check that a language is named, or none is."""
    if not isinstance(lang, str):
        raise ValueError(f"lang must be the name of a language such as 'zh', got {lang!r}")


def write(number: float, digits: int = 3) -> str:
    """A number for a reader, with so many decimals, and the sign for minus that the text has."""
    return _round(number, digits).replace("-", "−")


def write_plain(number: float, digits: int) -> str:
    """A number for a style sheet or a drawing, with at most so many decimals."""
    return f"{float(_round(number, digits)):g}"


def _round(number: float, digits: int) -> str:
    """So many decimals. Rounded twice, so that all processors agree on a number that is half-way."""
    text = f"{float(f'{number:.{digits + 3}f}'):.{digits}f}"
    return text if text.strip("-0.") else text.lstrip("-")


def list_words(words: Sequence[str]) -> str:
    """The words with commas, and "and" before the last."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
