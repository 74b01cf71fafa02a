"""A reader with two of the bugs, to be found and fixed."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function
from d2lmini.exercises.gradients import expect_gradients
from d2lmini.exercises.inputs import draw_inputs

_NAMES = ["in_proj_bias", "in_proj_weight", "out_proj.bias", "out_proj.weight"]


@checker("debug-reader", trained=True)
def check_reader(make_reader: Any) -> str:
    """`make_reader(width, num_heads)`: attention over the real tokens, and their mean."""
    expect_function(make_reader)
    for seed, shape, num_heads, lens in (
        (1, (3, 4, 2), 1, [1, 4, 2]),
        (2, (2, 5, 6), 3, [3, 4]),
        (3, (1, 3, 4), 2, [3]),
    ):
        reader = make_reader(shape[2], num_heads)
        _expect_attention(reader)
        (X,), code = draw_inputs(seed, X=shape)
        _fill_parameters(reader)
        valid_lens, given = torch.tensor(lens), f"{code}; valid_lens = torch.tensor({lens})"
        expect_close(
            reader(X, valid_lens),
            _read(reader.attention, X, valid_lens),
            claim="the mean over the real tokens of what they find among the real tokens",
            given=f"{given}; width, num_heads = {shape[2]}, {num_heads}  # parameters -0.3 to 0.3",
            hint="take an example with padding, and the same one cut to its length: what differs?",
            mistakes=_list_mistakes(reader.attention, X, valid_lens),
        )
        expect_gradients(
            partial(_call, reader, valid_lens), partial(_read, reader.attention, lens=valid_lens), given=given, X=X
        )
    return "padding is hidden as a key and left out of the mean, at three sizes, one of them without padding"


def _expect_attention(reader: Any) -> None:
    attention = getattr(reader, "attention", None)
    if not isinstance(reader, nn.Module) or not isinstance(attention, nn.MultiheadAttention):
        hint = "self.attention = nn.MultiheadAttention(width, num_heads, batch_first=True), as it was"
        raise WrongAnswer("the reader keeps its attention", hint, got=type(attention).__name__)
    names = sorted(name for name, _ in attention.named_parameters())
    if names != _NAMES or len([*reader.parameters()]) != len(_NAMES):
        raise WrongAnswer("its parameters are those of its attention", "with biases, and no others", got=names)


def _fill_parameters(reader: nn.Module) -> None:
    with torch.no_grad():
        for parameter in reader.parameters():
            entries = torch.arange(parameter.numel()) % 7 - 3  # whole numbers from -3 to 3
            parameter.copy_(0.1 * entries.reshape(parameter.shape))


def _call(reader: nn.Module, valid_lens: Tensor, X: Tensor) -> Any:
    return reader(X, valid_lens)


def _read(
    attention: nn.MultiheadAttention,
    X: Tensor,
    lens: Tensor,
    *,
    opposite: bool = False,
    count: str = "real",
    need_weights: bool = True,
) -> Tensor:
    """The mean over some of the tokens, with the mask as it should be or the other way round."""
    real = torch.arange(X.shape[1]) < lens[:, None]  # (b, n)
    hidden = real if opposite else ~real
    found, _ = attention(X, X, X, key_padding_mask=hidden, need_weights=need_weights)  # (b, n, width)
    if count == "all":
        return found.mean(dim=1)
    kept = found.masked_fill(~real[..., None], 0.0)
    total = kept.sum(dim=1)
    ways = {"sum": total, "n": total / X.shape[1], "first": found[:, 0], "largest": kept.amax(dim=1)}
    return ways.get(count, total / lens[:, None])


def _list_mistakes(attention: nn.MultiheadAttention, X: Tensor, lens: Tensor) -> dict[str, tuple[Tensor, ...]]:
    def read(**changes: Any) -> tuple[Tensor, ...]:
        # without weights, a query that sees nothing is not NaN in every version of PyTorch
        return tuple(_read(attention, X, lens, **changes, need_weights=flag) for flag in (True, False))

    mask = "key_padding_mask: what does True mean to PyTorch?"
    return {
        "one bug left: do the outputs of padding belong in the mean?": read(count="all"),
        f"one bug left. {mask}": read(opposite=True),
        mask: read(opposite=True, count="all"),
        "the sum of the real tokens: divide it by how many there are": read(count="sum"),
        "you divide by the number of steps: padding still counts, as zeros": read(count="n"),
        "that is one token: the mean is over all real ones": read(count="first"),
        "a mean is asked for, not the largest": read(count="largest"),
    }
