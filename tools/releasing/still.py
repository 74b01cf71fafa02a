"""README's picture, `python -m tools.releasing.still`: the numbers that SmolLM2 has of 200 tokens, and one of them."""

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from PIL import Image

import d2lmini as d2l
from d2lmini.figures.plot import use_svg_display
from tools import ROOT

PICTURE = ROOT / "book/_static/one-number.png"
BEFORE = (11, 12)  # blocks: it is born in one step


@torch.no_grad()
def read_stream(tokens: int = 200) -> list[torch.Tensor]:
    """What each block of `BEFORE` reads of the first text of the book, `(tokens, 576)`, without signs."""
    model, tokenizer = d2l.load_smollm2()
    X = model.embed(torch.tensor([tokenizer.encode(d2l.load_texts()[0]).ids[:tokens]]))  # (1, tokens, 576)
    seen = []
    for i, block in enumerate(model.blks):
        if i in BEFORE:
            seen.append(X[0].abs())
        X = block(X)[0]
    return seen


def draw_stream(seen: list[torch.Tensor]) -> None:
    """A pixel for each number, on one scale; the largest is drawn larger where it stands out."""
    use_svg_display()
    most = max(float(numbers.max()) for numbers in seen)
    _, panels = plt.subplots(1, len(seen), figsize=(9.6, 2.5))
    for panel, block, numbers in zip(panels, BEFORE, seen, strict=True):
        panel.imshow(numbers, cmap="inferno", vmin=0, vmax=most / 8, interpolation="nearest", aspect="auto")
        panel.set(title=f"before block {block}", xticks=[], yticks=[], ylim=(len(numbers), -16), facecolor="black")
        panel.grid(visible=False)
        panel.spines[:].set_visible(False)
        row, column = divmod(int(numbers.argmax()), numbers.shape[1])
        if numbers.max() > most / 2:
            panel.plot(column, row, "s", markersize=2.5, color="#fcffa4")
            panel.plot(column, row, "o", markersize=12, markerfacecolor="none", markeredgecolor="#ff9d57")
            said = f"one number is {float(numbers.max()):,.0f}"
            panel.annotate(said, (column, row), (-12, -18), textcoords="offset points", color="#ff9d57", ha="right")
    panels[0].set_ylabel("200 tokens")
    panels[0].set_xlabel("576 numbers of each")


def save_picture(path: Path) -> None:
    """Store what was drawn, in few colours."""
    plt.savefig(path, dpi=150)
    plt.close()
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    draw_stream(read_stream())
    save_picture(PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}, {PICTURE.stat().st_size / 1024:.0f} KB")
