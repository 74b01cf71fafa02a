"""The faces of the pages: a serif for text, a sans for what surrounds it, a monospace for code, and Chinese for both.

Each is cut, from an installed package, down to the characters that the pages use; Chinese in two parts, of which the
second has what only one page shows: the glossary.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import fontTools
from fontTools.subset import Options, Subsetter, load_font, save_font

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells of each table that it cuts

CUT = Path(__file__).resolve().parents[3] / ".build/fonts"  # parts that were cut before
# What a face is called in fonts.css: the package that has it, and where.
FACES = {
    "text": ("font_source_serif_pro", "files/SourceSerifPro-Regular.otf"),
    "text-italic": ("font_source_serif_pro", "files/SourceSerifPro-It.otf"),
    "text-semibold": ("font_source_serif_pro", "files/SourceSerifPro-Semibold.otf"),
    "sans": ("font_source_sans_pro", "files/SourceSansPro-Regular.otf"),
    "sans-semibold": ("font_source_sans_pro", "files/SourceSansPro-Semibold.otf"),
    "mono": ("matplotlib", "mpl-data/fonts/ttf/DejaVuSansMono.ttf"),
    "chinese": ("pylopdf_fonts_zh_cn", "NotoSerifSC-Regular.otf"),
    "chinese-sans": ("pylopdf_fonts_zh_cn", "NotoSansSC-Regular.otf"),
}
LICENCES = {
    "source-serif-pro.txt": ("font_source_serif_pro", "files/LICENSE.txt"),
    "source-sans-pro.txt": ("font_source_sans_pro", "files/LICENSE.txt"),
    "dejavu.txt": ("matplotlib", "mpl-data/fonts/ttf/LICENSE_DEJAVU"),
    "noto-sc.txt": ("pylopdf_fonts_zh_cn", "../pylopdf_fonts_zh_cn-*.dist-info/licenses/LICENSE"),
}
# The face of code lacks these with a second mark, as Vietnamese has it; it sets both marks well over a bare letter.
MARKED_TWICE = set("ÂĂÊÔâăêô")
TEXT = ("kern", "liga", "mark", "mkmk", "ccmp", "locl", "tnum")
# What a reader may type, or a script may write, beside what the pages hold.
PLAIN = {chr(code) for code in range(0x20, 0x7F)} | set("‘’“”–—…×·○●✓✗→←↑↓≤≥≈−")

HAN = re.compile("[\u2e80-\u9fff\uff00-\uffef]")
# Where the whole page is Chinese the system's face has its text, and ours its headings.
HEADINGS = re.compile(r"<h[1-4][^>]*>.*?</h[1-4]>", re.DOTALL)

# What a page asks for before its styles have said so; a browser refuses that in a folder, where no time is lost.
FIRST = [f"fonts/{face}.woff2" for face in ("text", "text-semibold", "text-italic", "sans", "sans-semibold")]
FIRST += ["vendor/fontawesome/webfonts/fa-solid-900.woff2"]
IN_SOME = {
    "Book Math": (re.compile("<math"), ["math.woff2"]),
    "Book Chinese": (
        re.compile(r"<p>(?:(?!</p>).)*[\u4e00-\u9fff]", re.DOTALL),
        ["fonts/chinese.woff2", "fonts/chinese-sans.woff2"],
    ),
}
ASK = """<script>
if (location.protocol !== "file:") for (const name of {names}) {{
  const font = {{ rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href: "{root}_static/" + name }};
  document.head.append(Object.assign(document.createElement("link"), font));
}}
</script>
"""
# A face that is there before the first layout: else the system is asked for another, and all is laid out again.
READY = """for (const face of document.fonts)
  if (/{faces}/.test(face.family) && !/2E80/i.test(face.unicodeRange)) face.load()"""


def find_file(package: str, name: str) -> Path:
    """A file of an installed package; it may lie beside the package."""
    spec = importlib.util.find_spec(package)
    found = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob(name))
    if not found:
        raise RuntimeError(f"{package} with {name} is missing: run `make book`, or pip install -r requirements.txt")
    return found[0]


def count_characters(pages: Iterable[Path], parts: re.Pattern[str] | None = None) -> Counter[str]:
    """On how many pages each character is: in what they show or in some parts, and in their tags, which are plain."""
    texts = (re.sub(r"<svg.*?</svg>", "", page.read_text("utf-8"), flags=re.DOTALL) for page in pages)
    texts = texts if parts is None else (" ".join(parts.findall(text)) for text in texts)
    return Counter(character for text in texts for character in set(unescape(text)))


def cut_font(source: Path, target: Path, characters: Iterable[str], features: Iterable[str] = TEXT) -> None:
    """Write the part of a font that draws some characters, compressed for the web; the same part is cut once."""
    letters, features = "".join(sorted(characters)), list(features)
    digest = hashlib.sha256(source.read_bytes() + repr((letters, features, fontTools.version)).encode())
    kept = CUT / f"{digest.hexdigest()}.woff2"
    if not kept.exists():
        CUT.mkdir(parents=True, exist_ok=True)
        save_part(source, new := kept.with_suffix(f".{os.getpid()}"), letters, features)
        new.replace(kept)
    shutil.copy(kept, target)


def save_part(source: Path, target: Path, letters: str, features: list[str]) -> None:
    """Cut the part of a font that draws some letters."""
    options = Options(flavor="woff2", layout_features=features, hinting=False, notdef_outline=True)
    options.drop_tables += ["FFTM"]
    with load_font(str(source), options, lazy=True) as font:
        subsetter = Subsetter(options)
        subsetter.populate(text=letters)
        subsetter.subset(font)
        save_font(font, str(target), options)


def write_fonts(pages: Path, target: Path, parts: re.Pattern[str] | None = None) -> None:
    """Write the faces, cut to what the pages in a folder use, and their licences; of Chinese to some parts of them."""
    target.mkdir(parents=True, exist_ok=True)
    every = [*pages.rglob("*.html")]
    read = [page for page in every if parts is None or page.stem != "glossary"]  # whose headings are a dictionary
    counted, shown = count_characters(every), count_characters(read, parts)
    characters = PLAIN | set(counted)
    characters |= set(unicodedata.normalize("NFD", "".join(characters)))  # a letter with its mark, where it has no own
    han, every_han = set(HAN.findall("".join(shown))), set(HAN.findall("".join(characters)))
    common = {character for character in han if counted[character] > 1} or han
    for face, (package, name) in FACES.items():
        source, latin = find_file(package, name), "chinese" not in face
        drawn = characters - every_han - (MARKED_TWICE if face == "mono" else set()) if latin else common
        cut_font(source, target / f"{face}.woff2", drawn)
        if not latin:
            cut_font(source, target / f"{face}-rare.woff2", han - common)
    sheet = target.with_suffix(".css")
    codes = ", ".join(f"U+{ord(character):X}" for character in sorted(common))
    sheet.write_text(sheet.read_text("utf-8").replace("U+82F9", codes), "utf-8")
    for licence, (package, name) in LICENCES.items():
        shutil.copy(find_file(package, name), target / licence)


def ask_early(html: str) -> str:
    """Let a page ask for its faces at once, those of formulas and of Chinese only where there are such."""
    root = re.search(r'data-content_root="([^"]*)"', html)
    if not root or 'rel: "preload"' in html:
        return html
    some = {face: names for face, (sign, names) in IN_SOME.items() if sign.search(html)}
    ask = ASK.format(names=sum(some.values(), FIRST), root=root[1])
    ready = READY.format(faces="|".join(["Book Text", "Book Sans", "Awesome", *some]))
    html = re.sub(r'<meta charset="utf-8"\s*/?>\n?', lambda meta: meta[0] + ask, html, count=1)
    return html.replace('<link rel="stylesheet" ', f'<link rel="stylesheet" onload="{ready}" ', 1)
