"""The pages around the chapters say of them what is so: places of words, running times, the picture of the cover."""

import inspect
import re
from pathlib import Path

import pytest
import yaml
from book_site.phrases import EXERCISE

import d2lmini as d2l
from tools.notebooks.files import list_chapters

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "book").glob("*.md"))}
CHAPTERS = {name: PAGES[name] for name in list_chapters()}
ENTRIES = re.findall(r"^## (.+)\n\n(.+)$", PAGES["glossary"], re.MULTILINE)

# What can be given by place in the package d2l: 0.17.6, the second Chinese edition, and 1.0.3, the English one.
IN_D2L = {
    "DotProductAttention": "dropout",
    "AdditiveAttention": "key_size query_size num_hiddens dropout",
    "MultiHeadAttention": "key_size query_size value_size num_hiddens num_heads dropout bias",
    "PositionalEncoding": "num_hiddens dropout max_len",
    "PositionWiseFFN": "ffn_num_input ffn_num_hiddens ffn_num_outputs",
    "transpose_qkv": "X num_heads",
    "transpose_output": "X num_heads",
    "TransformerEncoderBlock": "num_hiddens ffn_num_hiddens num_heads dropout use_bias",
    "TransformerEncoder": "vocab_size num_hiddens ffn_num_hiddens num_heads num_blks dropout use_bias",
}


def split_sections(text: str) -> dict[str, str]:
    """Each section by its anchor, the sections below it included."""
    headings = list(re.finditer(r"^(#{1,4}) (.+)$", re.sub(r"(?ms)^```.*?^```", blank, text), re.MULTILINE))
    sections = {}
    for i, heading in enumerate(headings):
        end = next((later.start() for later in headings[i + 1 :] if len(later[1]) <= len(heading[1])), len(text))
        anchor = re.sub(r"[^\w -]", "", heading[2].lower()).replace(" ", "-")
        sections.setdefault(anchor, text[heading.start() : end])
    return sections


def blank(code: re.Match[str]) -> str:
    """The same number of characters, without a comment that looks like a heading."""
    return " " * len(code[0])


SECTIONS = {name: split_sections(text) for name, text in CHAPTERS.items()}


def test_the_glossary_is_in_the_order_of_the_alphabet() -> None:
    words = [re.sub(r"[^a-z ]", "", word.lower().replace("-", " ")) for word, _ in ENTRIES]
    assert words == sorted(set(words)) and len(words) == PAGES["glossary"].count("\n## ")


@pytest.mark.parametrize(("word", "entry"), ENTRIES)
def test_a_word_of_the_glossary_stands_where_the_glossary_says(word: str, entry: str) -> None:
    place = re.search(r"(?: in|See) \[([^]]+)\]\(\.\./notebooks/([\w-]+)\.ipynb#([\w-]+)\)\.$", entry)
    assert place, f"{word}: the entry does not end with a place"
    heading, _, section = SECTIONS[place[2]][place[3]].partition("\n")
    assert heading.lstrip("# ") == place[1], f"{word}: the section is called otherwise"
    section = f"{heading}\n{section}".lower()
    stems = [name[: max(3, len(name) - 3)] for name in re.findall(r"[\w-]{3,}", word.lower())]  # pruning, pruned
    missing = [stem for stem in stems if stem not in section]
    assert not missing, f"{word}: no {missing} in {place[2]}#{place[3]}"


def test_the_cover_is_described_alike_wherever_it_stands() -> None:
    (chapter,) = [text for text in CHAPTERS.values() if "tags: [cover, " in text]
    metadata = chapter[: chapter.index("tags: [cover, ")].rpartition("```{code-cell}")[2]
    described = yaml.safe_load(metadata.strip(" -\n"))["mystnb"]["image"]["alt"]
    assert f':alt: "{described}"' in PAGES["intro"]


@pytest.mark.parametrize("name", IN_D2L)
def test_the_signature_is_the_one_that_the_notation_names(name: str) -> None:
    parameters = inspect.signature(getattr(d2l, name)).parameters.values()
    by_place = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert " ".join(by_place) == IN_D2L[name]


@pytest.mark.recipe("A course of your own")
def test_exercises_have_the_number_of_their_chapter() -> None:
    for number, name in enumerate(list_chapters(), 1):
        for named in re.finditer(rf"^### {EXERCISE} (\d+)\.\d+", CHAPTERS[name], re.MULTILINE):
            line = CHAPTERS[name].count("\n", 0, named.start()) + 1
            assert int(named[1]) == number, (
                f"book/{name}.md:{line}: {named[0]!r}, but by _toc.yml this is chapter {number}"
            )
