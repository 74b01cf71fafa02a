"""What a decoder is trained on: inputs and labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lmini_exercises.convert import convert_arrays
from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import exercise

IGNORED = -100  # the label that F.cross_entropy leaves out


def shift(
    target: Tensor, valid_lens: Tensor, bos: int, eos: int,
    *, lens: Any = lambda t, n: n, begin: Any = lambda bos, eos: bos, end: Any = lambda bos, eos: eos,
    read: Any = lambda inputs, labels, after, eos: inputs, ask: Any = lambda inputs, labels, after, eos: labels,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Inputs and labels, right unless told otherwise; `after` is how far a place lies behind the last token."""
    after = torch.arange(target.shape[1] + 1) - lens(target, valid_lens)[:, None]
    inputs = F.pad(target, (1, 0), value=begin(bos, eos))
    labels = F.pad(target, (0, 1)).masked_fill(after > 0, IGNORED).masked_fill(after == 0, end(bos, eos))
    return read(inputs, labels, after, eos), ask(inputs, labels, after, eos)


def use(answer: Any, target: Tensor, valid_lens: Tensor, bos: int, eos: int) -> Any:
    """Two tensors of integers."""
    found = convert_arrays(answer(target, valid_lens, bos, eos))
    parts = found if isinstance(found, (tuple, list)) else [found]
    if len(parts) != 2 or not all(isinstance(part, Tensor) for part in parts):
        got = " and ".join(type(part).__name__ for part in parts)
        raise WrongAnswer("it returns two tensors", "return inputs, labels", got=got)
    if any(part.dtype != torch.int64 for part in parts):
        got = f"{parts[0].dtype} and {parts[1].dtype}"
        raise WrongAnswer("both are int64, as target is", "nn.Embedding and F.cross_entropy ask for it", got=got)
    return found


def follow(inputs: Tensor, last: int) -> Tensor:
    """The row, and behind it another number."""
    return F.pad(inputs[:, 1:], (0, 1), value=last)


exercise(
    "shifted-targets",
    shift,
    tuple(
        f"target = torch.tensor({rows}); valid_lens = torch.tensor({lens}); bos, eos = {bos}, {eos}"
        for rows, lens, bos, eos in (
            ([[5, 3, 8, 2]], [4], 10, 11),
            ([[5, 3, 8, 2], [4, 0, 0, 0], [6, 1, 0, 0]], [4, 1, 2], 12, 9),
            ([[0, 3, 0, 2]], [3], 23, 20),
            ([[7, 7]], [0], 9, 40),
        )
    ),
    {
        "label and input are the same token: what does the decoder learn from that? The loss would be 0": {
            "ask": lambda inputs, labels, after, eos: inputs
        },
        "inputs and labels are views of the same tensor: what you write into one is in the other, too": {
            "read": lambda inputs, labels, after, eos: torch.cat([inputs[:, :1], labels[:, :-1]], dim=1)
        },
        "the decoder has bos in front; eos is for the labels": (
            {"begin": lambda bos, eos: eos},
            {"begin": lambda bos, eos: eos, "end": lambda bos, eos: bos},
        ),
        "eos is an answer of the decoder, not a question to it": {
            "read": lambda inputs, labels, after, eos: inputs.masked_fill(after == 1, eos)
        },
        "bos and eos are given: other sentences have other numbers for them": (
            {"begin": lambda bos, eos: 10},
            {"begin": lambda bos, eos: eos - 1},
            {"end": lambda bos, eos: 11},
            {"end": lambda bos, eos: bos + 1},
        ),
        "bos goes in front, not behind": {"read": lambda inputs, labels, after, eos: inputs.roll(-1, 1)},
        "-100 is for the labels: an embedding has no row of that number": (
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, IGNORED)},
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after >= 0, IGNORED)},
        ),
        "the row is taken as it is, padding included: nothing is changed in it": (
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, 0)},
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, eos)},
            {"read": lambda inputs, labels, after, eos: torch.cat([inputs[:, :1], inputs[:, :-1]], dim=1)},
        ),
        "first inputs, then labels": lambda *given: shift(*given)[::-1],
        "0 may be a real token: only valid_lens knows what is padding": (
            {"ask": lambda inputs, labels, after, eos: labels.masked_fill(labels == 0, IGNORED)},
            {"lens": lambda target, lens: (target != 0).sum(dim=1)},
        ),
        "after the last token that counts, which each row has at a place of its own, not at the end of the row": (
            {
                "ask": lambda inputs, labels, after, eos: F.pad(
                    labels.masked_fill(after == 0, IGNORED)[:, :-1], (0, 1), value=eos
                )
            },
            {"ask": lambda inputs, labels, after, eos: follow(inputs, eos)},
            {"lens": lambda target, lens: lens.max().expand(len(lens))},
        ),
        "how does the decoder learn where to stop?": {
            "ask": lambda inputs, labels, after, eos: labels.masked_fill(after == 0, IGNORED)
        },
        "what does the loss ask at the padding? -100 keeps it quiet": {
            "ask": lambda inputs, labels, after, eos: labels.where(after <= 0, follow(inputs, 0))
        },
        "the *next* token: at place 0 that is the first token of the row": {
            "ask": lambda inputs, labels, after, eos: follow(labels, IGNORED)
        },
        "-100 after eos, not eos everywhere": {
            "ask": lambda inputs, labels, after, eos: labels.masked_fill(after > 0, eos)
        },
        "eos stands behind the last token that counts, not in its place": (
            {"lens": lambda target, lens: lens - 1},
            {"ask": lambda inputs, labels, after, eos: follow(inputs, 0).masked_fill(after == -1, eos)},
        ),
    },
    claim="bos and the row are read, and the token that comes next is the answer",
    verified="next tokens, eos after the last that counts, -100 at the padding, target unchanged",
    hint="bos goes in front of the row, and nothing is left out. At each place: what comes next? After the last token "
    "that counts: eos. Then: -100",
    use=use,
    parts=("inputs", "labels"),
    together=2,
)
