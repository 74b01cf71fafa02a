"""Answers to the exercise on learned positions: what is added, where, and up to which end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.exercises.answers.positional_encoding.learned import Axes, LowRank
from tests.exercises.answers.positional_encoding.sinusoids import rows


class Asserts(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        assert offset + X.shape[1] <= self.max_len
        return super().rows(X, offset)


class Fractions(Axes):
    def rows(self, X: Tensor, offset: int) -> Tensor:
        steps = torch.arange(offset, offset + X.shape[1]) / X.shape[1]
        return super().rows(X, offset) + self.blocks[0] * steps[:, None]


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


class ReturnsTheRows(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        return self.rows(X, offset)


class ReturnsAPair(Axes):
    def forward(self, X: Tensor, offset: int = 0) -> Any:
        return X, self.rows(X, offset)


RIGHT: dict[str, list[Any]] = {}

WRONG: list[tuple[str, Any, str]] = [
    ("learnable-positions", TwelveByThirteen, "that still fits"),
    ("learnable-positions", ClampedTokens, "large entries of X"),
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
