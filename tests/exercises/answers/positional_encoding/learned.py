"""Answers to the exercises: positions that are learned."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import d2lmini as d2l
from tests.exercises.answers.positional_encoding.sinusoids import rows


class Axes(nn.Module):
    """A right answer, a table for blocks and one for places in a block; the wrong ones below differ in one thing."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__()
        self.max_len, self.size = max_len, math.isqrt(max_len) + 1
        self.blocks = nn.Parameter(torch.randn(self.size, num_hiddens))
        self.places = nn.Parameter(torch.randn(self.size, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size] + self.places[i % self.size]

    def rows(self, X: Tensor, offset: int) -> Tensor:
        end = offset + X.shape[1]
        if end > self.max_len:
            raise ValueError("too long")
        return self.of(torch.arange(offset, end))

    def forward(self, X: Tensor, offset: int = 0) -> Any:
        return X + self.rows(X, offset)


class FromZero(Axes):
    """Right: tables that begin at 0, and an index that is kept as a parameter."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        nn.init.zeros_(self.blocks)
        nn.init.zeros_(self.places)
        self.index = nn.Parameter(torch.arange(max_len), requires_grad=False)

    def of(self, i: Tensor) -> Tensor:
        return super().of(self.index[i])


class Embeddings(Axes):
    """Right: the tables are of nn.Embedding, and a sequence more goes into the next block."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.blocks, self.places
        self.tables = nn.ModuleList(nn.Embedding(self.size, num_hiddens) for _ in range(2))

    def of(self, i: Tensor) -> Tensor:
        found = self.tables[0](i // self.size) + self.tables[1](i % self.size)
        return torch.as_tensor(found)


class Frequencies(Axes):
    """Right: sinusoids that learn how fast they are."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.blocks, self.places
        self.log_omega = nn.Parameter(-math.log(10000) * torch.arange(0, num_hiddens, 2) / num_hiddens)

    def of(self, i: Tensor) -> Tensor:
        angles = i[:, None] * self.log_omega.exp()
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Projected(Axes):
    """Right: fixed sinusoids, a frozen factor, and a matrix of a lazy layer."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.blocks, self.places
        self.register_buffer("P", rows()(0, max_len, 8).float())
        self.scale = nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.project = nn.LazyLinear(num_hiddens)

    def of(self, i: Tensor) -> Tensor:
        return torch.as_tensor(self.project(self.scale * self.get_buffer("P")[i]))


class LowRank(Axes):
    """Right: few directions, fixed and different for each position, and what they mean is learned."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.register_buffer("codes", torch.randn(max_len, 5))
        del self.blocks, self.places
        self.meaning = nn.Parameter(torch.randn(5, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return self.get_buffer("codes")[i] @ self.meaning


class Double(Axes):
    """Right: in double precision."""

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X.double() + self.rows(X, offset)


class WithDropout(Axes):
    """Right as well: like the package's own."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.dropout = nn.Dropout(0.5)

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(super().forward(X, offset))


class Table(Axes):
    """Too many numbers: a row for each position."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.blocks, self.places
        self.P = nn.Parameter(torch.randn(max_len, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return self.P[i]


class HalfATable(Table):
    """Two positions share a row, and half of the numbers are still too many."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.P = nn.Parameter(torch.randn(max_len // 2, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return self.P[i // 2]


class NoParameter(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.blocks, self.places
        self.blocks, self.places = torch.randn(2, self.size, num_hiddens).unbind()


class Detached(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset).detach()


class Unused(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + 0 * self.rows(X, offset)


class StraightThrough(Axes):
    """The gradient is twice what it should be."""

    def of(self, i: Tensor) -> Tensor:
        found = super().of(i)
        return 2 * found - found.detach()


class HalfDetached(Axes):
    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size] + self.places[i % self.size].detach()


class SquareLinear(Frequencies):
    """A matrix (d, d) on sinusoids: at a large width, more numbers than a quarter of a table."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.log_omega
        self.register_buffer("P", rows()(0, max_len, num_hiddens).float())
        self.project = nn.Linear(num_hiddens, num_hiddens)

    def of(self, i: Tensor) -> Tensor:
        return torch.as_tensor(self.project(self.get_buffer("P")[i]))


class RankOne(Frequencies):
    """A number for each position: at a small width, more than a quarter of a table."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.log_omega
        self.a, self.b = nn.Parameter(10.0 * torch.arange(max_len)[:, None]), nn.Parameter(torch.randn(1, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return self.a[i] @ self.b


class MadeOnce(Axes):
    """The table is made from its parameters in __init__, and never follows them."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        i = torch.arange(max_len)
        self.P = self.blocks[i // self.size] + self.places[i % self.size]

    def of(self, i: Tensor) -> Tensor:
        return self.P[i]


class Frozen(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.requires_grad_(False)


class Quarter(Frequencies):
    """A quarter of the features is learned, the rest is frozen: at a small width, a quarter is nothing."""

    def __init__(self, num_hiddens: int, max_len: int, least: int = 0) -> None:
        super().__init__(num_hiddens, max_len)
        del self.log_omega
        few = max(least, num_hiddens // 4)
        self.P = nn.Parameter(torch.randn(max_len, few))
        self.register_buffer("rest", torch.randn(max_len, num_hiddens - few))

    def of(self, i: Tensor) -> Tensor:
        return torch.cat([self.P[i], self.get_buffer("rest")[i]], 1)


class Perceptron(Frequencies):
    """Right: a small network of i / max_len."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.log_omega
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, num_hiddens))

    def of(self, i: Tensor) -> Tensor:
        return torch.as_tensor(self.net(i[:, None] / self.max_len * 6 - 3))


class InAList(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.t = [self.blocks, self.places]
        del self.blocks, self.places

    def of(self, i: Tensor) -> Tensor:
        return self.t[0][i // self.size] + self.t[1][i % self.size]


RIGHT: dict[str, list[Any]] = {
    "learnable-positions": [
        Axes,
        FromZero,
        Embeddings,
        Frequencies,
        Projected,
        LowRank,
        WithDropout,
        Double,
        Perceptron,
        partial(Axes),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("learnable-positions", Axes(6, 100), "without parentheses"),
    ("learnable-positions", lambda d, n: torch.zeros(1, n, d), "(nn.Module)"),
    ("learnable-positions", 5, "the function itself"),
    ("learnable-positions", Table, "positions have to share numbers"),
    ("learnable-positions", HalfATable, "positions have to share numbers"),
    ("learnable-positions", lambda d, n: d2l.LearnedPositionalEncoding(d, 0, n), "positions have to share numbers"),
    ("learnable-positions", lambda d, n: d2l.PositionalEncoding(d, 0, n), "an nn.Parameter is"),
    ("learnable-positions", NoParameter, "an nn.Parameter is"),
    ("learnable-positions", SquareLinear, "positions have to share numbers"),
    ("learnable-positions", RankOne, "positions have to share numbers"),
    ("learnable-positions", MadeOnce, "does not follow it"),
    ("learnable-positions", Frozen, "frozen: blocks, places"),
    ("learnable-positions", Quarter, "empty at this width"),
    ("learnable-positions", partial(Quarter, least=1), "positions have to share numbers"),
    ("learnable-positions", InAList, "what is in a Python list"),
    ("learnable-positions", Detached, "cuts or changes the gradient"),
    ("learnable-positions", HalfDetached, "cuts or changes the gradient"),
    ("learnable-positions", StraightThrough, "cuts or changes the gradient"),
    ("learnable-positions", Unused, "used in forward at all?"),
]
