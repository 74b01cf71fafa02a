"""What an output sees, and how far its oldest input has come: networks that mix a sequence, as graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from d2lmini.explore.numbers import check_words
from d2lmini.explore.panel import Choice, Drawing, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_paths"]

Node = tuple[int, int]  # a position, counted from 0, and a level, 0 for the inputs
Edge = tuple[Node, Node]

_HEIGHT = 6
_STYLE = (
    "path{stroke:var(--pale);stroke-width:1px}.seen{stroke:var(--hue);stroke-width:2px}"
    ".way{stroke:var(--hue2);stroke-width:5px}.nodes{stroke:currentColor;stroke-width:7px;stroke-linecap:round}"
    # Side by side where there is room for two.
    "td,th{padding:.1rem .15rem}@media screen{.tables{display:flex;flex-wrap:wrap;column-gap:.75rem}}"
)


@dataclass(frozen=True)
class _Trace:
    """What leads to an output: all connections, the inputs where they begin, and the shortest way from the first."""

    cone: Sequence[Edge]
    inputs: Sequence[int]
    way: Sequence[Node]


def explore_paths(networks: Mapping[str, Sequence[Edge]], start: tuple[int, int] = (0, 0)) -> Panel:
    """Show what each output of a network sees: choose both, see the way from the first input.

    Chapter: CNN, RNN, self-attention.

    Args:
        networks: for each name, the connections of a network. Each is a pair of nodes, from which to which, and a node
            is a pair: its position and its level, both counted from 0. The inputs are level 0, the outputs are the
            highest level of that network. A connection leads upwards, or to the right above the inputs. All networks
            have the same positions.
        start: which network and which output are chosen at first, counted from 0.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if there is no network, a connection is not such a pair of nodes, networks differ in their number of
            positions, nothing has the numbers of `start`, or the panel would have more than 36 KiB.

    >>> panel = d2l.explore_paths({"RNN": [((0, 0), (0, 1)), ((0, 1), (1, 1)), ((1, 0), (1, 1))]})
    """
    graphs = _read_networks(networks)
    count = 1 + max(node[0] for edge in graphs[0] for node in edge)
    traces = [[_trace(edges, (b, _find_top(edges))) for b in range(count)] for edges in graphs]
    names, outputs = [Label(name) for name in networks], [Label(_name("y", b)) for b in range(count)]
    inside = "".join(_draw_network(a, edges, traces[a]) for a, edges in enumerate(graphs))
    drawing = Drawing(2 * count, _HEIGHT + 2, inside)
    sentences = [(f"a{a} b{b}", _say(b, trace)) for a, row in enumerate(traces) for b, trace in enumerate(row)]
    seen = [(name, [str(len(trace.inputs)) for trace in row]) for name, row in zip(names, traces, strict=True)]
    steps = [
        (name, [str(len(t.way) - 1) if t.way else "–" for t in row]) for name, row in zip(names, traces, strict=True)
    ]
    choices = [
        Choice("a", "Network", names),
        Choice("b", "Output: the top row; inputs are the bottom row", outputs, drawing=drawing, columns=True),
    ]
    tables = [PanelTable("Inputs seen", outputs, seen, "", "a"), PanelTable("Steps from x₁", outputs, steps, "", "a")]
    return build_panel("Which inputs an output sees", choices, sentences, tables, _STYLE, start=start)


def _read_networks(networks: Any) -> list[list[Edge]]:
    """The connections of each network, if all have outputs, and the same positions."""
    if not isinstance(networks, Mapping) or not networks:
        raise ValueError(f"networks must be a dictionary of connections, not empty, got {networks!r}")
    check_words("the names of networks", [*networks], len(networks), "networks")
    graphs = {name: _read_edges(name, edges) for name, edges in networks.items()}
    sizes = {name: 1 + max(node[0] for edge in edges for node in edge) for name, edges in graphs.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"all networks must have the same positions, got {sizes}")
    return [*graphs.values()]


def _read_edges(name: str, edges: Any) -> list[Edge]:
    """The connections, if they are pairs of nodes that lead upwards or along a level."""
    wrong = f"the connections of {name!r} must be pairs of nodes (position, level)"
    if isinstance(edges, str) or not isinstance(edges, Sequence) or not edges:
        raise ValueError(f"{wrong}, at least one, got {edges!r}")
    for edge in edges:
        try:
            (start, low), (end, high) = edge
        except (TypeError, ValueError):
            raise ValueError(f"{wrong}, got {edge!r}") from None
        numbers = (start, low, end, high)
        if any(not isinstance(number, int) or isinstance(number, bool) or number < 0 for number in numbers):
            raise ValueError(f"{wrong}, whole numbers from 0 on, got {edge!r}")
        if (low, start) >= (high, end) or high == 0:
            raise ValueError(f"{wrong} that lead upwards, or to the right above the inputs, got {edge!r}")
    return [((start, low), (end, high)) for (start, low), (end, high) in edges]


def _find_top(edges: Sequence[Edge]) -> int:
    return max(end[1] for _, end in edges)


def _trace(edges: Sequence[Edge], output: Node) -> _Trace:
    """Go down from an output, level by level or step by step, so that the first way found to a node is the shortest."""
    ways: dict[Node, list[Node]] = {output: [output]}
    cone: list[Edge] = []
    latest = [output]
    while latest:
        found = [edge for edge in edges if edge[1] in latest]
        cone += found
        latest = []
        for start, end in found:
            if start not in ways:
                ways[start] = [start, *ways[end]]
                latest.append(start)
    return _Trace(cone, sorted(position for position, level in ways if level == 0), ways.get((0, 0), []))


def _draw_network(a: int, edges: Sequence[Edge], traces: Sequence[_Trace]) -> str:
    top = _find_top(edges)
    inside = _draw(edges, f"a{a}", top)
    for b, trace in enumerate(traces):
        inside += _draw(trace.cone, f"a{a} b{b} seen", top) + _draw([*pairwise(trace.way)], f"a{a} b{b} way", top)
    dots = "".join(f"M{_place((x, y), top)}h0" for x in range(len(traces)) for y in range(top + 1))
    return f'{inside}<path class="a{a} nodes" d="{dots}"/>'


def _draw(edges: Sequence[Edge], state: str, top: int) -> str:
    """One path for all connections. Two that end in the same node are one line, through that node: that is shorter."""
    starts: dict[Node, list[Node]] = {}
    for start, end in edges:
        starts.setdefault(end, []).append(start)
    lines = ""
    for end, nodes in starts.items():
        for first, *second in (nodes[i : i + 2] for i in range(0, len(nodes), 2)):
            lines += f"M{_place(first, top)}L" + " ".join(_place(node, top) for node in (end, *second))
    return f'<path class="{state}" d="{lines}"/>' if lines else ""


def _place(node: Node, top: int) -> str:
    """The inputs at the foot, the outputs at the top, however many levels there are."""
    return f"{2 * node[0] + 1} {round(1 + _HEIGHT * (1 - node[1] / top), 1):g}"


def _name(letter: str, position: int) -> str:
    return letter + "".join(chr(0x2080 + int(digit)) for digit in str(position + 1))


def _say(output: int, trace: _Trace) -> str:
    if not trace.inputs:
        return f"{_name('y', output)} sees no input."
    count, steps = len(trace.inputs), len(trace.way) - 1
    first, last = _name("x", trace.inputs[0]), _name("x", trace.inputs[-1])
    way = f"From x₁ it takes {steps} step{'s' * (steps != 1)}." if trace.way else "x₁ does not reach it."
    seen = f"{count} inputs, from {first} to {last}" if count > 1 else f"1 input: {first}"
    return f"{_name('y', output)} sees {seen}. {way}"
