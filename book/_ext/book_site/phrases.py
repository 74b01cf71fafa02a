"""The phrases by which the book's texts are read, in its language. A translation adds its own to the table."""

import re
import tomllib
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")
CONFIG = Path(__file__).parents[3] / "_config.yml"


def read_language(config: str) -> str:
    """The language that `_config.yml` sets, or English."""
    found = re.search(r"^ +language: *[\"']?(\w+)", config, re.MULTILINE)
    return found[1].partition("_")[0] if found else "en"


def flatten(table: dict[str, Any]) -> dict[str, str]:
    """The phrases of a table and of those in it."""
    found: dict[str, str] = {}
    for name, phrase in table.items():
        found |= flatten(phrase) if isinstance(phrase, dict) else {name: phrase}
    return found


def read_phrases(language: str, table: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The phrases of a language that Python has, and those that scripts have, by the names that they have in English.

    Raises:
        ValueError: if the table lacks the language, or the language a phrase, or if it has one that English lacks.
    """
    tables = tomllib.loads(table)
    if language not in tables:
        raise ValueError(f"language must be one of {', '.join(tables)}, got {language!r}")
    english, own = flatten(tables["en"]), flatten(tables[language])
    wrong = [f"lacks {name!r}" for name in english if not own.get(name)]
    wrong += [f"has {name!r}, which English lacks" for name in own if name not in english]
    if wrong:
        raise ValueError(f"phrases.toml: the language {language!r} {', '.join(wrong)}")
    scripts = tables[language].pop("scripts")
    return tables[language], scripts


OWN, SCRIPTS = read_phrases(read_language(CONFIG.read_text("utf-8")), TABLE.read_text("utf-8"))
SUMMARY, DOUBTS, TAKEAWAY = OWN["summary"], OWN["doubts"], OWN["takeaway"]
EXERCISES, EXERCISE, SOLUTION = OWN["exercises"], OWN["exercise"], OWN["solution"]
PREDICT, DEBUG, *_ = KINDS = [OWN[kind] for kind in ("predict", "debug", "build", "measure", "extended")]
PREREQUISITES, RUNNING_TIME = OWN["prerequisites"], OWN["running_time"]
CHAPTER, FIGURE, FORMULA = OWN["chapter"], OWN["figure"], OWN["formula"]
EXPLAINED, RUNS_IN = OWN["explained"], OWN["runs_in"]
ANSWER, SHOW_SOLUTION = OWN["answer"], OWN["show_solution"]
SHOWN_ABOVE, A_NUMBER, ANSWERING_CODE = OWN["shown_above"], OWN["a_number"], OWN["answering_code"]


def name_numbers(phrase: str, number: str) -> str:
    """The regular expression of what a text names by one number or more: *Chapter 3*, *chapters 3 and 4*, 第3章."""
    before, _, after = phrase.partition("{}")
    more = rf"(?:(?:,| ?{OWN['to']}| ?{OWN['and']}) ?{number})*"
    return rf"(?<![A-Za-z0-9_])(?i:{re.escape(before.strip())})s? ?{number}{more}{re.escape(after)}(?![A-Za-z0-9_])"
