"""What is measured on an open page: whether anything is cut."""

from typing import Any

SMALLEST_LETTER = 8  # pixels; letters in figures are 9 points, so 12 pixels in a figure of its own size

# For each output, cell, table, figure and formula: by how many pixels it is wider than its place, and whether a reader
# sees that and can get there. A figure also by how much it is made smaller.
MEASURE = """() => {
  const parts = '.highlight pre, .cell_output pre, .output.text_html, table, .cell_output img, .math, figcaption, p';
  const article = document.querySelector('.bd-article').getBoundingClientRect(), found = [];
  for (const part of document.querySelectorAll(`.bd-article :is(${parts})`)) {
    const formula = part.matches('.math'), shown = part.getBoundingClientRect();
    if (!shown.width || !part.checkVisibility() || part.closest('.chapter-cards')) continue;
    let hidden = 0, cut = 0, signed = true, end = shown.right;
    for (let box = part; box && !box.matches('.bd-article'); box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.overflowX === 'visible' || style.display === 'inline' || box.matches('span.math:not(.wide)')) continue;
      const more = Math.max(box.scrollWidth - box.clientWidth, 0);
      if (/auto|scroll/.test(style.overflowX)) hidden += more;
      else cut += box === part ? more : Math.max(end - box.getBoundingClientRect().right, 0);
      if (more > 1 && !(box.hasAttribute('data-more') && box.tabIndex === 0)) signed = false;
      end = box.getBoundingClientRect().right;
    }
    cut = Math.round(Math.max(cut, end - article.right));
    const figure = part.matches('img');
    found.push({
      kind: figure ? 'figure' : part.matches('pre') ? (part.closest('.cell_output') ? 'output' : 'code')
        : part.localName === 'table' ? 'table' : formula ? 'formula' : 'text',
      text: (figure ? part.alt : part.textContent).trim().slice(0, 60),
      hidden, cut, signed, scale: figure && part.naturalWidth ? shown.width / part.naturalWidth : 1,
      columns: part.matches('pre') ? Math.max(...part.textContent.split('\\n').map(line => line.length)) : 0,
    });
  }
  return found;
}"""
# The buttons and links of the bar that the window cuts, or that reach out of the bar.
OUT = """[...document.querySelectorAll('.bd-header-article :is(a, button)')].filter(e => {
  const box = e.getBoundingClientRect(), bar = e.closest('.bd-header-article').getBoundingClientRect();
  return e.checkVisibility() && (box.left < 0 || box.right > innerWidth || box.bottom > bar.bottom + 1);
}).map(e => e.className)"""


def resize(window: Any, width: int) -> None:
    """Make the window as wide, and wait until what watches the width has seen it."""
    window.set_viewport_size({"width": width, "height": 900})
    window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")


def find_cut(window: Any, width: int) -> list[str]:
    """What is cut, hidden without a sign, too wide for a screen that has the room, or too small to read."""
    resize(window, width)
    faults = [f"{width} px: {part} at the top is cut" for part in window.evaluate(OUT)]
    for part in window.evaluate(MEASURE):
        name = f"{width} px: {part['kind']} {part['text']!r}"
        if part["cut"] > 1:
            faults.append(f"{name} is cut by {part['cut']} px")
        if part["hidden"] > 1 and not part["signed"]:
            faults.append(f"{name} hides {part['hidden']} px without a sign")
        if part["hidden"] > 1 and width >= 1280 and part["kind"] != "formula" and part["columns"] <= 84:
            faults.append(f"{name} hides {part['hidden']} px where there is room")
        if part["hidden"] > 24 and width == 390 and part["kind"] in ("figure", "code"):
            faults.append(f"{name} hides {part['hidden']} px of a phone")
        if 12 * part["scale"] < SMALLEST_LETTER - 0.05:
            faults.append(f"{name} has letters of {12 * part['scale']:.1f} px")
    return faults
