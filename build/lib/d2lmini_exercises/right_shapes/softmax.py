"""A test of a masked softmax, judged by mutants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.core import checker
from d2lmini_exercises.right_shapes.judging import Note, Subject, disguise, judge

Softmax = Callable[[Tensor, Tensor], Tensor]


def _exponentiate(scores: Tensor, mask: Tensor) -> Tensor:
    """By hand, in the dtype of the scores."""
    seen = scores.masked_fill(~mask, -math.inf)
    top = seen.amax(dim=-1, keepdim=True).nan_to_num(neginf=0.0)
    powers = (seen - top).exp()
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-6)


def _fill(scores: Tensor, mask: Tensor, number: float = -math.inf, dim: int = -1) -> Tensor:
    return torch.where(mask, scores, number).softmax(dim=dim)


def _renormalise(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(dim=-1) * mask
    return (weights / weights.sum(dim=-1, keepdim=True)).nan_to_num()


def _overflow(scores: Tensor, mask: Tensor) -> Tensor:
    powers = scores.float().exp() * mask
    return (powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)).to(scores.dtype)


def _underflow(scores: Tensor, mask: Tensor) -> Tensor:
    """The largest score is looked for among 0 and those that are seen."""
    top = (scores * mask).amax(dim=-1, keepdim=True).clamp(min=0)
    powers = torch.where(mask, scores.float() - top.float(), -math.inf).exp()
    return (powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)).to(scores.dtype)


def _count(scores: Tensor, mask: Tensor) -> Tensor:
    """As if the mask hid the last keys, whichever it hides."""
    return masked_softmax(scores, mask=torch.arange(mask.shape[-1]) < mask.sum(dim=-1, keepdim=True))


def _subject(hint: str, function: Softmax) -> Subject:
    def make(note: Note) -> tuple[Any, ...]:
        def call(scores: Tensor, mask: Tensor) -> Tensor:
            return function(scores, mask.expand(scores.shape) if mask.dim() == scores.dim() else mask)

        return (disguise(call, note),)

    return Subject(hint, make)


_RIGHT = [
    _subject("a right one: try it on d2l.masked_softmax", lambda scores, mask: masked_softmax(scores, mask=mask)),
    _subject(
        "a right one that computes in the dtype of the scores: compare with a tolerance, and a larger one in float16",
        _exponentiate,
    ),
    _subject(
        "a right one that computes in float64: compare with a tolerance",
        lambda scores, mask: _fill(scores.double(), mask).nan_to_num().to(scores.dtype),
    ),
    _subject(
        "a right one that adds the logarithm of the mask: compare with a tolerance, and ask for no more than the task",
        lambda scores, mask: (scores + mask.to(scores.dtype).log()).softmax(dim=-1).nan_to_num(),
    ),
]
_MUTANTS = [
    _subject("does not know what the mask is for", lambda scores, mask: scores.softmax(dim=-1)),
    _subject("takes True and False for each other", lambda scores, mask: masked_softmax(scores, mask=~mask)),
    _subject("shares out the weight among the wrong things", lambda s, mask: _fill(s, mask, dim=-2).nan_to_num()),
    _subject("lets the examples of a batch share a weight", lambda s, mask: _fill(s, mask, dim=0).nan_to_num()),
    _subject("masks too late", lambda scores, mask: scores.softmax(dim=-1) * mask),
    _subject("makes a hidden score 0, and e⁰ is 1", lambda scores, mask: (scores * mask).softmax(dim=-1)),
    _subject("does not look at the scores", lambda scores, mask: masked_softmax(0 * scores, mask=mask)),
    _subject("makes too little of the scores", lambda scores, mask: masked_softmax(scores / 2, mask=mask)),
    _subject("gives all examples one mask", lambda s, mask: masked_softmax(s, mask=mask[:1].expand(mask.shape))),
    _subject("knows how many keys are hidden, not which", _count),
    _subject("does something to a query that sees nothing", lambda s, mask: _fill(s, mask, -1e6)),
    _subject("can be spoilt by a hidden score, if that is large enough", _renormalise),
    _subject("cannot stand large scores", _overflow),
    _subject("cannot stand scores that are all far below 0", _underflow),
    _subject("forgets the dtype that it was given", lambda s, mask: masked_softmax(s.float(), mask=mask)),
    _subject("is right in float32 alone", lambda s, mask: _fill(s, mask, -1e6) * mask),
]


@checker("test-softmax")
def check_test_softmax(answer: Any) -> str:
    """A test of `softmax(scores, mask)`."""
    return judge(answer, _RIGHT, _MUTANTS)
