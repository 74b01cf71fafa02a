"""The order of a printed book: a title page, contents, chapters with their folds at the end, and the solutions."""

import re
from html import escape
from typing import Any

from book_site.folds import raw
from book_site.phrases import CHAPTER, DOUBTS, SOLUTION
from docutils import nodes
from sphinx import addnodes
from sphinx.config import Config

Parts = list[tuple[str, list[str]]]


def name_anchor(docname: str, name: str) -> str:
    """The id in the book of what is called `name` in one document."""
    return f"{docname.replace('/', '-')}--{name}"


def link_to(target: str, *content: nodes.Node, **attributes: Any) -> nodes.reference:
    """A link inside the book."""
    return nodes.reference("", "", *content, refuri=f"#{target}", internal=True, **attributes)


def page_of(target: str) -> nodes.raw:
    """The place of a page number: the printer of the PDF fills it in, and nobody else needs one."""
    return raw(f'<span class="page-of" data-target="{escape(target)}"></span>')


def title_of(section: nodes.section) -> nodes.title:
    """The heading of a section."""
    return next(child for child in section.children if isinstance(child, nodes.title))


def copy_title(section: nodes.section) -> list[nodes.Node]:
    """What a heading says, to be said again elsewhere."""
    copies = [child.deepcopy() for child in title_of(section).children]
    for copy in copies:
        for node in copy.findall(nodes.Element):
            node["ids"] = []
    return copies


def wrap_file(section: nodes.Element, running: str, name: str) -> list[nodes.Node]:
    """A chapter with the page style that puts its title into the head of its pages."""
    quoted = re.sub(r'(["\\])', r"\\\1", running)
    style = f'<style>@page {name} {{ @top-right {{ content: "{quoted}" }} }}</style>'
    return [raw(f'{style}<div class="file" id="{name}" style="page: {name}">'), section, raw("</div>")]


def make_section(name: str, title: str, *classes: str) -> nodes.section:
    """A section that no document has."""
    return nodes.section("", nodes.title("", title), ids=[name], classes=list(classes))


def take_folds(chapter: nodes.section, heading: str, back_to: str) -> list[nodes.section]:
    """Take what is folded below such headings out of a chapter, leave a link in its place, and lead back from it."""
    taken = []
    for fold in list(chapter.findall(nodes.section)):
        if title_of(fold).astext() != heading:
            continue
        section, here = fold.parent, fold["ids"][0]
        there = section["ids"][0]
        link = link_to(here, nodes.Text(heading))
        section.replace(fold, nodes.paragraph("", "", link, page_of(here), classes=["to-fold"]))
        fold.replace(title_of(fold), nodes.title("", "", *copy_title(section)))
        back = link_to(there, nodes.Text(f"Back to the {back_to}"))
        fold.append(nodes.paragraph("", "", back, page_of(there), classes=["from-fold"]))
        taken.append(fold)
    return taken


def move_doubts(chapter: nodes.section) -> None:
    """Put what stands below *Does this hold?* to the end of the chapter, each under the title of its section."""
    if taken := take_folds(chapter, DOUBTS, "section"):
        end = make_section(f"{chapter['ids'][0]}-folds", DOUBTS, "folds")
        end.extend(taken)
        chapter.append(end)


def gather_solutions(chapters: list[nodes.section]) -> nodes.section | None:
    """The appendix: the solutions of each chapter under its title."""
    appendix = make_section("solutions", "Solutions", "solutions")
    for number, chapter in enumerate(chapters):
        taken = take_folds(chapter, SOLUTION, "exercise")
        if taken:
            of_chapter = make_section(f"solutions-{number}", head_of(chapter))
            of_chapter.extend(taken)
            appendix.append(of_chapter)
    return appendix if len(appendix.children) > 1 else None


def is_chapter(section: nodes.section) -> bool:
    """Whether a section is a chapter, which has a number, and not a page beside the chapters."""
    return "chapter" in section["classes"]


def head_of(section: nodes.section) -> str:
    """What the head of a page says: number and title."""
    number = f"{section['number']} · " if is_chapter(section) else ""
    return number + title_of(section).astext()


def list_contents(section: nodes.section, depth: int) -> nodes.list_item:
    """An entry of the contents, and those of its sections down to `depth`."""
    target = section["ids"][0]
    number = [nodes.Text(re.findall(r"\d+", section["number"])[0] + "\u2002")] if is_chapter(section) else []
    entry = nodes.paragraph("", "", link_to(target, *number, *copy_title(section)), page_of(target))
    item = nodes.list_item("", entry)
    inside = [child for child in section.children if isinstance(child, nodes.section)] if depth else []
    if below := [list_contents(child, depth - 1) for child in inside]:
        item.append(nodes.bullet_list("", *below))
    return item


def make_contents(parts: list[tuple[str, list[nodes.section]]]) -> nodes.section:
    """The contents: chapters and their sections, page by page."""
    contents = make_section("contents", "Contents", "contents")
    for caption, sections in parts:
        if caption:
            contents.append(nodes.paragraph("", caption, classes=["part"]))
        entries = [list_contents(section, int(is_chapter(section))) for section in sections]
        contents.append(nodes.bullet_list("", *entries))
    return contents


def make_title_page(introduction: nodes.section, config: Config) -> nodes.section:
    """The title page, with the first picture of the introduction and what stands below it in italics."""
    page = make_section("title-page", config.project, "title-page")
    picture = next((child for child in introduction.children if isinstance(child, nodes.image)), None)
    if picture is not None:
        after = introduction[introduction.index(picture) + 1 :][:1]
        shown = [picture, *(node for node in after if [type(child) for child in node.children] == [nodes.emphasis])]
        for node in shown:
            introduction.remove(node)
        page.extend(shown)
    page.append(nodes.paragraph("", f"Version {config.version}", classes=["edition"]))
    introduction.replace(title_of(introduction), nodes.title("", "Introduction"))
    return page


def arrange_book(tree: nodes.document, parts: Parts, config: Config) -> None:
    """Put the chapters, which Sphinx leaves inside the root's section, beside it, and around them what a book needs."""
    files = {file["docname"]: file for file in tree.findall(addnodes.start_of_file)}
    sections = {docname: next(iter(file.findall(nodes.section))) for docname, file in files.items()}
    for file in files.values():
        file.parent.remove(file)
    chapters = [name for _, names in parts for name in names if name.startswith("notebooks/")]
    for number, name in enumerate(chapters, start=1):  # their formulas and exercises are numbered so
        sections[name]["classes"].append("chapter")
        sections[name]["number"] = CHAPTER.format(number)
    introduction = next(iter(tree.findall(nodes.section)))
    for empty in [node for node in introduction.findall(nodes.compound) if "toctree-wrapper" in node["classes"]]:
        empty.parent.remove(empty)
    title_page = make_title_page(introduction, config)
    by_part = [(caption, [sections[docname] for docname in docnames]) for caption, docnames in parts]
    for section in filter(is_chapter, sections.values()):
        move_doubts(section)
    solutions = gather_solutions([section for _, listed in by_part for section in listed])
    contents = make_contents([("", [introduction]), *by_part, *([("", [solutions])] if solutions else [])])
    for section in filter(is_chapter, sections.values()):  # not before the contents, which have it in the line
        section.insert(0, nodes.paragraph("", section["number"], classes=["kicker"]))
    body = [
        *wrap_file(title_page, "", "front"),
        *wrap_file(contents, "Contents", "toc"),
        *wrap_file(introduction, "Introduction", "introduction"),
    ]
    for docname, file in ((name, files[name]) for _, names in parts for name in names):
        body += wrap_file(file, head_of(sections[docname]), docname.rpartition("/")[2])
    tree.children = []
    tree.extend([*body, *(wrap_file(solutions, "Solutions", "appendix") if solutions else [])])
