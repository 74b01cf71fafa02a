"""Answers to the exercises: positions that are learned."""

import math
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
        self.register_buffer("P", rows()(0, max_len, 8).to(torch.get_default_dtype()))
        self.scale = nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.project = nn.LazyLinear(num_hiddens)

    def of(self, i: Tensor) -> Tensor:
        return torch.as_tensor(self.project(self.scale * self.get_buffer("P")[i]))


class Unused(Axes):
    def of(self, i: Tensor) -> Tensor:
        return torch.sin(i[:, None] * torch.arange(1, self.blocks.shape[1] + 1) / 7)


class MadeOnce(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.table = super().of(torch.arange(max_len)).detach()

    def of(self, i: Tensor) -> Tensor:
        return self.table[i]


class OneForAll(Axes):
    def of(self, i: Tensor) -> Tensor:
        return torch.sin(i[:, None] * torch.arange(1, self.blocks.shape[1] + 1) / 7) + self.blocks[0]


class Frozen(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.requires_grad_(False)


class InAList(Axes):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.kept = [self.blocks, self.places]
        del self.blocks, self.places

    def of(self, i: Tensor) -> Tensor:
        return self.kept[0][i // self.size] + self.kept[1][i % self.size]


class BlocksOnly(Axes):
    def of(self, i: Tensor) -> Tensor:
        return self.blocks[i // self.size] * (1 + i[:, None] % 2)


class Fractions(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return super().rows(X, offset) * X.shape[1]


class Asserts(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        assert offset + X.shape[1] <= self.max_len
        return super().rows(X, offset)


class Endless(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.of(torch.arange(offset, offset + X.shape[1]) % self.max_len)


def forward(change: Any) -> type[Axes]:
    """The right answer with another last line."""
    return type("Changed", (Axes,), {"forward": lambda self, X, offset=0: change(self, X, offset)})


class Scaled(nn.Module):
    """Two small tables, and one number that scales them: a gradient that needs the parameters themselves."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__()
        self.max_len, self.size = max_len, math.isqrt(max_len) + 1
        self.tables = nn.Parameter(torch.randn(2, self.size, num_hiddens))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        if offset + X.shape[1] > self.max_len:
            raise ValueError
        i = torch.arange(offset, offset + X.shape[1])
        return X + self.scale * (self.tables[0, i // self.size] + self.tables[1, i % self.size])


RIGHT: dict[str, list[Any]] = {"learnable-positions": [Axes, Embeddings, Frequencies, Projected, Scaled]}

_HINTS: list[tuple[Any, str]] = [
    (Axes(6, 100), "without parentheses"),
    (lambda d, n: torch.zeros(1, n, d), "(nn.Module)"),
    (lambda d, n: d2l.LearnedPositionalEncoding(d, 0, n), "positions have to share numbers"),
    (lambda d, n: d2l.PositionalEncoding(d, 0, n), "an nn.Parameter is"),
    (InAList, "what is in a Python list"),
    (Frozen, "frozen: blocks, places"),
    (Unused, "used in forward at all"),
    (MadeOnce, "computed only once"),
    (OneForAll, "the same to these two"),
    (BlocksOnly, "which positions share one?"),
    (Fractions, "however long the sequence is"),
    (Asserts, "raise ValueError yourself"),
    (Endless, "compare it with max_len"),
    (forward(lambda self, X, offset: X.add_(self.rows(X, offset).detach())), "changes the caller's tensor"),
    (forward(lambda self, X, offset: self.rows(X, offset)), "return X plus the encodings"),
    (forward(lambda self, X, offset: X * self.rows(X, offset)), "used in forward at all"),
    (forward(lambda self, X, offset: X.relu() + self.rows(X, offset)), "does it multiply X?"),
    (forward(lambda self, X, offset: X + self.rows(X, 0)), "start is not used"),
    (forward(lambda self, X, offset: X + self.of(torch.arange(offset, offset + len(X))).mT), "run it yourself"),
    (forward(lambda self, X, offset: X + self.rows(X, offset) + torch.rand(X.shape)), "make it in __init__"),
]
WRONG: list[tuple[str, Any, str]] = [("learnable-positions", *wrong) for wrong in _HINTS]
