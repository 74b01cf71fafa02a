"""Checkers of the chapter "The same layer, elsewhere"."""

from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import (
    Case,
    Number,
    Task,
    WrongAnswer,
    convert_tensor,
    exercise,
    list_in_order,
    prediction,
)

prediction(
    "transposed-kernel",
    {
        Number(
            "the angle between the two outputs", 60.0, "what does the transpose of a rotation do, and by which angle?"
        ): {
            "a transposed rotation turns as far, but to the other side": 0.0,
            "that is the angle between an output and its input: there are two outputs": 30.0,
            "the angle between them, whichever is first: give it without its sign": (-60.0, 300.0),
            "the transpose turns back; it does not turn by half a circle": (180.0, 150.0, 120.0),
            "in degrees: a full circle is 360": (1.0472, 1.04719755),
        }
    },
    right="the transpose of a rotation turns to the other side, and keeps every length",
)


PARTS = ("query", "key", "value", "query_bias", "key_bias", "value_bias", "output", "output_bias")


def port(
    state: dict[str, Tensor],
    num_heads: int,
    *,
    into: Any = lambda W, h: W.T.unflatten(1, (h, -1)),
    out: Any = lambda W, h: W.T.unflatten(0, (h, -1)),
    order: tuple[int, ...] = (0, 1, 2),
    biases: tuple[int, ...] = (0, 1, 2),
) -> dict[str, Tensor]:
    """Kernels and biases with heads as an axis, right unless told otherwise."""
    W, b = (state[f"in_proj_{kind}"].chunk(3) for kind in ("weight", "bias"))
    arrays = [into(W[i], num_heads) for i in order] + [b[i].unflatten(0, (num_heads, -1)) for i in biases]
    return dict(zip(PARTS, [*arrays, out(state["out_proj.weight"], num_heads), state["out_proj.bias"]], strict=True))


def use(answer: Any, state: dict[str, Tensor], num_heads: int) -> Any:
    """The arrays, by name."""
    found = answer(state, num_heads)
    if not isinstance(found, dict) or set(found) != set(PARTS):
        names = ", ".join(map(str, found)) if isinstance(found, dict) else type(found).__name__
        raise WrongAnswer("the eight arrays come in a dictionary", f"the names are {', '.join(PARTS)}", got=names)
    return [found[name] for name in PARTS]


def kernels(into: Any, out: Any) -> tuple[dict[str, Any], ...]:
    """A mistake in the first three kernels, in the last one, or in all."""
    return {"into": into, "out": out}, {"into": into}, {"out": out}


exercise(
    "port-a-layer",
    port,
    tuple(
        f"torch.manual_seed({d}); num_heads = {h}; state = "
        f"{{name: torch.randn_like(W) for name, W in nn.MultiheadAttention({d}, {h}).state_dict().items()}}"
        for d, h in ((6, 2), (12, 3), (4, 2), (3, 3), (2, 1))
    ),
    {
        "a matrix of PyTorch is (outputs, inputs), and a kernel begins with the inputs": kernels(
            lambda W, h: W.unflatten(1, (h, -1)), lambda W, h: W.unflatten(0, (h, -1))
        ),
        "the entries of one head stand side by side: which axis comes first when you reshape?": kernels(
            lambda W, h: W.T.unflatten(1, (-1, h)).mT, lambda W, h: W.T.unflatten(0, (-1, h)).transpose(0, 1)
        ),
        "the axes are (inputs, heads, d / heads), of the last kernel (heads, d / heads, outputs)": kernels(
            lambda W, h: W.unflatten(0, (h, -1)), lambda W, h: W.unflatten(1, (h, -1))
        ),
        "the order in in_proj_weight and in_proj_bias is query, key, value": tuple(
            one
            for order in [*permutations(range(3))][1:]
            for one in ({"order": order, "biases": order}, {"order": order}, {"biases": order})
        ),
    },
    claim="{} holds the numbers of PyTorch",
    verified="transposed, and the heads are an axis: any framework with such kernels gives PyTorch's numbers",
    hint="the numbers are only moved, none is changed: which one of PyTorch's stands at the first place that differs?",
    use=use,
    parts=PARTS,
)


def join(attn_mask: Tensor, key_padding_mask: Tensor, *, seen: Any = lambda A, P: ~A & ~P) -> Tensor:
    """One mask of two, right unless told otherwise."""
    mask: Tensor = seen(attn_mask[None, None], key_padding_mask[:, None, None])
    return mask


def use_mask(answer: Any, attn_mask: Tensor, key_padding_mask: Tensor) -> Any:
    """The mask as numbers, if it is one of True and False."""
    found = answer(attn_mask, key_padding_mask)
    if "bool" not in str(getattr(found, "dtype", "bool")):
        hint = "jax.nn.dot_product_attention refuses a mask of numbers: True and False"
        raise WrongAnswer("the mask is boolean", hint, got=str(found.dtype))
    mask = convert_tensor(found, attn_mask)
    return found if mask is None else mask.float()


HIDDEN = "a row without a key stays without one: the mask says what is seen, the layer what becomes of it"
LONELY = "key_padding_mask = torch.tensor([[1, 0, 0], [1, 1, 1]]).bool()"
CAUSAL, PADDING = "attn_mask = ~d2l.causal_mask(3)", "key_padding_mask = torch.tensor([[0, 0, 1], [0, 0, 0]]).bool()"
exercise(
    "port-a-mask",
    join,
    (
        f"{CAUSAL}; {PADDING}",
        f"{CAUSAL}; key_padding_mask = torch.zeros(2, 3).bool()",
        f"attn_mask = torch.zeros(3, 3).bool(); {PADDING}",
        f"attn_mask = torch.tensor([[0, 0, 1], [0, 1, 0]]).bool(); {PADDING}",
        f"{CAUSAL}; key_padding_mask = torch.tensor([[0, 0, 0], [0, 1, 1], [0, 0, 1]]).bool()",
        Case(f"{CAUSAL}; {LONELY}", HIDDEN, edge="nothing to see"),
    ),
    {
        "True means hidden in PyTorch: both masks have to be turned round": {"seen": lambda A, P: A | P},
        "a key is seen if neither mask hides it: and, not or": {"seen": lambda A, P: ~A | ~P},
        "the key_padding_mask has PyTorch's meaning still: there, True means padding": {"seen": lambda A, P: ~A & P},
        "the attn_mask has PyTorch's meaning still: there, True means hidden": {"seen": lambda A, P: A & ~P},
        "padding hides keys, the last axis; you hide queries": {"seen": lambda A, P: ~A & ~P.mT},
        "padding hides nothing in this mask": {"seen": lambda A, P: ~A & torch.ones_like(P)},
        "the attn_mask is (queries, keys): you have exchanged them": {"seen": lambda A, P: ~A.mT & ~P},
    },
    claim="True means may attend",
    verified="seen is what neither mask hides",
    hint="write down, for one query, which keys it may see",
    use=use_mask,
)

list_in_order(
    "The same layer, elsewhere",
    Task(
        "Exercise 17.1",
        "transposed-kernel",
        "what does the transpose of a rotation do?",
        'formula (17.1) in "A kernel is a matrix lying on its side"',
    ),
    Task(
        "Exercise 17.2",
        "port-a-layer",
        "which axis of PyTorch's matrix is the input, and how do the entries of one head lie in the other?",
        'formula (17.1), and "Heads are an axis"',
    ),
    Task(
        "Exercise 17.3",
        "port-a-mask",
        "what does True mean in each of the three masks, and when may a query see a key?",
        '"What True means"',
    ),
)
