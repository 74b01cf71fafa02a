"""What a page folds or leaves out, and a notebook shows: solutions, doubts, the set-up, and what speaks to a tool."""

import re
from html import escape, unescape
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx

from book_site.phrases import DOUBTS, EXERCISE, EXERCISES, OWN, SHOW_SOLUTION, SOLUTION, SUMMARY

# What speaks to nbval and to Colab; the reason below the first, and a title that says more, speak to the reader.
MACHINERY = re.compile(rf"^# NBVAL_[A-Z_]+\n|^# @title {SOLUTION}\n|(?<=^# )@title ", re.MULTILINE)

BREAK = re.compile(r'(<span class="p">[^<]*[(\[{,]</span>)(?![ \n])')  # behind these code may wrap, as behind a blank
NARROW = 32  # as many characters stand in a line of code at 320 px, beside the copy button at 360

# The headings that fold what is below them, up to the next one, and the tag of their cells.
FOLDED = {SOLUTION: "solution", DOUBTS: "check"}


def raw(html: str) -> nodes.raw:
    """A piece of HTML between nodes."""
    return nodes.raw("", html, format="html")


def is_cell(node: nodes.Node, part: str = "cell_code") -> bool:
    """Whether a node is what myst-nb makes of a code cell, or the `part` of one."""
    return isinstance(node, nodes.container) and node.get("nb_element") == part


def fold_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Put what stands below a heading that folds into <details>: no script, found by search, opened by the keyboard."""
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)
        kind = FOLDED.get(title.astext()) if title is not None and title.parent is section else None
        if kind is None:
            continue
        above = section.parent.next_node(nodes.title).astext().partition(" · ")[0]
        summary = title.astext() if kind == "check" else SHOW_SOLUTION.format(above)
        opens = f'<details class="{kind}"><summary>{escape(summary)}</summary>'
        section.replace_self([raw(opens), *section.children[1:], raw("</details>")])


def drop_machinery(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the lines of a cell that only a tool reads."""
    for block in doctree.findall(nodes.literal_block):
        if block.parent.get("nb_element") == "cell_code_source":
            block.rawsource = MACHINERY.sub("", block.rawsource)
            block.children = [nodes.Text(block.rawsource)]


def name_folded_code(app: Sphinx, doctree: nodes.document) -> None:
    """Say what a folded cell does: its title in Colab, or whether it only holds bounds."""
    for cell in filter(is_cell, doctree.findall(nodes.container)):
        if cell.get("hide_mode") == "input":
            source = next(iter(cell.findall(nodes.literal_block))).rawsource
            titled = re.match(r"# @title (.+)", source)
            bounds = re.search(r"^\s*assert ", source, re.MULTILINE) and not cell.next_node(nodes.image)
            what = OWN["the_bounds" if bounds else "the_code"]
            what = titled[1] if titled else what
            cell["prompt_show"], cell["prompt_hide"] = OWN["show"].format(what), OWN["hide"].format(what)


def fold_drawing(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the line that asks for a diagram, and teaches nothing."""
    for part in doctree.findall(lambda node: is_cell(node, "cell_code_source")):
        if part.astext().startswith("d2l.draw_diagram("):
            part.parent["hide_mode"] = "input"


def hang_line(line: str) -> str:
    """A line of code in an element of its own, which knows its indent; a short one never wraps, and needs none."""
    indent = len(line) - len(line.lstrip(" "))
    if len(unescape(re.sub("<[^>]*>", "", line))) <= NARROW and indent <= 12:  # a deeper one is cut
        return f"{line}\n"
    line = BREAK.sub(r"\1<wbr>", line)
    blanks = f'<span class="code-indent">{line[:indent]}</span>' if indent else ""
    return f'<span class="code-line" style="--hang:{indent + 2}">{blanks}{line[indent:]}\n</span>'


def hang_lines(html: str) -> str:
    """Let each line of code, and of what it printed, wrap behind its indent."""

    def hang(block: re.Match[str]) -> str:
        *lines, last = block[2].split("\n")
        return f"{block[1]}{''.join(map(hang_line, lines))}{last}</pre>"

    return re.sub(r'(<div class="highlight"><pre>(?:<span></span>)?)(.*?)</pre>', hang, html, flags=re.DOTALL)


def list_ways(app: Sphinx) -> str:
    """The ways to run the chapter that is read, as HTML."""
    page, url = app.env.docname, app.config.html_theme_options.get("repository_url", "")
    up = "../" * page.count("/")
    ways = [f'<a href="{up}_sources/{page}.zip" download>{OWN["download"]}</a>']
    if "github.com" in url and "/OWNER/" not in url:
        address = f"{url.replace('https://github.com', 'https://colab.research.google.com/github')}/blob"
        branch = app.config.html_theme_options.get("repository_branch") or "main"
        place = f"{branch}/{app.config.translated}{page}.ipynb"
        ways.insert(0, f'<a href="{address}/{place}">{OWN["colab"]}</a>')
    return f"<p>{OWN['either'].join(ways)}{OWN['stop']} {OWN['first_cell']}</p>"


def fold_setup(app: Sphinx, doctree: nodes.document) -> None:
    """Put the cells above the first section, set-up and imports, into <details> that say how to run the rest."""
    chapter = next(iter(doctree.findall(nodes.section)), None)
    cells = [node for node in chapter or () if is_cell(node)]
    if chapter is None or not cells:
        return
    first, end = chapter.index(cells[0]), chapter.index(cells[-1]) + 1
    name = OWN["run_page" if app.env.docname.startswith("pages/") else "run_chapter"]
    head = f'<details class="run"><summary>{name}</summary>{list_ways(app)}'
    chapter[first:end] = [raw(head), *chapter[first:end], raw("</details>")]


def link_pages(app: Sphinx, doctree: nodes.document) -> None:
    """In a notebook a panel leads to notebooks, here to their pages."""
    for part in doctree.findall(nodes.raw):
        if 'class="touch"' in part.astext():
            linked = rf"\1{cast(Any, app.builder).link_suffix}"
            part.children = [nodes.Text(re.sub(r'(<a href="[\w-]+)\.ipynb', linked, part.astext()))]


def mark_kinds(app: Sphinx, doctree: nodes.document) -> None:
    """Name what an exercise is, *Build.* or *Debug.*, so that a style can show it."""
    for section in doctree.findall(nodes.section):
        tasks = [node for node in section if isinstance(node, nodes.paragraph)]
        exercise = section.next_node(nodes.title).astext().startswith(f"{EXERCISE} ")
        if exercise and tasks and isinstance(tasks[0][0], nodes.emphasis):
            tasks[0][0]["classes"].append("kind")


def name_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Give the sections that scripts look for the same ids in each language."""
    names = {SUMMARY: "summary", EXERCISES: "exercises"}
    for section in doctree.findall(nodes.section):
        name = names.get(section.next_node(nodes.title).astext())
        if name and name not in section["ids"]:
            section["ids"].append(name)
