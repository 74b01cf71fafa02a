"""What checks and hints say in another language: `words/zh.json` has each phrase by its English.

A phrase with `{}` is a pattern: what stands there is looked up in its turn, and stays as it is if nobody has translated
it. Only what is printed changes, never a verdict.
"""

import json
import re
from functools import cache
from importlib import resources

_SPOKEN = ["en"]


def speak(language: str = "en") -> None:
    """Let checks, hints and progress speak another language; the verdicts stay the same.

    Chapter: Attention pooling.

    Args:
        language: `"en"`, or one that has a file in `words`: `"vi"`, `"zh"`.

    Raises:
        ValueError: if there are no words of that language.

    >>> speak("en")
    """
    known = ["en", *(path.name[:-5] for path in resources.files("d2lmini_exercises").joinpath("words").iterdir())]
    if language not in known:
        raise ValueError(f"language must be one of {', '.join(sorted(known))}, got {language!r}")
    _SPOKEN[0] = language


def translate(text: str) -> str:
    """A text in the language that is spoken, line by line."""
    if _SPOKEN[0] == "en":
        return text
    return "\n".join(_translate_phrase(line, _SPOKEN[0]) for line in text.split("\n"))


@cache
def _read_words(language: str) -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    """The phrases of a language, and its patterns, the longest first."""
    file = resources.files("d2lmini_exercises") / f"words/{language}.json"
    words: dict[str, str] = json.loads(file.read_text("utf-8"))

    def rank(english: str) -> tuple[bool, int]:
        return not english.startswith("{}"), len(english)  # what begins with anything would take whole lines

    patterns = sorted((english for english in words if "{}" in english), key=rank, reverse=True)
    compiled = [
        (re.compile("(.+?)".join(map(re.escape, english.split("{}"))), re.DOTALL), english) for english in patterns
    ]
    return words, [(pattern, words[english]) for pattern, english in compiled]


def _translate_phrase(phrase: str, language: str) -> str:
    words, patterns = _read_words(language)
    if phrase in words:
        return words[phrase]
    for pattern, spoken in patterns:
        if found := pattern.fullmatch(phrase):
            return spoken.format(*(_translate_phrase(part, language) for part in found.groups()))
    return phrase
