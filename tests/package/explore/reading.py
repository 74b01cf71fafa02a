"""A panel as a reader without styles meets it, and one of each kind."""

import math
from typing import Any

import torch
from bs4 import BeautifulSoup

import d2lmini as d2l
from d2lmini.explore.panel import Panel

QUARTERS = torch.tensor([[0.0, 1], [1, 0], [0, -1], [-1, 0]])  # a hand that turns by a right angle
LOOP = [((0, 0), (0, 1)), ((1, 0), (1, 1)), ((2, 0), (2, 1)), ((0, 1), (1, 1)), ((1, 1), (2, 1))]
ALL = [((j, 0), (i, 1)) for j in range(3) for i in range(3)]


def read(panel: Panel) -> BeautifulSoup:
    return BeautifulSoup(panel._repr_html_(), "html.parser")


def list_rows(panel: Panel, table: int = 0) -> list[list[str]]:
    rows = read(panel).find_all("table")[table].find_all("tr")
    return [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in rows]


def say(panel: Panel, state: str) -> str:
    """What is said in a state such as "a0 b1", and nowhere else."""
    (sentence,) = (p for p in read(panel).find_all("p") if p.get("class") == state.split())
    return str(sentence.get_text())


def make_all(bit: float = 0.0) -> dict[str, Panel]:
    """One panel of each kind; each number is off by this share of it."""

    def make(*numbers: Any) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.float64) * (1 + bit)

    maps = make([[0.125, 0.875], [1 / 3, 2 / 3]], [[1, 0], [0.5, 0.5]])
    answers = make([[1, 1], [1, 0.125], [0.25, 0]], [[1, 1], [0, 1], [0.25, 0]])
    return {
        "attention": d2l.explore_attention(maps, ["吃", "苹果"], ["one", "two"], lang="zh"),
        "sentences": d2l.explore_sentences(
            make([1.5, 0], [-2, 3]),
            make([2, -1], [0.25, 1]),
            ["吃", "苹果"],
            ["one", "two"],
            ["fruit", "firm"],
            lang="zh",
        ),
        "softmax": d2l.explore_softmax(make([2 * math.log(2), math.log(2), 0, 0]), [0, 1, 2.5], ["one"]),
        "positions": d2l.explore_positions(QUARTERS * (1 + bit), delta=1),
        "paths": d2l.explore_paths({"loop": LOOP, "all": ALL}),
        "pruning": d2l.explore_pruning({"up": [0, 1], "down": [1, 0]}, answers, ["first", "last"], ["who", "where"]),
    }


PANELS = make_all()
