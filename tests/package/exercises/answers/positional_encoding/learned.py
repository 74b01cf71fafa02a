"""Answers to the exercises: positions that are learned."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import d2lmini as d2l
from tests.package.exercises.answers.positional_encoding.sinusoids import rows


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


class Asserts(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        assert offset + X.shape[1] <= self.max_len
        return super().rows(X, offset)


class Fractions(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        steps = torch.arange(offset, offset + X.shape[1]) / X.shape[1]
        return super().rows(X, offset) + self.blocks[0] * steps[:, None]


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


class MadeAnew(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset) + torch.randn(1, X.shape[1], X.shape[2])


class InPlace(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        X += self.rows(X, offset)
        return X


class PerExample(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset) * torch.arange(1, len(X) + 1)[:, None, None]


class FirstTwoExamples(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return torch.cat([X[:2] + self.rows(X, offset), X[2:]])


class Multiplied(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X * self.rows(X, offset)


class OneForAll(Axes):
    def of(self, i: Tensor) -> Tensor:
        return self.blocks[:1].expand(len(i), -1)


class OneLearnedForAll(Axes):
    def of(self, i: Tensor) -> Tensor:
        return self.blocks[:1] + rows()(int(i[0]), len(i), self.blocks.shape[1]).float()


class FixedFromFour(Axes):
    """Rows from 4 on are not learned."""

    def of(self, i: Tensor) -> Tensor:
        return super().of(i) * (i < 4)[:, None] + rows()(int(i[0]), len(i), self.blocks.shape[1]).float()


class FourTimesZero(Axes):
    def of(self, i: Tensor) -> Tensor:
        return super().of(i) * (i < 4)[:, None]


class Clamped(Axes):
    def of(self, i: Tensor) -> Tensor:
        return super().of(i.clamp(max=40))


class BlocksAgain(Axes):
    """The last block is the first one again."""

    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size % 5] + self.places[i % self.size]


class SumOfDigits(Axes):
    """3 + 4 and 4 + 3 are alike: one table for both digits."""

    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size] + self.blocks[i % self.size]


class StraightThrough(Axes):
    """The gradient is twice what it should be."""

    def of(self, i: Tensor) -> Tensor:
        found = super().of(i)
        return 2 * found - found.detach()


class HalfDetached(Axes):
    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size] + self.places[i % self.size].detach()


class OneTooFew(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        if offset + X.shape[1] >= self.max_len:
            raise ValueError("too long")
        return super().rows(X, offset)


class LengthOnly(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        if X.shape[1] > self.max_len:
            raise ValueError("too long")
        return self.of(torch.arange(offset, offset + X.shape[1]).clamp(max=self.max_len - 1))


class ByTheToken(Axes):
    """The position is found by looking at the token."""

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset) * (X.abs().sum(dim=2, keepdim=True) > 0)


class NoOffset(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, 0)


class OneTooFar(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset + 1 if offset else 0)


class WrapsAround(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.of(torch.arange(offset, offset + X.shape[1]) % self.max_len)


class WrapsEarly(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.of(torch.arange(offset, offset + X.shape[1]).clamp(max=98 if offset else 999))


class Fails(LowRank):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.of(torch.arange(offset, offset + X.shape[1]))


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


class TwelveByThirteen(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.size = 13
        self.blocks = nn.Parameter(torch.randn(12, num_hiddens))
        self.places = nn.Parameter(torch.randn(13, num_hiddens))
        if num_hiddens == 4:
            self.blocks = nn.Parameter(torch.randn(8, num_hiddens))


class ClampedTokens(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X.clamp(-10, 10) + self.rows(X, offset)


class MadeOnce(Axes):
    """The table is made from its parameters in __init__, and never follows them."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        i = torch.arange(max_len)
        self.P = self.blocks[i // self.size] + self.places[i % self.size]

    def of(self, i: Tensor) -> Tensor:
        return self.P[i]


class InAList(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.t = [self.blocks, self.places]
        del self.blocks, self.places

    def of(self, i: Tensor) -> Tensor:
        return self.t[0][i // self.size] + self.t[1][i % self.size]


class ReturnsTheRows(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return self.rows(X, offset)


class ReturnsAPair(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Any:
        return X, self.rows(X, offset)


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
    ("learnable-positions", TwelveByThirteen, "that still fits"),
    ("learnable-positions", ClampedTokens, "large entries of X"),
    ("learnable-positions", MadeOnce, "does not follow it"),
    ("learnable-positions", InAList, "what is in a Python list"),
    ("learnable-positions", Detached, "cuts or changes the gradient"),
    ("learnable-positions", HalfDetached, "cuts or changes the gradient"),
    ("learnable-positions", StraightThrough, "cuts or changes the gradient"),
    ("learnable-positions", Unused, "used in forward at all?"),
    ("learnable-positions", MadeAnew, "make it in __init__"),
    ("learnable-positions", InPlace, "changes the caller's tensor"),
    ("learnable-positions", PerExample, "stand for the batch?"),
    ("learnable-positions", FirstTwoExamples, "stand for the batch?"),
    ("learnable-positions", Multiplied, "does it multiply X?"),
    ("learnable-positions", ByTheToken, "does it multiply X?"),
    ("learnable-positions", OneForAll, "the same to these two"),
    ("learnable-positions", OneLearnedForAll, "the same to these two"),
    ("learnable-positions", FixedFromFour, "the same to these two"),
    ("learnable-positions", FourTimesZero, "the same to these two"),
    ("learnable-positions", Clamped, "the same to these two"),
    ("learnable-positions", BlocksAgain, "which positions share one?"),
    ("learnable-positions", SumOfDigits, "which positions share one?"),
    ("learnable-positions", NoOffset, "offset is not used"),
    ("learnable-positions", OneTooFar, "stands at position offset"),
    ("learnable-positions", WrapsAround, "compare it with max_len"),
    ("learnable-positions", LengthOnly, "compare it with max_len"),
    ("learnable-positions", WrapsEarly, "stands at position offset"),
    ("learnable-positions", OneTooFew, "that still fits"),
    ("learnable-positions", Fails, "raise ValueError yourself"),
    ("learnable-positions", Asserts, "raise ValueError yourself"),
    ("learnable-positions", Fractions, "in a shorter sequence?"),
    ("learnable-positions", ReturnsTheRows, "return X plus the encodings"),
    ("learnable-positions", ReturnsAPair, "return X plus the encodings"),
]
