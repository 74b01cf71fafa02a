"""The book for e-readers, by Sphinx's builder for EPUB: `python -m tools.paper.epub`."""

import posixpath
import re
import shutil
import uuid
from pathlib import Path
from typing import Any

from book_site.folds import fold_sections
from book_site.languages import mark_page
from docutils import nodes
from lxml import etree, html
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.epub3 import Epub3Builder, NavPoint

from tools.paper import EPUB, FOLDER
from tools.paper.page import build, configure

COVER = "_images/cover.svg"
STYLES = ("ereader.css", "pygments.css")
_NAMESPACE = uuid.UUID("6f1c8f0e-3a0b-5d2e-9d7b-2f6d1b0a4c11")  # any; the same book must keep its name
_OPF = "{http://www.idpf.org/2007/opf}"
_FACTS = [("accessMode", "textual"), ("accessMode", "visual"), ("accessModeSufficient", "textual")]
_FACTS += [("accessibilityFeature", name) for name in ("alternativeText", "MathML")]
_FACTS += [("accessibilityFeature", name) for name in ("structuralNavigation", "tableOfContents")]
_FACTS += [("accessibilityHazard", "none")]


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
        """List the sections of chapters alone, and name each file as the package does, which Sphinx does not."""
        super().get_toc()
        for entry in self.refnodes:
            entry["refuri"] = posixpath.normpath(entry["refuri"])
        listed = re.compile(r"notebooks/|[^#]+$")  # not each word of the glossary
        self.refnodes = [entry for entry in self.refnodes if listed.match(entry["refuri"])]

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
        """Say also which files hold formulas, which is the cover, and who can read the book."""
        super().build_content()
        path = Path(self.outdir) / "content.opf"
        package = etree.parse(path, etree.XMLParser(remove_blank_text=True))
        for item in package.iter(f"{_OPF}item"):
            name = item.get("href")
            if name == COVER:
                item.set("properties", "cover-image")
            elif name.endswith(".xhtml") and name in self.files and "<math" in (path.parent / name).read_text("utf-8"):
                item.set("properties", "mathml")
        etree.cleanup_namespaces(package)
        metadata = package.find(f"{_OPF}metadata")
        for name, value in [*_FACTS, ("bookEdition", f"Version {self.config.version}")]:
            etree.SubElement(metadata, f"{_OPF}meta", property=f"schema:{name}").text = value
        package.write(path, encoding="utf-8", xml_declaration=True, pretty_print=True)


def list_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Let the contents go down to sections; on the site a chapter lists its own."""
    for listed in doctree.findall(addnodes.toctree):
        listed["titlesonly"] = False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the builder; a solution stays folded, where the reader knows how to."""
    app.add_builder(ReaderBuilder, override=True)
    app.connect("doctree-read", fold_sections, priority=400)
    app.connect("doctree-read", list_sections, priority=900)  # after sphinx-external-toc has put the chapters there
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    """Let Sphinx write the book, and put it where it is looked for."""
    settings = configure("tools.paper.epub")
    title = settings["project"]
    settings |= {
        "epub_theme": "basic",
        "epub_basename": EPUB.stem,
        "epub_uid": "id",
        "epub_identifier": f"urn:uuid:{uuid.uuid5(_NAMESPACE, title)}",
        "epub_description": "An executable book on attention, from one look-up to the Transformer block and its use.",
        "epub_contributor": settings["author"],
        "epub_cover": (COVER, ""),
        "epub_css_files": [],
        "epub_show_urls": "no",
        "epub_tocscope": "includehidden",
        "epub_tocdepth": 2,
        "epub_tocdup": False,
        "epub_use_index": False,
        "html_static_path": ["tools/paper/ereader.css"],
        "html_domain_indices": False,
    }
    build("epub", FOLDER / "epub", settings)
    shutil.copy(FOLDER / "epub" / EPUB.name, EPUB)
    print(EPUB.name)


if __name__ == "__main__":
    main()
