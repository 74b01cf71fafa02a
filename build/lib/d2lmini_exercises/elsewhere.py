"""Checkers of the chapter "The same layer, elsewhere"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini_exercises.convert import convert_tensor
from d2lmini_exercises.core import WrongAnswer, checker, expect_close, expect_function, expect_measured
from d2lmini_exercises.prediction import Number, prediction

prediction(
    "transposed-kernel",
    Number(
        "the angle between the two outputs",
        60.0,
        hint="what does the transpose of a rotation do, and by which angle?",
        mistakes={
            "a transposed rotation turns as far, but to the other side": 0.0,
            "that is the angle between an output and its input: there are two outputs": 30.0,
            "the angle between them, whichever is first: give it without its sign": (-60.0, 300.0),
            "the transpose turns back; it does not turn by half a circle": (180.0, 150.0, 120.0),
            "in degrees: a full circle is 360": (1.0472, 1.04719755),
        },
    ),
    right="the transpose of a rotation turns to the other side, and keeps every length",
)


def _expect_kernels(d: int, h: int) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, dict[str, Tensor]]]:
    torch.manual_seed(d)
    state = {name: torch.randn_like(W) for name, W in nn.MultiheadAttention(d, h).state_dict().items()}
    kernels, unturned, swapped, reversed_ = {}, {}, {}, {}
    matrices, biases = state["in_proj_weight"].chunk(3), state["in_proj_bias"].chunk(3)
    for name, W, b in zip(("query", "key", "value"), matrices, biases, strict=True):
        kernels[name] = W.T.reshape(d, h, d // h)  # (inputs, heads, d / h)
        unturned[name] = W.reshape(d, h, d // h)
        swapped[name] = W.T.reshape(d, d // h, h).swapaxes(1, 2)
        reversed_[name] = W.reshape(h, d // h, d)
        kernels[f"{name}_bias"] = b.reshape(h, d // h)
    kernels["output"] = state["out_proj.weight"].T.reshape(h, d // h, d)
    kernels["output_bias"] = state["out_proj.bias"]
    unturned["output"] = state["out_proj.weight"].reshape(h, d // h, d)
    swapped["output"] = state["out_proj.weight"].T.reshape(d // h, h, d).swapaxes(0, 1)
    reversed_["output"] = state["out_proj.weight"].reshape(d, h, d // h)
    mistakes = {
        "a matrix of PyTorch is (outputs, inputs), and a kernel begins with the inputs": unturned,
        "the entries of one head stand side by side: which axis comes first when you reshape?": swapped,
        "the axes are (inputs, heads, d / heads), of the last kernel (heads, d / heads, outputs)": reversed_,
    }
    return state, kernels, mistakes


def _find_port_hint(name: str, got: Any, kernels: dict[str, Tensor]) -> str:
    """Which of the other arrays it is; if it is none of them, what to look at."""
    for other, wanted in kernels.items():
        there = convert_tensor(got, wanted)
        if (
            other != name
            and there is not None
            and there.shape == wanted.shape
            and torch.allclose(there.double(), wanted.double())
        ):
            return f"that is {other}: the order in in_proj_weight and in_proj_bias is query, key, value"
    return "the numbers are only moved, none is changed: which one of PyTorch's stands at the first place that differs?"


@checker("port-a-layer")
def check_port(answer: Any) -> str:
    """All eight arrays, at two sizes, one of them with heads and widths that cannot be mistaken for each other."""
    expect_function(answer)
    for d, h in ((6, 2), (12, 3)):
        state, kernels, mistakes = _expect_kernels(d, h)
        given = f"the state of nn.MultiheadAttention({d}, {h}), num_heads={h}"
        found = answer(dict(state), h)
        found = dict(found.items()) if isinstance(found, (Mapping, nn.ParameterDict)) else found
        if not isinstance(found, dict) or set(found) != set(kernels):
            names = ", ".join(map(str, found)) if isinstance(found, dict) else type(found).__name__
            hint = f"the names are {', '.join(kernels)}"
            raise WrongAnswer("the eight arrays come in a dictionary", hint, given=given, got=names)
        for name, expected in kernels.items():
            got = convert_tensor(found[name], expected)
            if got is not None and got.shape != expected.shape:
                for hint, wrong in mistakes.items():
                    if name in wrong and wrong[name].shape == got.shape and torch.allclose(wrong[name], got.float()):
                        raise WrongAnswer(f"{name} has another shape", hint, given=given, got=tuple(got.shape))
            expect_close(
                found[name], expected, claim=f"{name} holds the numbers of PyTorch", given=given,
                hint=_find_port_hint(name, found[name], kernels),
                mistakes={hint: wrong[name] for hint, wrong in mistakes.items() if name in wrong},
            )  # fmt: skip
    return "transposed, and the heads are an axis: any framework with such kernels gives PyTorch's numbers"


@checker("port-a-mask")
def check_mask(answer: Any) -> str:
    """A causal mask and padding together, and each of them alone."""
    expect_function(answer)
    hidden = torch.ones(3, 3, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False, False, True], [False, False, False]])
    none, nowhere = torch.zeros(3, 3, dtype=torch.bool), torch.zeros(2, 3, dtype=torch.bool)
    cases = (
        (hidden, padding, "a causal attn_mask (3, 3) and padding in the first example"),
        (hidden, nowhere, "a causal attn_mask (3, 3) and no padding"),
        (none, padding, "no attn_mask, that is all False, and padding in the first example"),
    )
    for attn_mask, key_padding_mask, given in cases:
        A, P = attn_mask[None, None], key_padding_mask[:, None, None]
        mistakes = {
            "True means hidden in PyTorch: both masks have to be turned round": (A | P).float(),
            "a key is seen if neither mask hides it: and, not or": (~A | ~P).float(),
            "the key_padding_mask has PyTorch's meaning still: there, True means padding": (~A & P).float(),
            "the attn_mask has PyTorch's meaning still: there, True means hidden": (A & ~P).float(),
            "padding hides keys, the last axis; you hide queries": (~A & ~key_padding_mask[:, None, :, None]).float(),
            "padding hides nothing in your mask": (~A & torch.ones_like(P)).float(),
            "the attn_mask is (queries, keys): you have exchanged them": (~A.mT & ~P).float(),
        }
        found = answer(attn_mask.clone(), key_padding_mask.clone())
        if "bool" not in str(getattr(found, "dtype", "bool")):
            hint = "jax.nn.dot_product_attention refuses a mask of numbers: True and False"
            raise WrongAnswer("the mask is boolean", hint, given=given, got=str(found.dtype))
        got = convert_tensor(found, attn_mask)
        if got is None or got.shape != (2, 1, 3, 3):
            shape = None if got is None else tuple(got.shape)
            hint = "attn_mask gets two axes in front, key_padding_mask two in the middle"
            raise WrongAnswer("the mask is (batch, 1, queries, keys)", hint, given=given, got=shape)
        expect_close(
            got.float(), (~A & ~P).float(), claim="True means may attend", given=given,
            hint="write down, for one query, which keys it may see", mistakes=mistakes,
        )  # fmt: skip
    return "seen is what neither mask hides"


@checker("measure-rounding")
def check_rounding(answer: Any) -> str:
    """Differences of both signs, numbers near 0, large numbers that agree, and both orders."""
    expect_function(answer)
    cases = (
        ([1.0, -2.0, 4.0], [1.25, -2.75, 4.125], 0.1875),
        ([1.0, -2.0, 4.0], [0.75, -1.25, 3.875], 0.1875),
        ([0.0, 10.0], [0.5, 10.0], 0.05),
        ([-8.0, 1.0], [-8.0, 1.25], 0.03125),
        ([3.0, 4.0], [3.0, 4.0], 0.0),
        ([4.0, 1.0], [5.0, 1.0], 0.25),
        ([[1.0, 2.0], [-5.0, 4.0]], [[1.0, 2.0], [-5.0, 3.5]], 0.1),
    )
    for ours, theirs, expected in cases:
        a, b = torch.tensor(ours), torch.tensor(theirs)
        gap, opposite = b - a, a - b
        expect_measured(
            answer(a.clone(), b.clone()), expected, given=f"torch.tensor({ours}), torch.tensor({theirs})",
            claim="the largest difference, as a part of the largest number of ours",
            hint="two maxima, both of absolute values, and one division at the end", tolerance=1e-6,
            mistakes={
                "differences have signs: which one is the largest?":
                    (float(gap.max() / a.abs().max()), float(opposite.max() / a.abs().max())),
                "entry by entry first: the largest numbers of the two may stand at different places, or be equal":
                    float((a.abs().max() - b.abs().max()).abs() / a.abs().max()),
                "ours is the measure: theirs may be the one that is wrong": float(gap.abs().max() / b.abs().max()),
                "the largest number is the one furthest from 0": float(gap.abs().max() / a.max()) if a.max() else -1.0,
                "one number near 0 decides everything if you divide entry by entry":
                    float((gap / a).abs().nan_to_num(0.0, torch.inf).max()),
                "that is the mean difference: one wrong entry hides behind many right ones":
                    float(gap.abs().mean() / a.abs().max()),
                "as a part of the largest number: divide": float(gap.abs().max()),
            },
        )  # fmt: skip
    return "one number for two tensors, which no small entry can blow up"
