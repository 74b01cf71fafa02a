"""What must be the same in both languages, and what a language forbids: each a fault that a machine can see."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from markdown_it import MarkdownIt

from tools.translating import LANGUAGES
from tools.translating.store import FENCE, SHAPE, read_comments

DISPLAY = re.compile(r"\$\$.*?\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$(?!\$)[^$]+\$")
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HAN = re.compile(r"[\u3400-\u9fff]+")
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
COUNTED = {"list items": r"^\s*(?:[-*]|\d+\.) ", "table rows": r"^\|", "quotations": r"^> "}
TAG = re.compile(r"</?(?:details|summary|sub|sup|br)\b")
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()  # noqa: SIM905
SPELLED = {word: str(number) for number, word in enumerate(ONES)}
SPELLED |= {"seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30", "forty": "40"}
SPELLED |= {"fifty": "50", "sixty": "60", "hundred": "100", "thousand": "1000", "million": "1000000", "once": "1"}
SPELLED |= {"twice": "2", "both": "2", "half": "2", "halves": "2", "first": "1", "second": "2", "third": "3"}
SPELLED |= {"quarter": "4", "quarters": "4", "fourth": "4", "fifth": "5", "eighths": "8", "hundreds": "100"}


def squeeze(text: str) -> str:
    """A text without white space."""
    return re.sub(r"\s+", "", text)


def plain(text: str, instead: str = " ") -> str:
    """The words alone: without code, formulas, addresses and tags."""
    # What a directive holds is text, but for its first line and its options.
    text = FENCE.sub(lambda fence: fence[0] if fence[0].lstrip("`~").startswith("{") else instead, text)
    text = re.sub(r"^[`~]{3,}.*$|^:[a-z]+:.*$", " ", text, flags=re.MULTILINE)
    for what in (DISPLAY, INLINE, CODE):
        text = what.sub(instead, text)
    return re.sub(r"<[^>]+>", " ", LINK.sub("]", text))


def split_paragraphs(text: str) -> list[str]:
    """What blank lines divide."""
    return re.split(r"\n\s*\n", text.strip())


def drop_glosses(text: str) -> str:
    """English without what explains a Chinese word to those who do not read it: 吃 (*eat*)."""
    return re.sub(r"(?<=[\u3400-\u9fff])(?: \((?:\w+, )?\*[^*]+\*[^)]*\)|(?:,| is) \*[^*]+\*)", "", text)


def count_emphasis(text: str) -> tuple[int, int, int]:
    """How much is bold and italic, and the stars that a reader would see."""
    strong = italic = stray = 0
    for token in MarkdownIt("commonmark").enable("table").parse(INLINE.sub("F", DISPLAY.sub("F", text))):
        for child in token.children or []:
            strong += child.type == "strong_open"
            italic += child.type == "em_open"
            stray += child.content.count("*") if child.type == "text" else 0
    return strong, italic, stray


def count_code(text: str) -> Counter[str]:
    """The code spans of a text."""
    return Counter(CODE.findall(INLINE.sub("", DISPLAY.sub("", FENCE.sub("", text)))))


def compare(english: str, other: str, language: str) -> Iterator[str]:
    """What of a text is not the same in its translation, and must be."""
    pairs: dict[str, tuple[Any, Any]] = {
        "paragraphs": (len(split_paragraphs(english)), len(split_paragraphs(other))),
        "displayed formulas": tuple([squeeze(one) for one in DISPLAY.findall(text)] for text in (english, other)),  # type: ignore[dict-item]
        "links": (sorted(LINK.findall(english)), sorted(LINK.findall(other))),
        "headings": (re.findall(r"^#+", english, re.M), re.findall(r"^#+", other, re.M)),
        "tags": (TAG.findall(english), TAG.findall(other)),
        "blocks of code": tuple([f[1] for f in FENCE.finditer(text)] for text in (english, other)),  # type: ignore[dict-item]
    }
    pairs |= {
        name: (len(re.findall(mark, english, re.M)), len(re.findall(mark, other, re.M)))
        for name, mark in COUNTED.items()
    }
    ours, theirs = (Counter(map(squeeze, INLINE.findall(DISPLAY.sub("", text)))) for text in (english, other))
    pairs["formulas"] = dict(ours - theirs), dict(theirs - ours)
    pairs["code"] = dict(count_code(english) - count_code(other)), dict(count_code(other) - count_code(english))
    ours, theirs = (Counter(NUMBER.findall(plain(text))) for text in (english, other))
    spelled = Counter(SPELLED[word] for word in re.findall(r"[a-z]+", plain(english).lower()) if word in SPELLED)
    pairs["numbers lost"] = {}, dict(ours - theirs)
    pairs["numbers that came"] = {}, dict(theirs - ours - spelled)
    (bold, italic, _), (other_bold, other_italic, stray) = count_emphasis(english), count_emphasis(other)
    if language == "zh" and count_emphasis(drop_glosses(english))[1] <= other_italic < italic:
        italic = other_italic  # what explains a Chinese word may stay
    pairs |= {"bold": (bold, other_bold), "italics": (italic, other_italic), "stars that are shown": (0, stray)}
    pairs["Chinese words lost"] = set(), {word for word in HAN.findall(plain(english)) if word not in squeeze(other)}
    for what, (one, two) in pairs.items():
        if one != two:
            yield f"{what}: English has {one}, the translation {two}"


def check_style(english: str, other: str, settings: dict[str, Any]) -> Iterator[str]:
    """Patterns that a language forbids, words of logic without a counterpart, the length, and English left over."""
    bare = re.sub(r"[*_]|\]|\[", "", plain(other, "□"))
    for pattern, why in settings["forbidden"].items():
        for found in re.finditer(pattern, bare if "(?#bare)" in pattern else other):
            yield f"{why}: {found.string[max(0, found.start() - 6) : found.end() + 6]!r}"
    if unicodedata.normalize("NFC", other) != other:
        yield "the text is not in the form NFC"
    counted = re.compile(settings["counted"])
    for one, two in zip(split_paragraphs(english), split_paragraphs(other), strict=False):
        for word, wanted in settings["logic"].items():
            if (found := re.search(word, plain(one), re.I)) and not re.search(wanted, plain(two), re.I):  # type: ignore[assignment]
                yield f"logic: {found[0]!r} of {one[:30]!r} has nothing in its place"
        kept = len(WORD.findall(plain(two))) * (not re.match(settings["counted"], "a"))  # Latin words among others
        count = len(counted.findall(plain(two))) + settings["length"] * kept
        words = len(WORD.findall(drop_glosses(plain(one))))
        low, high = settings["length"] * (0.75 - 3 / max(words, 1)), settings["length"] * (1.3 + 8 / max(words, 1))
        if words >= 12 and not low <= count / words <= high:
            yield f"length: {count:.0f} for the {words} English words of {one[:30]!r}"
    sentences = Counter(
        one.strip() for one in re.split(r"[。！？.!?\n]", bare) if len(one) > 12 and "□" not in one and "|" not in one
    )
    yield from (f"said twice: {one!r}" for one, count in sentences.items() if count > 1)
    runs = re.findall(r"[A-Za-z][A-Za-z'-]*(?: [A-Za-z][A-Za-z'-]*){3,}", bare)
    if counted.match("a"):  # where the language itself has such words
        runs = [run for run in runs if run in plain(english) or re.search(r"\b(?:the|of|and|is)\b", run, re.I)]
    for run in (run for run in runs if f'"{run}' not in english and f"[{run}" not in english):
        yield f"English left over: {run!r}"


@cache
def read_terms(language: str) -> list[tuple[re.Pattern[str], list[str], str]]:
    """For each term that is checked: its English forms, its translations, its name; the longest first."""
    head, *rows = [line.split("\t") for line in (LANGUAGES / "terms.tsv").read_text("utf-8").splitlines()]
    if language not in head:
        raise ValueError(f"languages/terms.tsv has no column {language!r}: it has {', '.join(head)}")
    found = []
    for row in (dict(zip(head, row, strict=False)) for row in rows):
        if row["checked"] == "y" and row[language]:
            forms = row["en"].split("|")
            wanted = [word.strip() for word in [row[language], *row[f"{language}_also"].split("|")] if word.strip()]
            pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, forms))})(?![\w-])", re.I)
            found.append((pattern, wanted, forms[0]))
    return sorted(found, key=lambda term: -len(term[2]))


def check_terms(english: str, other: str, language: str, waived: list[str]) -> Iterator[str]:
    """Terms of the English whose translation the other text lacks; a longer term hides a shorter one in it."""
    rest = plain(english)
    for pattern, wanted, name in read_terms(language):
        if pattern.search(rest):
            rest = pattern.sub(" ", rest)
            if name not in waived and not any(word.lower() in other.lower() for word in wanted):
                yield f"term: {name!r} should be {' or '.join(map(repr, wanted))}"


def check_entry(english: str, entry: Any, language: str, settings: dict[str, Any]) -> list[str]:
    """All faults of an entry that a machine can see."""
    if entry.part == "comments":
        known, told = {said for said in english.splitlines() if not SHAPE.match(said)}, read_comments(entry.text)
        faults = [f"no such comment: {said!r}" for said in told if said not in english.splitlines()]
        return faults + [f"without a translation: {said!r}" for said in sorted(known - set(told))]
    waived = entry.options.get("waive", [])
    if entry.part == "figure":
        shape = [re.findall(r"^(caption|alt): .", text, re.M) for text in (english, entry.text)]
        faults = [fault for fault in compare(english, entry.text, language) if fault.startswith("numbers")]
        faults += ["shape: a caption or a description is missing"] * (shape[0] != shape[1])
        return [fault for fault in faults if fault.partition(":")[0] not in waived]
    faults = [*compare(english, entry.text, language), *check_style(english, entry.text, settings)]
    faults = [fault for fault in faults if fault.partition(":")[0] not in waived]
    return [*faults, *check_terms(english, entry.text, language, waived)]
