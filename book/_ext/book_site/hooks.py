"""The extension that `_config.yml` loads: when each part is called, for the site, and for a printed book."""

from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.search import languages as search_languages

from . import (
    cards,
    description,
    figures,
    folds,
    fonts,
    formulas,
    frameworks,
    home,
    languages,
    opening,
    package,
    panels,
    play,
    predictions,
    references,
    report,
    repository,
    search,
    styles,
    theme,
    translated,
    weight,
    whole,
)

# An event of Sphinx, a priority, and what is called then, in this order.
Hooks = list[tuple[str, int, list[Callable[..., object]]]]
ALWAYS: Hooks = [
    ("source-read", 400, [opening.drop_attached]),
    ("source-read", 500, [frameworks.show_places, report.show_report]),
    ("doctree-read", 300, [report.leave_places]),  # before cells are folded and moved
    ("doctree-read", 415, [references.number_titles, references.anchor_formulas]),
    ("doctree-read", 500, [formulas.keep_together]),
    ("doctree-resolved", 500, [references.number_figures, references.link_formulas, references.link_terms]),
]
SITE: Hooks = [
    ("config-inited", 500, [theme.adjust_theme, theme.drop_thebe, description.name_home]),
    ("source-read", 500, [predictions.mark_guesses]),
    ("doctree-read", 400, [folds.fold_drawing, folds.name_folded_code, folds.drop_machinery]),
    ("doctree-read", 400, [folds.mark_kinds, folds.name_sections, folds.link_pages]),
    ("doctree-read", 410, [predictions.mark_takeaways, predictions.cover_answers]),  # of cells that have names
    ("doctree-read", 420, [folds.fold_setup, folds.fold_sections]),  # around answers; what is folded is no heading
    ("doctree-read", 430, [opening.open_with_picture, formulas.colour_words]),
    ("doctree-read", 500, [theme.mark_columns, references.add_letters, translated.mark_latin]),
    ("html-page-context", 400, [description.show_figure, translated.offer_languages]),  # before others read it
    ("html-page-context", 501, [description.stop_at_question]),  # behind it
    ("html-page-context", 502, [repository.offer_buttons]),  # behind the theme's own
]


def edit_pages(folder: Path, *edits: Callable[[str], str]) -> None:
    """Replace each page by what is made of it."""
    for page in folder.rglob("*.html"):
        html = page.read_text("utf-8")
        for edit in edits:
            html = edit(html)
        page.write_text(html, "utf-8")


def finish(app: Sphinx, error: Exception | None) -> None:
    """When the pages are written: change them, and add the files beside them."""
    folder, root = Path(app.outdir), Path(app.srcdir)
    if error or app.builder.name != "html":
        return
    edit_pages(folder, theme.tidy_page, folds.hang_lines)
    theme.free_lost_page(app, folder)
    search.write_index(app, folder)
    chinese = app.config.language.startswith("zh")  # then Chinese is the text, and no word in it
    fonts.write_fonts(folder, folder / "_static/fonts", fonts.HEADINGS if chinese else None)
    formulas.write_font(folder, folder / "_static/math.woff2")
    edit_pages(folder, *[languages.mark_page] * (not chinese), theme.hand_phrases, theme.keep_safely)
    if app.config.translated:
        translated.lead_to_english(app, folder)
    description.write_sitemap(app, folder)
    description.store_cover(root, folder)
    panels.stack_figures(app)
    figures.colour_figures(folder)
    figures.size_pictures(folder)
    package.build_wheel(root, folder / "_sources")  # above the notebooks, where their first cell looks for it
    package.pack_notebooks(app, folder)
    weight.lighten_site(folder)
    styles.join_styles(folder)
    edit_pages(folder, fonts.ask_early)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it."""
    for event, priority, hooks in ALWAYS + SITE * (not app.tags.has("paper")):
        for hook in hooks:
            app.connect(event, hook, priority=priority)
    app.connect("build-finished", finish, priority=900)  # the theme writes colours of code at the end
    search_languages["en"] = search.EnglishWithChinese
    app.add_directive("chapter-cards", cards.ChapterCards)
    app.add_directive("whole-transformer", whole.Whole)
    app.add_directive("play", play.Play)
    app.add_directive("guess-question", predictions.Part)
    app.add_directive("guess-answer", predictions.Part)
    app.add_directive("build-line", report.BuildLine)
    app.add_config_value("complete_chapters", [], "")  # only the tests of the pages read it
    app.add_config_value("translated", "", "html")  # the folder of the language, with a slash
    app.add_transform(translated.EnglishAnchors)
    formulas.register(app)
    if not app.tags.has("paper"):
        app.add_builder(home.Site, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
