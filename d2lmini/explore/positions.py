"""A positional encoding, pair by pair: two columns are the hand of a clock."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from d2lmini.arguments import check_size
from d2lmini.explore.numbers import read_numbers, write
from d2lmini.explore.panel import Choice, Drawing, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_positions"]

_STYLE = "path{stroke-width:2px}.hand{stroke-width:5px}.ahead{stroke:var(--hue2)}.cosine{stroke-dasharray:5 4}"


def explore_positions(P: Tensor, delta: int = 3) -> Panel:
    """Show an encoding of pairs, a sine and a cosine each: choose a pair and a position, see its waves and its hand.

    A second hand stands `delta` positions further on: by how much it is ahead does not depend on the position.

    Chapter: Relative positions.

    Args:
        P: `(positions, columns)`, where columns `2j` and `2j + 1` are sine and cosine of an angle that grows by the
            same number at each position, at most half a turn: such as the first rows of `PositionalEncoding`.
        delta: how many positions further on the second hand stands.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if `P` is not a matrix of at least two rows and an even number of columns, a pair is not sine and
            cosine of such an angle, `delta` is not a positive integer, or the panel would have more than 20 KiB.
    """
    check_size("delta", delta)
    sines, cosines, step = _read_pairs(P)
    count, pairs = sines.shape[1], range(len(step))
    angles = torch.atan2(sines[:, :1], cosines[:, :1]) + step[:, None] * torch.arange(count)  # (pairs, positions)
    parts = [_draw_waves(j, sines[j], cosines[j]) + _draw_hands(j, angles[j], step[j] * delta) for j in pairs]
    drawing = Drawing(90 + 10 * count, 80, _draw_marks(count, delta) + "".join(parts))
    sentences = [(f"a{j}", _say_step(j, step[j].item(), delta)) for j in pairs]
    sentences += [
        (f"a{j} b{i}", f"Position {i}: angle {write(angle, 2)} radians.")
        for j in pairs
        for i, angle in enumerate(angles[j].tolist())
    ]
    columns, positions = [Label(f"{2 * j} and {2 * j + 1}") for j in pairs], [Label(str(i)) for i in range(count)]
    thin = f"The thin one stands {delta} further"
    choices = [
        Choice("a", "Pair of columns: sine (solid) and cosine (dashed)", columns),
        Choice("b", f"Position: the thick hand. {thin}", positions, drawing=drawing),
    ]
    return build_panel("A pair of columns is a hand that turns", choices, sentences, _list(sines, cosines), _STYLE)


def _read_pairs(P: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sines and cosines, `(pairs, positions)`, and by how much the angle grows in one step, `(pairs,)`."""
    rows = read_numbers("P", P, ("positions", "columns"), -1, 1)
    if rows.shape[0] < 2 or rows.shape[1] % 2:
        raise ValueError(f"P must have at least 2 positions and an even number of columns, got {tuple(rows.shape)}")
    pairs = torch.complex(rows[:, 1::2].T.contiguous(), rows[:, 0::2].T.contiguous())  # cosine + i sine
    step = (pairs[:, 1] * pairs[:, 0].conj()).angle()
    turned = pairs[:, :1] * torch.polar(torch.ones(1).double(), step[:, None] * torch.arange(rows.shape[0]))
    error = torch.maximum((turned - pairs).abs(), (pairs.abs() - 1).abs()).amax(dim=1)
    if error.max() > 1e-3:
        where = f"pair {int(error.argmax())} is off by {error.max():.3g}"
        raise ValueError(f"each pair of P must be sine and cosine of an angle that grows steadily, {where}")
    return pairs.imag, pairs.real, step


def _draw_marks(count: int, delta: int) -> str:
    """The rim of the clock, and beside it where the two hands stand on the waves."""
    rim = '<circle cx="40" cy="40" r="34" fill="none" stroke="currentColor" opacity=".3"/>'
    return rim + "".join(
        f'<path class="b{i}{kind}" d="M{10 * x + 90} 0V80"/>'
        for i in range(count)
        for x, kind in ((i, ""), (i + delta, " ahead"))
        if x < count
    )


def _draw_waves(j: int, sine: Tensor, cosine: Tensor) -> str:
    def draw(column: Tensor, kind: str) -> str:
        points = " ".join(f"{10 * i + 90} {write(40 - 34 * y, 1)}" for i, y in enumerate(column.tolist()))
        return f'<path class="a{j} {kind}" d="M{points}"/>'

    return draw(sine, "sine") + draw(cosine, "cosine")


def _draw_hands(j: int, angles: Tensor, ahead: Tensor) -> str:
    """As on a clock: angle 0 is up, and the hand goes round to the right; sine is its x, cosine its y."""

    def draw(i: int, angle: float, kind: str) -> str:
        x, y = write(40 + 32 * math.sin(angle), 1), write(40 - 32 * math.cos(angle), 1)
        return f'<path class="a{j} b{i} {kind}" d="M40 40L{x} {y}"/>'

    return "".join(
        draw(i, angle + ahead.item(), "ahead") + draw(i, angle, "hand") for i, angle in enumerate(angles.tolist())
    )


def _say_step(j: int, step: float, delta: int) -> str:
    turned = f"{write(step)} radians per step, {write(delta * step)} in {delta} steps"
    return f"Pair {j} turns by {turned}, wherever you are. The cosine of that is {write(math.cos(delta * step))}."


def _list(sines: Tensor, cosines: Tensor) -> list[PanelTable]:
    return [
        PanelTable(
            f"Columns {2 * j} and {2 * j + 1}",
            [Label("sine"), Label("cosine")],
            [
                (Label(str(i)), [write(sine), write(cosine)])
                for i, (sine, cosine) in enumerate(zip(sines[j].tolist(), cosines[j].tolist(), strict=True))
            ],
            state=f"a{j}",
            rows_of="b",
        )
        for j in range(len(sines))
    ]
