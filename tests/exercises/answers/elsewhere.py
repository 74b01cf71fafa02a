"""Answers to the exercises of "The same layer, elsewhere"."""

from typing import Any

import numpy as np

NAMES = ("query", "key", "value")


def port(state: Any, num_heads: int) -> Any:
    """The solution of the chapter, as most would write it."""
    d = state["out_proj.weight"].shape[0]
    ported = {}
    for name, W, b in zip(NAMES, state["in_proj_weight"].chunk(3), state["in_proj_bias"].chunk(3), strict=True):
        ported[name] = W.T.reshape(d, num_heads, d // num_heads)
        ported[f"{name}_bias"] = b.reshape(num_heads, d // num_heads)
    ported["output"] = state["out_proj.weight"].T.reshape(num_heads, d // num_heads, d)
    return ported | {"output_bias": state["out_proj.bias"]}


def port_in_numpy(state: Any, num_heads: int) -> Any:
    """The heads are cut first, and the axes moved afterwards, in NumPy and float64."""
    W, b = state["in_proj_weight"].double().numpy(), state["in_proj_bias"].numpy()
    d = W.shape[1]
    ported = {}
    for i, name in enumerate(NAMES):
        rows = slice(i * d, (i + 1) * d)
        ported[name] = np.moveaxis(W[rows].reshape(num_heads, -1, d), 2, 0)
        ported[f"{name}_bias"] = b[rows].reshape(num_heads, -1)
    ported["output"] = np.stack(np.split(state["out_proj.weight"].numpy().T, num_heads))
    ported["output_bias"] = state["out_proj.bias"].numpy()
    return ported


def change(**changed: Any) -> Any:
    """The solution with some of its arrays computed in another way."""
    return lambda state, num_heads: {
        **port(state, num_heads),
        **{name: other(state, num_heads) for name, other in changed.items()},
    }


RIGHT: dict[str, list[Any]] = {
    "transposed-kernel": [60, np.float32(60)],
    "port-a-layer": [port, port_in_numpy],
    "port-a-mask": [
        lambda attn_mask, key_padding_mask: ~attn_mask[None, None] & ~key_padding_mask[:, None, None],
        lambda attn_mask, key_padding_mask: ~np.logical_or(attn_mask.numpy(), key_padding_mask.numpy()[:, None, None]),
    ],
}
WRONG: list[tuple[str, Any, str]] = [
    ("transposed-kernel", 45, "what does the transpose of a rotation do"),
    ("port-a-layer", change(query_bias=lambda s, h: s["in_proj_bias"].chunk(3)[0]), "write the shape"),
    ("port-a-layer", change(query=lambda s, h: 1.001 * port(s, h)["query"]), "none is changed"),
    ("port-a-layer", lambda s, h: {name: port(s, h)[name] for name in NAMES}, "the names are"),
    ("port-a-layer", change(query=lambda s, h: "kernel"), "return a tensor"),
    ("port-a-mask", lambda a, p: ~a[None, None] | p[:, None, None], "for one query"),
    ("port-a-mask", lambda a, p: ~a & ~p[:, None], "write the shape of each step"),
    ("port-a-mask", lambda a, p: (~a & ~p[:, None])[:, None].float(), "refuses a mask of numbers"),
]
