"""A positional encoding, pair by pair: two columns are the hand of a clock."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from d2lmini.checks import check_size
from d2lmini.explore.numbers import read_numbers, write, write_plain
from d2lmini.explore.panel import Choice, Drawing, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_positions"]

_STYLE = (
    "path{stroke-width:2px;--at:(var(--i) + var(--more,0))}.cosine{stroke-dasharray:5 4}"
    "div:has(>svg){margin-top:.6rem}td,th{padding:0 .5rem}.line{transform:translateX(calc(10px*var(--at)))}"
    ".hand{stroke-width:7px;transform-origin:40px 40px;transform:rotate(calc(var(--start) + var(--at)*var(--turn)))}"
    ".ahead{stroke:var(--hue2)}.hand.ahead{stroke-width:3px}"
    ".dots{stroke-width:6px;stroke-linecap:round}.axis{stroke:currentColor;stroke-width:1px}"
    "text{font-size:7px;text-anchor:middle;fill:currentColor}"
)
_LEFT, _MIDDLE, _HEIGHT, _FOOT = 90, 40, 34, 80  # where the waves begin, their zero and height, and their axis


def explore_positions(P: Tensor, delta: int = 3) -> Panel:
    """Show an encoding of pairs, a sine and a cosine each: choose a pair and a position, see its waves and its hand.

    A second hand, thin and longer, stands `delta` positions further on: by how much it is ahead does not depend on the
    position. The waves are drawn as far as it gets, with a dot at each row of `P`.

    Chapter: How to tell a distance.

    Args:
        P: `(positions, columns)`, where columns `2j` and `2j + 1` are sine and cosine of an angle that grows by the
            same number at each position, at most half a turn: such as the first rows of `PositionalEncoding`.
        delta: how many positions further on the second hand stands.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if `P` is not a matrix of at least two rows and an even number of columns, a pair is not sine and
            cosine of such an angle, `delta` is not a positive integer, or the panel would have more than 36 KiB.

    >>> panel = d2l.explore_positions(d2l.PositionalEncoding(8, 0).P[0, :8])
    """
    check_size("delta", delta)
    sines, cosines, step = _read_pairs(P)
    count, pairs = sines.shape[1], range(len(step))
    angles = torch.atan2(sines[:, :1], cosines[:, :1]) + step[:, None] * torch.arange(
        count, device=step.device
    )  # (pairs, positions)
    starts, turns, length = angles[:, 0].tolist(), step.tolist(), count - 1 + delta
    waves = [_draw_waves(j, starts[j], turns[j], length) + _draw_dots(j, sines[j], cosines[j]) for j in pairs]
    drawing = Drawing(_LEFT + 10 * length + 6, _FOOT + 13, "".join([_draw_axis(length), *waves, _draw_hands(delta)]))
    sentences = [(f"a{j}", _say_step(j, turns[j], delta)) for j in pairs]
    sentences += [
        (f"a{j} b{i}", _say_angle(i, angle, turns[j], delta))
        for j in pairs
        for i, angle in enumerate(angles[j].tolist())
    ]
    play = ("clock", {"turns": [float(write_plain(turn, 5)) for turn in turns], "positions": count})
    choices = [_choose_pair(starts, turns), _choose_position(count, delta, drawing)]
    return build_panel(
        "A pair of columns is a hand that turns", choices, sentences, _list(sines, cosines), _STYLE, play=play
    )


def _choose_pair(starts: Sequence[float], turns: Sequence[float]) -> Choice:
    names = [Label(_name(j)) for j in range(len(turns))]
    clocks = [
        f"--start:{write_plain(start, 5)}rad;--turn:{write_plain(turn, 5)}rad"
        for start, turn in zip(starts, turns, strict=True)
    ]
    return Choice("a", "Pair of columns: sine (solid) and cosine (dashed)", names, clocks)


def _choose_position(count: int, delta: int, drawing: Drawing) -> Choice:
    legend = f"Position: the thick hand. The thin one stands {delta} further"
    positions = [Label(str(i)) for i in range(count)]
    places = [f"--i:{i}" for i in range(count)]
    return Choice("b", legend, positions, places, drawing)


def _read_pairs(P: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sines and cosines, `(pairs, positions)`, and by how much the angle grows in one step, `(pairs,)`."""
    rows = read_numbers("P", P, ("positions", "columns"), -1, 1)
    if rows.shape[0] < 2 or rows.shape[1] % 2:
        raise ValueError(f"P must have at least 2 positions and an even number of columns, got {tuple(rows.shape)}")
    pairs = torch.complex(rows[:, 1::2].T.contiguous(), rows[:, 0::2].T.contiguous())  # cosine + i sine
    step = (pairs[:, 1] * pairs[:, 0].conj()).angle()
    turned = pairs[:, :1] * torch.polar(
        rows.new_ones(1).double(), step[:, None] * torch.arange(rows.shape[0], device=rows.device)
    )
    error = torch.maximum((turned - pairs).abs(), (pairs.abs() - 1).abs()).amax(dim=1)
    if error.max() > 1e-3:
        where = f"pair {int(error.argmax())} is off by {error.max():.3g}"
        raise ValueError(f"each pair of P must be sine and cosine of an angle that grows steadily, {where}")
    return pairs.imag, pairs.real, step


def _draw_axis(length: int) -> str:
    """The positions below the waves, each with its number."""
    ticks = f"M{_LEFT} {_FOOT}h{10 * length}" + "".join(f"M{_LEFT + 10 * x} {_FOOT}v3" for x in range(length + 1))
    numbers = "".join(f'<text x="{_LEFT + 10 * x}" y="{_FOOT + 11}">{x}</text>' for x in range(length + 1))
    return f'<path class="axis" d="{ticks}"/>{numbers}'


def _draw_waves(j: int, start: float, turn: float, length: int) -> str:
    """Sine and cosine, in pieces of a radian at most, each with the right place and slope at both ends."""
    pieces = max(1, math.ceil(abs(turn) * length - 0.01))
    size = length / pieces

    def draw(first: float, state: str) -> str:
        way = ""
        for k in range(pieces + 1):
            x, angle = _LEFT + 10 * size * k, first + turn * size * k
            y, run, rise = _find_height(math.sin(angle)), 10 * size / 3, _HEIGHT * math.cos(angle) * turn * size / 3
            before, here, after = _write_point(x - run, y + rise), _write_point(x, y), _write_point(x + run, y - rise)
            way += f"{'S' * (k > 1)}{before} {here}" if k else f"M{here}C{after} "
        return f'<path class="{state}" d="{way}"/>'

    return draw(start, f"a{j}") + draw(start + math.pi / 2, f"a{j} cosine")


def _draw_dots(j: int, *columns: Tensor) -> str:
    """A line of no length, which has round ends, for each number of the pair."""
    places = "".join(
        f"M{_write_point(_LEFT + 10 * i, _find_height(y))}h0"
        for column in columns
        for i, y in enumerate(column.tolist())
    )
    return f'<path class="a{j} dots" d="{places}"/>'


def _draw_hands(delta: int) -> str:
    """Two lines at position 0, and two hands at angle 0, as on a clock: the style sheet takes them where they belong.

    A hand that is ahead is longer and lies above the other, so that it is seen where both stand at the same place.
    """
    rim = '<circle cx="40" cy="40" r="34" fill="none" stroke="currentColor" opacity=".3"/>'
    ahead = f'ahead" style="--more:{delta}'
    return rim + "".join(
        f'<path class="{kind}" d="{way}"/>'
        for kind, way in (
            ("line", f"M{_LEFT} 4V{_FOOT}"),
            (f"line {ahead}", f"M{_LEFT} 4V{_FOOT}"),
            ("hand", "M40 40V18"),
            (f"hand {ahead}", "M40 40V7"),
        )
    )


def _find_height(value: float) -> float:
    return _MIDDLE - _HEIGHT * value


def _write_point(x: float, y: float) -> str:
    return f"{write_plain(x, 1)} {write_plain(y, 1)}"


def _name(j: int) -> str:
    return f"Clock {j}"


def _say_angle(i: int, angle: float, turn: float, delta: int) -> str:
    return f"Position {i}: angle {write(angle)} radians; {delta} further: {write(angle + delta * turn)}."


def _say_step(j: int, step: float, delta: int) -> str:
    turned = f"{write(step)} radians per step, {write(delta * step)} in {delta} steps"
    return f"{_name(j)} turns by {turned}, wherever you are. The cosine of that is {write(math.cos(delta * step))}."


def _list(sines: Tensor, cosines: Tensor) -> list[PanelTable]:
    return [
        PanelTable(
            _name(j),
            [Label(f"column {2 * j}, sine"), Label(f"column {2 * j + 1}, cosine")],
            [
                (Label(str(i)), [write(sine), write(cosine)])
                for i, (sine, cosine) in enumerate(zip(sines[j].tolist(), cosines[j].tolist(), strict=True))
            ],
            state=f"a{j}",
            rows_of="b",
        )
        for j in range(len(sines))
    ]
