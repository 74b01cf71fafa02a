"""Which words of a page are Chinese: a screen reader then speaks them so, and a browser chooses their face."""

import re

# Elements whose text is no text of the page, and tags; between them stands the text.
TAGS = re.compile(r"<(script|style|title|textarea)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.DOTALL)
CHARACTERS = re.compile(r"[\u4e00-\u9fff]+(?:[ 、，][\u4e00-\u9fff]+)*")
# In small letters, with a mark of tone that no European name in this book has.
PINYIN = re.compile(r"\b(?=\w*[āēīōūǖǎěǐǒǔǚ])[a-zāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü]+\b")


def mark_text(text: str) -> str:
    """Say of the Chinese words in a piece of text that they are."""
    text = CHARACTERS.sub(lambda found: f'<span lang="zh-Hans">{found[0]}</span>', text)
    return PINYIN.sub(lambda found: f'<span lang="zh-Latn-pinyin">{found[0]}</span>', text)


def mark_page(html: str) -> str:
    """A page in which each Chinese word outside a formula and an attribute names its language."""
    head, body, rest = html.partition("<body")
    pieces, place, formula = [], 0, False
    for tag in TAGS.finditer(rest):
        text = rest[place : tag.start()]
        pieces += [text if formula else mark_text(text), tag[0]]
        place, formula = tag.end(), 'class="math ' in tag[0] or (formula and not tag[0].startswith("</"))
    return head + body + "".join(pieces) + mark_text(rest[place:])
