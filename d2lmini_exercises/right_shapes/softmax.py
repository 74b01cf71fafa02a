"""Shapes that fit by accident, a reader of a batch, and a test of a softmax, judged by mutants."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.attention.pooling import masked_softmax
from d2lmini_exercises.engine import Case, Number, WrongAnswer, checker, draw, exercise, prediction
from d2lmini_exercises.right_shapes.judging import Note, Subject, disguise, judge

prediction(
    "predict-kills",
    {
        Number("(a)", 1, "sharper weights are still weights: which property speaks of how sharp they are?"): {
            "every row still adds up to 1, but some test knows the right numbers": 0,
            "the same in each order, batch and step: these relations say nothing about the scale": (2, 3, 4, 5),
        },
        Number(
            "(b)",
            4,
            "go through the table: which tests change a later digit, read step by step, or know the right numbers?",
        ): {
            "the next digit is the target: one test asks about that alone": 3,
            "one key more, and the rows still add up to 1": 5,
            "does it matter to a single step which later keys a query may see? There are none": (1, 2),
        },
        Number("(c)", 0, "what moves, if its target moves?"): {
            "nobody sees his target: the digit after next is not read": 1,
            "attention and decoding are untouched": (2, 3, 4),
        },
        Number("(d)", 1, "which test uses what decoding keeps?"): {
            "how many digits do the tests read? More than four": 0,
            "only one test decodes step by step": (2, 3),
        },
    },
    right="1, 4, 0 and 1: and (c) survives all ten",
)


class Reader(nn.Module):
    """Right unless told otherwise."""

    def __init__(
        self, width: int, num_heads: int, *, opposite: bool = False, need_weights: bool = True, mean: Any = None
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True)
        self.opposite, self.need_weights = opposite, need_weights
        self.mean = mean or (lambda found, real: found.where(real, 0.0).sum(1) / real.sum(1))

    def forward(self, X: Tensor, valid_lens: Tensor) -> Tensor:
        real = torch.arange(X.shape[1]) < valid_lens[:, None]  # (b, n)
        found, _ = self.attention(
            X, X, X, key_padding_mask=real if self.opposite else ~real, need_weights=self.need_weights
        )
        return self.mean(found, real[..., None])


def use(make_reader: Any, width: int, num_heads: int, X: Tensor, valid_lens: Tensor) -> Any:
    """A reader with small whole numbers for parameters, on one batch."""
    reader = make_reader(width, num_heads)
    attention = getattr(reader, "attention", None)
    if not isinstance(reader, nn.Module) or not isinstance(attention, nn.MultiheadAttention):
        hint = "self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True), as it was"
        raise WrongAnswer("the reader keeps its attention", hint, got=type(attention).__name__)
    if len([*reader.parameters()]) != 4 or len([*attention.parameters()]) != 4:
        raise WrongAnswer("its parameters are those of its attention", "with biases, and no others")
    for parameter in reader.parameters():
        parameter.data = 0.1 * (torch.arange(parameter.numel()) % 7 - 3.0).reshape(parameter.shape)
    return reader(X, valid_lens)


def either(**mistake: Any) -> tuple[dict[str, Any], ...]:
    # a query that sees nothing is not NaN on every path of PyTorch
    return mistake, {**mistake, "need_weights": False}


MASK = "key_padding_mask: what does True mean to PyTorch?"
ALL = lambda found, real: found.mean(1)  # noqa: E731
exercise(
    "debug-reader",
    Reader,
    tuple(
        Case(
            f"{draw(seed, X=(b, n, d))}; valid_lens = torch.tensor({lens}); "
            f"width, num_heads = {d}, {h}  # parameters -0.3 to 0.3"
        )
        for seed, b, n, d, h, lens in (
            (1, 3, 5, 2, 1, [2, 4, 3]),
            (2, 2, 5, 6, 3, [1, 4]),
            (3, 1, 3, 4, 2, [3]),
            (4, 2, 3, 2, 1, [3, 1]),
        )
    ),
    {
        "one bug left: do the outputs of padding belong in the mean?": either(mean=ALL),
        f"one bug left. {MASK}": either(opposite=True),
        MASK: either(opposite=True, mean=ALL),
        "the sum of the real tokens: divide it by how many there are": either(
            mean=lambda found, real: (found * real).sum(1)
        ),
        "you divide by the number of steps: padding still counts, as zeros": either(
            mean=lambda found, real: (found * real).mean(1)
        ),
        "that is one token: the mean is over all real ones": either(mean=lambda found, real: found[:, 0]),
        "a mean is asked for, not the largest": either(mean=lambda found, real: (found * real).amax(1)),
    },
    claim="the mean over the real tokens of what they find among the real tokens",
    verified="padding is hidden as a key and left out of the mean, at four sizes, one of them without padding",
    hint="take an example with padding, and the same one cut to its length: what differs?",
    use=use,
    trained=True,
)


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
    _subject("makes a little too much of the scores", lambda scores, mask: masked_softmax(1.25 * scores, mask=mask)),
    _subject("takes all scores above 0 for one", lambda s, mask: masked_softmax(s.clamp(max=0), mask=mask)),
    _subject("is right where a key is seen", lambda s, mask: masked_softmax(s, mask=mask) + (0.2 * ~mask).to(s.dtype)),
    _subject("gives all examples one mask", lambda s, mask: masked_softmax(s, mask=mask[:1].expand(mask.shape))),
    _subject("gives all queries one mask", lambda s, mask: masked_softmax(s, mask=mask[:, :1].expand(mask.shape))),
    _subject("knows how many keys are hidden, not which", _count),
    _subject("does something to a query that sees nothing", lambda s, mask: _fill(s, mask, -1e6)),
    _subject("can be spoilt by a hidden score, if that is large enough", _renormalise),
    _subject("cannot stand large scores", _overflow),
    _subject("cannot stand scores that are all far below 0", _underflow),
    _subject("forgets the dtype that it was given", lambda s, mask: masked_softmax(s.float(), mask=mask)),
    _subject("is right in float32 alone", lambda s, mask: _fill(s, mask, -1e6) * mask),
]


@checker("test-softmax", untried="mutants that we have not thought of")
def check_test_softmax(answer: Any) -> str:
    """A test of `softmax(scores, mask)`."""
    return judge(answer, _RIGHT, _MUTANTS)
