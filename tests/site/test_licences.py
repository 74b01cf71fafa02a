"""The licences of what requirements.txt installs: of kinds that let anybody use, change and hand on the book."""

import importlib.metadata
import re

from tools.notebooks.files import ROOT

# What the packages call them, in the words of SPDX.
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "SIL Open Font License 1.1 (OFL-1.1)": "OFL-1.1",
}
# Those that ask for no more than a notice; MPL-2.0 asks for the source of its own files alone, if they are changed.
ALLOWED = {"0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT"}
ALLOWED |= {"LLVM-exception", "MIT-CMU", "MPL-2.0", "OFL-1.1", "PSF-2.0", "Zlib"}
# What the metadata do not say, or say of a part that is not installed, as their files were read.
READ = {
    "axe-playwright-python": {"MIT"},
    "docutils": {"BSD", "PSF-2.0"},  # mostly in the public domain; the GPL is that of a mode for Emacs
    "pypdfium2": {"BSD-3-Clause", "Apache-2.0"},
}


def split_expression(expression: str) -> set[str]:
    return set(re.split(r" (?:AND|OR|WITH) ", re.sub(r"[()]", "", expression)))


def find_licences(name: str) -> set[str]:
    """The licences of an installed package, by the expression in its metadata or by their older words."""
    metadata = importlib.metadata.metadata(name)
    if expression := metadata.get("License-Expression"):
        return split_expression(expression)
    classifiers = "\n".join(metadata.get_all("Classifier", []))
    classified = re.findall(r"^License :: (?:.* :: )?(?!OSI Approved$)(.+)$", classifiers, re.MULTILINE)
    said = classified or [metadata.get("License") or "nothing"]
    return set().union(*({NAMES[kind]} if kind in NAMES else split_expression(kind) for kind in said))


def test_each_licence_is_of_a_kind_that_we_know() -> None:
    """What has another: read it, and allow that kind or take another package. What is not installed is left out."""
    present = {re.sub(r"[-_.]+", "-", each.name).lower() for each in importlib.metadata.distributions()}
    required = re.findall(r"^([A-Za-z][\w.-]*)==", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    installed = [name for name in required if name.lower() in present]
    assert len(installed) > 50
    found = {name: (READ.get(name) or find_licences(name)) - ALLOWED for name in installed}
    assert {name: more for name, more in found.items() if more} == {}
    assert split_expression("MIT AND (GPL-3.0-only OR BSD)") - ALLOWED == {"GPL-3.0-only"}
