"""What no page uses is not shipped, and a page loads what it needs."""

import re
import shutil
from pathlib import Path

from .fonts import cut_font
from .styles import LINK

# The scripts that few pages need, or none, and what those pages hold. A browser shows titles by itself.
SEARCHES = 'id="search-results"'
NEVER = "(?!)"
NEEDED = {
    "fontawesome.js": NEVER,  # the icons are a font as well
    "togglebutton.js": NEVER,
    "design-tabs.js": "sd-tab-set",
    "bootstrap.js": r'data-bs-toggle="(?!tooltip)|"pst-collapse-sidebar-button"',
    "tools.js": "data-play=",
    **{f"{kind}.js": f'data-play="{kind}' for kind in ("sentences", "softmax", "clock")},
    **dict.fromkeys(("searchtools.js", "language_data.js", "searchindex.js", "search.js"), SEARCHES),
}
SETTINGS = "documentation_options.js"  # lines of the page itself add to it: it is one of them
FILES = ["*.map", "*.ttf", "sphinx-thebe.*", "fa-brands-400.woff2", "fa-regular-400.woff2"]
FILES += ["fontawesome.js", "togglebutton.js", SETTINGS]
# In code, what has the colour of the text around, by book.css: names, signs and blanks. A page has thousands of them.
COLOURED = "c[1hm]?|k[cdnr]?|ow|s[12ade]?|m[if]?|n[fc]"
PLAIN = re.compile(rf'<span class="(?!(?:{COLOURED})")[a-z0-9]{{1,3}}">((?:[^<]|<wbr>)*)</span>')
# What lays the page out while it is still made, and what is written there instead.
HASTY = {
    # Each block of code is asked whether it scrolls; scrolls.js asks once.
    "scripts/pydata-sphinx-theme.js": {
        r',"complete"===document\.readyState\?(\w+)\(\):window\.addEventListener\("load",\1\)': "",
        # The bar of chapters is asked where it stands, on a phone as well, which has none.
        r'(?<=!document\.querySelector\("\.bd-docs-nav"\))(?=\)return)': '||!matchMedia("(min-width: 992px)").matches',
    },
    # The address is written anew, without the words to mark, also where there were none.
    "sphinx_highlight.js": {
        r"(?<!return;\n    )(?=localStorage\.removeItem[^}]*?\n +url\.)": "if (!highlight) return;\n    "
    },
}
# Where a script has its own, what a notebook shows instead is made only where none runs.
PANEL = re.compile(r'(<div class="touch"[^>]* data-play=[^>]*>)(<style>.*?</details>)(?=</div>)', re.DOTALL)
# What a page says to its scripts; of buttons that togglebutton.js would make there are none.
LINES = re.compile(r"<script>(?P<toggles>(?:let|var) toggle)?.*?</script>\n?", re.DOTALL)
SCRIPT = re.compile(r'<script\b(?P<attributes>[^>]*?)\bsrc="(?P<source>[^"?]+)[^"]*"[^>]*></script>\n?')


def lighten(html: str, settings: str) -> str:
    """Leave out the scripts that a page does not use, and let it be read before the others have come."""

    def keep(script: re.Match[str]) -> str:
        name = script["source"].rpartition("/")[2]
        if name in NEEDED and not re.search(NEEDED[name], html):
            return ""
        if name == SETTINGS:
            return f"<script>{settings}</script>\n"
        if "defer" in script["attributes"] or SEARCHES in html:
            return script[0]
        return script[0].replace("<script", "<script defer", 1)

    html = PANEL.sub(r"\1<noscript>\2</noscript>", PLAIN.sub(r"\1", html))
    html = SCRIPT.sub(keep, re.sub(r'<link rel="preload" as="script"[^>]*>\n?', "", html))
    sheet = LINK.search(html)
    if not sheet:
        return html
    # Behind a style sheet that has not come, a line would wait for it, and with it all that is still to be read.
    before, behind, body = html[: sheet.start()], *html[sheet.start() :].partition("</head>")[::2]
    lines = "".join(line[0] for line in LINES.finditer(behind) if not line["toggles"])
    return f"{before}{lines}{LINES.sub('', behind)}</head>{body}"


def shrink_icons(folder: Path) -> None:
    """Cut the font of icons to those that the pages and their scripts name."""
    names: set[str] = set()
    for path in (*folder.rglob("*.html"), *folder.glob("_static/scripts/*.js")):
        names |= set(re.findall(r"\bfa-[\w-]+", path.read_text("utf-8")))
    styles = "".join(path.read_text("utf-8") for path in folder.glob("_static/styles/*.css"))
    letters = {chr(int(code, 16)) for code in re.findall(r'content:"\\(f[0-9a-f]{3})"[^}]*font-family', styles)}
    for chosen, code in re.findall(r'((?:\.fa-[\w-]+:+before,?)+)\{content:"\\([0-9a-f]+)"\}', styles):
        if names & set(re.findall(r"fa-[\w-]+", chosen)):
            letters.add(chr(int(code, 16)))
    for font in folder.rglob("fa-solid-900.woff2"):
        cut_font(font, font, letters, features=())


def lighten_site(folder: Path) -> None:
    """Lighten each page; delete what Sphinx and the theme copy, and no page asks for."""
    script = folder / "_static" / SETTINGS
    settings = script.read_text("utf-8") if script.exists() else ""  # on all pages since the last build
    for pattern in FILES:
        for unused in folder.rglob(pattern):
            unused.unlink()
    shutil.rmtree(folder / "_static/locales", ignore_errors=True)  # translations of the theme
    for name, edits in HASTY.items():
        script = folder / "_static" / name
        for old, new in edits.items():
            script.write_text(re.sub(old, new, script.read_text("utf-8")), "utf-8")
    for page in folder.rglob("*.html"):
        page.write_text(lighten(page.read_text("utf-8"), settings), "utf-8")
    shrink_icons(folder)
