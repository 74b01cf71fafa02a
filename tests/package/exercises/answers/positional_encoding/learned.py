"""Answers to the exercises: positions that are learned."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.package.exercises.answers.positional_encoding.sinusoids import rows


class Table(nn.Module):
    """A right answer; the wrong ones below differ in one thing each."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__()
        self.max_len = max_len
        self.P = nn.Parameter(torch.zeros(1, max_len, num_hiddens))

    def rows(self, X: Tensor, offset: int) -> Tensor:
        end = offset + X.shape[1]
        if end > self.max_len:
            raise ValueError("too long")
        return self.P[:, offset:end]

    def forward(self, X: Tensor, offset: int = 0) -> Any:
        return X + self.rows(X, offset)


class Embedding(Table):
    """Right as well: a table of nn.Embedding."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.P
        self.embedding = nn.Embedding(max_len, num_hiddens)

    def rows(self, X: Tensor, offset: int) -> Tensor:
        if offset + X.shape[1] > self.max_len:
            raise ValueError("too long")
        return self.embedding(torch.arange(offset, offset + X.shape[1]))


class Scaled(Table):
    """Right as well: a factor that is not trained."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.scale = nn.Parameter(torch.tensor(2.0), requires_grad=False)

    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.scale * super().rows(X, offset)


class WithDropout(Table):
    """Right as well: like the package's own."""

    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.dropout = nn.Dropout(0.5)

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(super().forward(X, offset))


class Asserts(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        assert offset + X.shape[1] <= self.max_len
        return super().rows(X, offset)


class Fractions(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        steps = torch.arange(offset, offset + X.shape[1]) / X.shape[1]
        return self.P[:, :1] * steps[:, None]


class NoParameter(Table):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        del self.P
        self.P = torch.randn(1, max_len, num_hiddens)


class Detached(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset).detach()


class Unused(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + 0 * self.rows(X, offset)


class MadeAnew(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset) + torch.randn(1, X.shape[1], X.shape[2])


class InPlace(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        X += self.rows(X, offset)
        return X


class PerExample(Table):
    def __init__(self, num_hiddens: int, max_len: int) -> None:
        super().__init__(num_hiddens, max_len)
        self.P = nn.Parameter(torch.randn(2, max_len, num_hiddens))


class Multiplied(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X * self.rows(X, offset)


class OneForAll(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.P[:, :1]


class OneLearnedForAll(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.P[:, :1] + rows()(offset, X.shape[1], X.shape[2]).float()


class TwoAlike(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.P[:, torch.arange(offset, offset + X.shape[1]) // 2]


class NoOffset(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, 0)


class OneTooFar(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return X + self.rows(X, offset + 1 if offset else 0)


class WrapsAround(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.P[:, torch.arange(offset, offset + X.shape[1]) % self.max_len]


class WrapsEarly(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.P[:, torch.arange(offset, offset + X.shape[1]).clamp(max=8 if offset else 99)]


class Fails(Table):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        return self.P[:, offset : offset + X.shape[1]] + 0 * X[:1]


class ReturnsTheRows(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return self.rows(X, offset)


class ReturnsAPair(Table):
    def forward(self, X: Tensor, offset: int = 0) -> Any:
        return X, self.rows(X, offset)


RIGHT: dict[str, list[Any]] = {
    "learnable-positions": [Table, Scaled, Embedding, WithDropout, partial(Table)],
}

WRONG: list[tuple[str, Any, str]] = [
    ("learnable-positions", Table(6, 10), "without parentheses"),
    ("learnable-positions", lambda d, n: torch.zeros(1, n, d), "(nn.Module)"),
    ("learnable-positions", 5, "the function itself"),
    ("learnable-positions", NoParameter, "an nn.Parameter is"),
    ("learnable-positions", Detached, "something cuts the gradient"),
    ("learnable-positions", Unused, "something cuts the gradient"),
    ("learnable-positions", MadeAnew, "make it in __init__"),
    ("learnable-positions", InPlace, "changes the caller's tensor"),
    ("learnable-positions", PerExample, "stand for the batch?"),
    ("learnable-positions", Multiplied, "does it multiply X?"),
    ("learnable-positions", OneForAll, "the same to every position"),
    ("learnable-positions", OneLearnedForAll, "the same to every position"),
    ("learnable-positions", TwoAlike, "not one for all"),
    ("learnable-positions", NoOffset, "offset is not used"),
    ("learnable-positions", OneTooFar, "stands at position offset"),
    ("learnable-positions", WrapsAround, "compare it with max_len"),
    ("learnable-positions", WrapsEarly, "look at the last positions"),
    ("learnable-positions", Fails, "raise ValueError yourself"),
    ("learnable-positions", Asserts, "raise ValueError yourself"),
    ("learnable-positions", Fractions, "in a shorter sequence?"),
    ("learnable-positions", ReturnsTheRows, "return X plus the encodings"),
    ("learnable-positions", ReturnsAPair, "return X plus the encodings"),
]
