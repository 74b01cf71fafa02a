"""Measure, remember, and write the page: `python -m tools.bench`; `--device cuda` fills the column of a GPU."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict

import torch

from tools.bench.decoding import compare_decoding
from tools.bench.layers import compare_layers, compare_positions
from tools.bench.memory import compare_peaks
from tools.bench.page import RESULTS, read_results, write_page
from tools.bench.timing import Row

PARTS: dict[str, Callable[[str], Iterator[Row]]] = {
    "layers": compare_layers,
    "positions": compare_positions,
    "decoding": compare_decoding,
    "memory": lambda _: compare_peaks(),
}


def name_machine(device: str) -> str:
    """What computed, for the head of the table."""
    return torch.cuda.get_device_name() if device == "cuda" else f"one core, {platform.machine()}"


def main() -> None:
    """Measure the parts that are named, all without a name, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all without a name")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where the package computes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    on_gpu = ("layers", "positions", "decoding")
    for part in options.parts or (PARTS if options.device == "cpu" else on_gpu):
        rows = []
        for row in PARTS[part](options.device):
            print(f"{row.what}: {row.ours:.2f} and {row.theirs:.2f} {row.unit}, ratio {row.ratio:.2f}", flush=True)
            rows.append(asdict(row))
        results = read_results()
        results.setdefault(part, {})[options.device] = {
            "machine": name_machine(options.device), "torch": torch.__version__.partition("+")[0], "rows": rows,
        }  # fmt: skip
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    write_page(read_results())


if __name__ == "__main__":
    main()
