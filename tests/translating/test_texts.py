"""The book in other languages: each text passes its gates, and what is made of them is what is stored."""

import nbformat
import pytest

from tools import ROOT
from tools.notebooks.files import NOTEBOOKS
from tools.translating import LANGUAGES
from tools.translating.__main__ import check, read_settings
from tools.translating.build import build, find_states, strip_comments
from tools.translating.store import list_texts

SPOKEN = sorted(path.parent.name for path in LANGUAGES.glob("*/language.toml"))
TRANSLATED = [(language, name) for language in SPOKEN for name in list_texts(language)]


@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_a_text_passes_its_gates(language: str, name: str) -> None:
    """What is stale is a warning, since an English sentence that is mended waits for no translator."""
    said = check(language, name, read_settings(language))
    print("\n".join(said))
    faults = [fault for fault in said if not fault.startswith("::warning")]
    assert not faults, "\n".join([*faults, f"make translate LANG={language} NAME={name}"])


@pytest.mark.thorough
@pytest.mark.parametrize(("language", "name"), TRANSLATED)
def test_an_edition_has_no_stale_cell(language: str, name: str) -> None:
    assert {state.kind for state in find_states(language, name)} == {"fresh"}


@pytest.mark.parametrize("language", SPOKEN)
def test_what_is_stored_is_what_is_made_of_the_texts(language: str) -> None:
    made = dict(build(language, read_settings(language)["notice"]))
    stored = {path for path in (ROOT / language).rglob("*") if path.suffix in (".ipynb", ".md", ".json")}
    other = [path.name for path, text in made.items() if path not in stored or path.read_text("utf-8") != text]
    assert stored == set(made) and not other, f"make translate LANG={language}: {other}"


@pytest.mark.parametrize(("language", "name"), [one for one in TRANSLATED if (NOTEBOOKS / f"{one[1]}.ipynb").exists()])
def test_code_outputs_and_ids_are_those_of_the_english_notebook(language: str, name: str) -> None:
    paths = NOTEBOOKS / f"{name}.ipynb", ROOT / language / f"notebooks/{name}.ipynb"
    english, other = (nbformat.read(path, as_version=4).cells for path in paths)
    assert [(cell.id, cell.cell_type) for cell in english] == [(cell.id, cell.cell_type) for cell in other]
    for one, two in zip(english, other, strict=True):
        if one.cell_type == "code":
            assert strip_comments(one.source) == strip_comments(two.source)
            shown = [[(out.get("data"), out.get("text")) for out in cell.outputs] for cell in (one, two)]
            assert shown[0] == shown[1] and one.execution_count == two.execution_count
