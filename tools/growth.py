"""How far two instruction sets drift apart in one training: `python -m tools.growth` writes it into its page.

A small translator is trained four times, in float32 and float64, at a constant and at a falling rate, each time twice,
on two instruction sets of this processor. What is written is the largest difference of any weight, step by step.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import d2lmini as d2l
from tools import ROOT

PAGE, FIGURES = ROOT / "book/same-numbers.md", ROOT / "book/_static"
STEPS, EVERY, RATE, LETTERS = 250, 10, 3e-3, 20
SEEDS, SHOWN = range(6), 4  # the one in the middle is drawn
SETS = ({"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}, {"ATEN_CPU_CAPABILITY": "avx2"})
KINDS = [(dtype, falls) for dtype in ("float32", "float64") for falls in (False, True)]


class Translator(nn.Module):
    """An encoder and a decoder of one block each."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (LETTERS + 2, 64, 128, 1, 1, 0.0)
        self.encoder = d2l.TransformerEncoder(*sizes, norm_first=True)
        self.decoder = d2l.TransformerDecoder(*sizes, norm_first=True)

    def forward(self, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Logits `(batch, steps, letters + 2)` for the letters of `source`, backwards, without their case."""
        return self.decoder(inputs, self.encoder(source))


def train(dtype: str, falls: bool, seed: int) -> list[list[float]]:
    """All weights after every tenth step of a training."""
    torch.set_default_dtype(getattr(torch, dtype))
    torch.manual_seed(seed)
    model, kept = Translator(), []
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            kept.append(torch.cat([p.detach().flatten() for p in model.parameters()]).tolist())
        adam.param_groups[0]["lr"] = RATE * (1 - step / STEPS if falls else 1)
        source = torch.randint(LETTERS, (64, 10))
        labels = F.pad(source.flip(1) % 10, (0, 1), value=LETTERS + 1)  # ends with a sign of its own
        inputs = F.pad(labels, (1, 0), value=LETTERS)[:, :-1]
        loss = F.cross_entropy(model(source, inputs).flatten(0, 1), labels.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    return kept


def run(dtype: str, falls: bool, seed: int, settings: dict[str, str]) -> torch.Tensor:
    """The weights `(times, weights)` of a training in a process with these settings."""
    code = f"import json; from tools.growth import train; print(json.dumps(train({dtype!r}, {falls}, {seed})))"
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | settings
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    return torch.tensor(json.loads(done.stdout), dtype=torch.float64)


def compare(dtype: str, falls: bool) -> torch.Tensor:
    """The largest difference of any weight between the two instruction sets, `(seeds, times)`."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(dtype, falls, seed, settings) for seed in SEEDS for settings in SETS]
        found = list(pool.map(lambda job: run(*job), jobs))
    return torch.stack([(one - other).abs().amax(dim=1) for one, other in zip(found[::2], found[1::2], strict=True)])


def draw_rounding() -> None:
    """What three decimals print of a number in the middle between two: either, by a difference of 1e-16."""
    middle = 0.8125
    d2l.plot(
        [[0.8115, middle], [middle, 0.8135], [middle], [middle]],
        [[0.812] * 2, [0.813] * 2, [0.812], [0.813]],
        "what was computed",
        "what is printed",
        fmts=["C0-", "C0-", "C1o", "C1o"],
        figsize=(4.5, 2.2),
    )
    plt.gca().set_xticks([0.8115, 0.812, middle, 0.813, 0.8135], ["0.8115", "0.8120", "0.8125", "0.8130", "0.8135"])
    plt.gca().set_yticks([0.812, 0.813], ["0.812", "0.813"])
    plt.savefig(FIGURES / "rounding.svg", metadata={"Date": None})
    plt.close()


def main() -> None:
    """Train, compare, draw, and write the table of the page."""
    draw_rounding()
    names = [f"{dtype}, {'falling' if falls else 'constant'} rate" for dtype, falls in KINDS]
    gaps = torch.stack([compare(*kind) for kind in KINDS])  # (kinds, seeds, times)
    lines = gaps[:, SHOWN, 1:]  # before the first step there is hardly a difference
    d2l.plot(
        torch.arange(EVERY, STEPS + 1, EVERY),
        lines,
        "step",
        "largest difference of a weight",
        names,
        yscale="log",
        figsize=(4.5, 3.2),
    )
    plt.savefig(FIGURES / "same-numbers.svg", metadata={"Date": None})
    plt.close()
    rows = ["| training | step 10 | step 100 | step 250 | six seeds, step 250 |", "|---|--:|--:|--:|--:|"]
    for name, seeds in zip(names, gaps, strict=True):
        told = [f"{seeds[SHOWN, step // EVERY]:.0e}" for step in (10, 100, STEPS)]
        row = f"{' | '.join(told)} | {seeds[:, -1].min():.0e} to {seeds[:, -1].max():.0e} |"
        rows.append(f"| {name} | " + row.replace("-", "\N{MINUS SIGN}"))
    place = re.compile(r"(<!-- growth -->\n).*?(\n<!-- end -->)", re.DOTALL)
    PAGE.write_text(place.sub("\\g<1>" + "\n".join(rows) + "\\2", PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
