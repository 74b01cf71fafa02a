"""Answers to the exercises: what a decoder is trained on: inputs and labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def right_targets(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(target.shape[1] + 1)
    labels = F.pad(target, (0, 1)).masked_fill(places > lens[:, None], -100)
    return F.pad(target, (1, 0), value=bos), labels.masked_fill(places == lens[:, None], eos)


def other_labels(change: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    def answer(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
        inputs, labels = right_targets(target, lens, bos, eos)
        return inputs, change(target, labels, lens, eos)

    return answer


def other_inputs(change: Callable[[Tensor, int, int], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    return lambda target, lens, bos, eos: (change(target, bos, eos), right_targets(target, lens, bos, eos)[1])


def targets_in_place(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    results = right_targets(target, lens, bos, eos)
    target[:, -1] = eos
    return results


def targets_with_eos(target: Tensor, lens: Tensor, bos: int, eos: int) -> tuple[Tensor, Tensor]:
    inputs, labels = right_targets(target, lens, bos, eos)
    return inputs.masked_fill(torch.arange(inputs.shape[1]) == lens[:, None] + 1, eos), labels


def hidden_padding(target: Tensor, lens: Tensor, fill: int) -> Tensor:
    return target.masked_fill(torch.arange(target.shape[1]) >= lens[:, None], fill)


def eos_in_place_of_last(target: Tensor, labels: Tensor, lens: Tensor, eos: int) -> Tensor:
    places = torch.arange(labels.shape[1])
    return labels.masked_fill(places >= lens[:, None] - 1, -100).masked_fill(places == lens[:, None] - 1, eos)


RIGHT: dict[str, list[Any]] = {
    "shifted-targets": [right_targets, lambda *args: list(right_targets(*args))],
}

WRONG: list[tuple[str, Any, str]] = [
    ("shifted-targets", lambda *args: [part.float() for part in right_targets(*args)], "F.cross_entropy ask for it"),
    (
        "shifted-targets",
        lambda target, lens, bos, eos: (F.pad(target, (1, 0), value=bos),) * 2,
        "what does the decoder learn from that?",
    ),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=eos)), "eos is for the labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (0, 1), value=bos)), "not behind"),
    ("shifted-targets", targets_with_eos, "eos is an answer of the decoder"),
    ("shifted-targets", lambda *args: right_targets(*args)[::-1], "first inputs, then labels"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: t), "write the shape"),
    ("shifted-targets", other_inputs(lambda t, bos, eos: F.pad(t, (1, 0), value=7)), "bos goes in front, and nothing"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(hidden_padding(t, lens, -100), (0, 1), value=eos)),
        "not at the end of the row",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == eos, -100)),
        "how does the decoder learn where to stop?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(t, (0, 1)).scatter(1, lens[:, None], eos)),
        "what does the loss ask at the padding?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(labels[:, 1:], (0, 1), value=-100)),
        "the *next* token",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.where(labels >= 0, eos)),
        "not eos everywhere",
    ),
    ("shifted-targets", other_labels(lambda t, labels, lens, eos: labels + 1), "what comes next? After the last"),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.masked_fill(labels == 0, -100)),
        "0 may be a real token",
    ),
    ("shifted-targets", other_labels(eos_in_place_of_last), "not in its place"),
    ("shifted-targets", other_labels(lambda t, labels, lens, eos: F.pad(t, (0, 1), value=eos)), "not at the end"),
    (
        "shifted-targets",
        lambda t, lens, bos, eos: (
            F.pad(hidden_padding(t, lens, -100), (1, 0), value=bos),
            right_targets(t, lens, bos, eos)[1],
        ),
        "-100 is for the labels",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: F.pad(hidden_padding(t, lens, -100), (0, 1), value=-100)),
        "how does the decoder learn where to stop?",
    ),
    (
        "shifted-targets",
        other_labels(lambda t, labels, lens, eos: labels.where(labels != -100, 0)),
        "what does the loss ask at the padding?",
    ),
    ("shifted-targets", lambda *a: [part.int() for part in right_targets(*a)], "F.cross_entropy ask for it"),
    ("shifted-targets", lambda *a: [part[:, :-1] for part in right_targets(*a)], "write the shape"),
    (
        "shifted-targets",
        lambda t, lens, bos, eos: (
            F.pad(hidden_padding(t, lens, eos), (1, 0), value=bos),
            right_targets(t, lens, bos, eos)[1],
        ),
        "the row is taken as it is",
    ),
    ("shifted-targets", targets_in_place, "changes the caller's tensor"),
    ("shifted-targets", lambda *args: right_targets(*args)[0], "return inputs, labels"),
    ("shifted-targets", lambda *args: [part.tolist() for part in right_targets(*args)], "return inputs, labels"),
]
