"""A reader with two of the bugs, to be found and fixed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import Case, draw, exercise


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


def either(**told: Any) -> tuple[dict[str, Any], ...]:  # a query that sees nothing is not NaN on every path of PyTorch
    return told, {**told, "need_weights": False}


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
        for seed, b, n, d, h, lens in ((1, 3, 4, 2, 1, [1, 4, 2]), (2, 2, 5, 6, 3, [3, 4]), (3, 1, 3, 4, 2, [3]))
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
    verified="padding is hidden as a key and left out of the mean, at three sizes, one of them without padding",
    hint="take an example with padding, and the same one cut to its length: what differs?",
    use=use,
    trained=True,
)
