"""The book for e-readers, by Sphinx's builder for EPUB: no buttons, and nothing to open but solutions and doubts."""

import posixpath
import re
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

from book_site.folds import drop_machinery, fold_sections, is_cell, link_pages
from book_site.languages import mark_page
from docutils import nodes
from jupyter_book.config import get_final_config
from lxml import etree, html
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder, NavPoint
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools import ROOT
from tools.notebooks.files import SETUP
from tools.releasing.paper import EPUB, FOLDER
from tools.releasing.repository import read_version

# What serves a screen alone, such as buttons, icons and search.
SCREEN = {"jupyter_book", "notfound.extension", "sphinx.ext.intersphinx", "sphinx_book_theme"}
SCREEN |= {f"sphinx_{name}" for name in ("comments", "copybutton", "multitoc_numbering", "reredirects", "thebe")}
SCREEN |= {"sphinx_togglebutton"}
SCREEN_SETTINGS = ("html_", "redirect", "copybutton", "mathjax", "notfound", "comments", "use_", "latex")
STYLES = ("ereader.css", "pygments.css")
_OPF = "{http://www.idpf.org/2007/opf}"


def open_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Show folded cells, and leave out the one that installs the package."""
    for cell in list(filter(is_cell, doctree.findall(nodes.container))):
        cell.attributes.pop("hide_mode", None)
        if cell.astext().startswith(SETUP):
            cell.parent.remove(cell)


def list_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Let the contents go down to the sections of chapters, but not to each word of the glossary."""
    for listed in doctree.findall(addnodes.toctree):
        listed["titlesonly"] = not listed["includefiles"][0].startswith("notebooks/")


def tidy_page(path: Path) -> None:
    """Write a page as the strict XML that an e-reader wants: words name their language, and nothing is to be chosen."""
    page = html.document_fromstring(mark_page(path.read_text("utf-8")).encode())
    for element in page.xpath("//script | //*[@hidden] | //style | //fieldset | //input"):
        element.drop_tree()
    for fold in page.xpath("//div[@class='touch']/details"):  # all that a panel can show is shown
        fold.find("summary").drop_tree()
        fold.getprevious().drop_tree()
        fold.drop_tag()
    path.write_bytes(etree.tostring(page, encoding="utf-8", xml_declaration=True, doctype="<!DOCTYPE html>"))


def tidy_picture(path: Path) -> None:
    """A picture for the white ground that it gets, without a type from outside; the path of a space is empty."""
    data = re.sub(rb'<!DOCTYPE.*?>|<style id="dark">.*?</style>', b"", path.read_bytes(), flags=re.DOTALL)
    path.write_bytes(re.sub(rb"<path(?![^>]*\sd=)", b'<path d=""', data))


class ReaderBuilder(Epub3Builder):
    """What Sphinx leaves open: parts in the contents, strict XML, and what the package says of its files."""

    def get_toc(self) -> None:
        """Name each file in the contents as the package does, which Sphinx does not."""
        super().get_toc()
        for entry in self.refnodes:
            entry["refuri"] = posixpath.normpath(entry["refuri"])

    def handle_finish(self) -> None:
        """Tidy what was written, before it is packed."""
        folder = Path(self.outdir)
        for unused in (path for path in folder.glob("_*static/*") if path.name not in STYLES):
            (shutil.rmtree if unused.is_dir() else Path.unlink)(unused)
        for path in folder.rglob("*.xhtml"):
            tidy_page(path)
        for path in folder.glob("_images/*.svg"):
            tidy_picture(path)
        super().handle_finish()

    def build_navlist(self, navnodes: list[dict[str, Any]]) -> list[NavPoint]:
        """Put the chapters of a part below its name, which leads to the first of them."""
        first, *chapters = super().build_navlist(navnodes)
        by_file = {chapter.refuri: chapter for chapter in chapters}
        parts = [first]
        for listed in self.env.get_doctree(self.config.root_doc).findall(addnodes.toctree):
            inside = [by_file[f"{name}{self.out_suffix}"] for name in listed["includefiles"]]
            parts += [NavPoint(listed["caption"], inside[0].refuri, inside)] if listed.get("caption") else inside
        return parts

    def build_content(self) -> None:
        """Say also which files hold formulas, and which version it is."""
        super().build_content()
        path = Path(self.outdir) / "content.opf"
        package = etree.parse(path)
        for item in package.iter(f"{_OPF}item"):
            name = item.get("href")
            if name.endswith(".xhtml") and name in self.files and "<math" in (path.parent / name).read_text("utf-8"):
                item.set("properties", "mathml")
        edition = etree.SubElement(package.find(f"{_OPF}metadata"), f"{_OPF}meta", property="schema:bookEdition")
        edition.text = f"Version {self.config.version}"
        package.write(path, encoding="utf-8", xml_declaration=True)


def setup(app: Sphinx) -> None:
    """Register the builder, and what is left out."""
    app.add_builder(ReaderBuilder, override=True)
    for change in (open_cells, drop_machinery, link_pages, fold_sections):
        app.connect("doctree-read", change, priority=400)
    app.connect("doctree-read", list_sections, priority=900)  # after sphinx-external-toc has put the chapters there


def configure() -> dict[str, Any]:
    """The settings of `_config.yml`, without theme and scripts, and with those of an EPUB."""
    given = {"latex_individualpages": False}
    config, _ = get_final_config(user_yaml=ROOT / "_config.yml", cli_config=given, sourcedir=ROOT)
    kept = [name for name in config["extensions"] if name not in SCREEN]
    return {name: value for name, value in config.items() if not name.startswith(SCREEN_SETTINGS)} | {
        "extensions": [*kept, "tools.releasing.paper.epub"],
        "version": read_version(),
        "html_math_renderer": "mathml",
        "formulas_described": True,
        "html_static_path": ["tools/releasing/paper/ereader.css"],
        "html_domain_indices": False,
        "pygments_style": "a11y-high-contrast-light",
        "templates_path": [str(Path(__file__).parent)],
        "epub_theme": "basic",
        "epub_basename": EPUB.stem,
        "epub_uid": "id",
        "epub_identifier": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_DNS, config['project'])}",  # the same, build for build
        "epub_description": "An executable book on attention, from one look-up to the Transformer block and its use.",
        "epub_cover": ("_images/cover.svg", ""),
        "epub_show_urls": "no",
        "epub_tocscope": "includehidden",
        "epub_tocdepth": 2,
        "epub_tocdup": False,
        "epub_use_index": False,
    }


def main() -> None:
    """Let Sphinx write the book from scratch, since what an older build left could hide a fault, and put it in place.

    Raises:
        SystemExit: if Sphinx warns of anything.
    """
    folder = FOLDER / "epub"
    shutil.rmtree(folder, ignore_errors=True)
    with patch_docutils(), docutils_namespace():
        strict: dict[str, Any] = {"freshenv": True, "warningiserror": True, "keep_going": True, "tags": ("paper",)}
        app = Sphinx(ROOT, None, folder, FOLDER / "doctrees", "epub", configure(), None, **strict)
        app.build(force_all=True)
    if app.statuscode:
        sys.exit("the book could not be built: see above")
    shutil.copy(folder / EPUB.name, EPUB)
    print(EPUB.name)
