"""Measure, remember, and write the page: `python -m tools.bench`; `--device cuda` fills the column of a GPU."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict

import torch

from tools.bench.measure import Row, compare_decoding, compare_layers, compare_long, compare_peaks, compare_positions
from tools.bench.page import PAGE, RESULTS, draw, fill, read_results

PARTS: dict[str, Callable[[str], Iterator[Row]]] = {
    "layers": compare_layers,
    "positions": compare_positions,
    "decoding": compare_decoding,
    "memory": compare_peaks,
    "long": compare_long(0),
    "room": compare_long(1),
}


def main() -> None:
    """Measure the parts that are named, all without a name, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all without a name")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where the package computes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = options.device
    machine = torch.cuda.get_device_name() if device == "cuda" else f"one core, {platform.machine()}"
    for part in options.parts or ([*PARTS] if device == "cpu" else ["layers", "positions", "decoding"]):
        rows = []
        for row in PARTS[part](device):
            print(f"{row.what}: {row.ours:.2f} and {row.theirs:.2f} {row.unit}", flush=True)
            rows.append(asdict(row))
        results = read_results()
        version = torch.__version__.partition("+")[0]
        results.setdefault(part, {})[device] = {"machine": machine, "torch": version, "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    results = read_results()
    PAGE.write_text(fill(PAGE.read_text("utf-8"), results), "utf-8")
    draw(results)


if __name__ == "__main__":
    main()
