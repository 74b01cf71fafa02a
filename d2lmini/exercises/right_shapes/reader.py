"""A reader with two of the bugs, to be found and fixed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.exercises.core import WrongAnswer, checker, expect_close, expect_function
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
        leaf = X.clone().requires_grad_()
        found = expect_close(
            reader(leaf, valid_lens),
            _read(reader.attention, X, valid_lens),
            claim="the mean over the real tokens of what they find among the real tokens",
            given=f"{given}; width, num_heads = {shape[2]}, {num_heads}; parameters 0.1, 0.2, ...",
            hint="take an example with padding, and the same one cut to its length: what differs?",
            mistakes=_list_mistakes(reader.attention, X, valid_lens),
        )
        _expect_gradient(found, leaf, valid_lens, given)
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


def _read(
    attention: nn.MultiheadAttention, X: Tensor, lens: Tensor, *, opposite: bool = False, count: str = "real"
) -> Tensor:
    """The mean over some of the tokens, with the mask as it should be or the other way round."""
    real = torch.arange(X.shape[1]) < lens[:, None]  # (b, n)
    hidden = real if opposite else ~real
    rows = [
        attention(x[None], x[None], x[None], key_padding_mask=h[None])[0][0] for x, h in zip(X, hidden, strict=True)
    ]
    found = torch.stack(rows).detach()  # (b, n, width)
    if count == "all":
        return found.mean(dim=1)
    kept = found * real[..., None]
    total = kept.sum(dim=1)
    return {"sum": total, "n": total / X.shape[1], "first": found[:, 0], "largest": kept.amax(dim=1)}.get(
        count, total / lens[:, None]
    )


def _list_mistakes(attention: nn.MultiheadAttention, X: Tensor, lens: Tensor) -> dict[str, Tensor]:
    mask = "key_padding_mask: what does True mean to PyTorch?"
    wrong = {
        "one bug left: do the outputs of padding belong in the mean?": _read(attention, X, lens, count="all"),
        f"one bug left. {mask}": _read(attention, X, lens, opposite=True),
        mask: _read(attention, X, lens, opposite=True, count="all"),
        "the sum of the real tokens: divide it by how many there are": _read(attention, X, lens, count="sum"),
        "you divide by the number of steps: padding still counts, as zeros": _read(attention, X, lens, count="n"),
        "that is one token: the mean is over all real ones": _read(attention, X, lens, count="first"),
        "a mean is asked for, not the largest": _read(attention, X, lens, count="largest"),
    }
    right = _read(attention, X, lens)
    return {hint: found for hint, found in wrong.items() if not torch.allclose(found, right, atol=1e-3)}


def _expect_gradient(found: Tensor, leaf: Tensor, lens: Tensor, given: str) -> None:
    claim = "a gradient reaches the real tokens, and no padding"
    if not found.requires_grad:
        raise WrongAnswer(claim, "detach(), .data and item() let no gradient through", given=given)
    (gradient,) = torch.autograd.grad(found.square().sum(), leaf, allow_unused=True)
    real = torch.arange(leaf.shape[1]) < lens[:, None]  # (b, n)
    reached = torch.zeros_like(real) if gradient is None else gradient.abs().sum(dim=2) > 0
    if not torch.equal(reached, real):
        raise WrongAnswer(claim, "where does the gradient stop on its way back?", given=given, got=reached.tolist())
