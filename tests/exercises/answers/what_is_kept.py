"""Answers to the exercises of "What is kept"."""

from typing import Any

import numpy as np
import torch


def step(q: Any, k: Any, v: Any, S: Any, z: Any) -> Any:
    S, z = S + torch.outer(k, v), z + k
    return q @ S / (q @ z), S, z


def step_in_numpy(q: Any, k: Any, v: Any, S: Any, z: Any) -> Any:
    q, k, v, S, z = (X.numpy() for X in (q, k, v, S, z))
    S, z = S + np.einsum("p,r->pr", k, v), z + k
    return (S.T @ q) / (z @ q), S, z


def step_in_place(q: Any, k: Any, v: Any, S: Any, z: Any) -> Any:
    S += torch.outer(k, v)
    z += k
    return q @ S / (q @ z), S, z


def write(q: Any, k: Any, v: Any, K: Any, V: Any, w: int) -> Any:
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    first = max(len(K) - (w - 1), 0)
    return (K @ q).softmax(dim=0) @ V, K[first:], V[first:]


def cut_before(q: Any, k: Any, v: Any, K: Any, V: Any, w: int) -> Any:
    """Cut when the token comes, not when it goes."""
    K, V = torch.cat([K, k[None]])[-w:], torch.cat([V, v[None]])[-w:]
    return (K @ q).softmax(dim=0) @ V, K, V


def cut_by_a_negative_number(q: Any, k: Any, v: Any, K: Any, V: Any, w: int) -> Any:
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return (K @ q).softmax(dim=0) @ V, K[-(w - 1) :], V[-(w - 1) :]


def keep_all(q: Any, k: Any, v: Any, K: Any, V: Any, w: int) -> Any:
    """Right outputs, but nothing ever leaves the cache."""
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return (K[-w:] @ q).softmax(dim=0) @ V[-w:], K, V


def delta_step(q: Any, k: Any, v: Any, S: Any, alpha: float, beta: float) -> Any:
    S = alpha * S
    S = S + beta * torch.outer(k, v - S.T @ k)
    return S.T @ q, S


def delta_in_numpy(q: Any, k: Any, v: Any, S: Any, alpha: float, beta: float) -> Any:
    q, k, v, S = (X.numpy() for X in (q, k, v, S))
    kept = alpha * (S - beta * np.outer(k, k) @ S) + beta * np.outer(k, v)
    return q @ kept, kept


def delta_in_place(q: Any, k: Any, v: Any, S: Any, alpha: float, beta: float) -> Any:
    S *= alpha
    S += beta * torch.outer(k, v - S.T @ k)
    return S.T @ q, S


RIGHT: dict[str, list[Any]] = {
    "three-caches": [(128, 68.625, 512), (128, 68.6, 511.9)],
    "linear-step": [step, step_in_numpy],
    "delta-step": [delta_step, delta_in_numpy],
    "debug-window": [write, cut_before],
    "other-lengths": [(65, 17, 69), [65.0, 17.0, 69.0]],
}
WRONG: list[tuple[str, Any, str]] = [
    ("three-caches", (100, 68.625, 512), "multiply"),
    ("linear-step", step_in_place, "works in place"),
    ("linear-step", lambda q, k, v, S, z: step(q, k, v, S, z)[0], "in a tuple"),
    ("delta-step", delta_in_place, "works in place"),
    ("delta-step", lambda *given: delta_step(*given)[1], "in a tuple"),
    ("debug-window", keep_all, "leaves the cache"),
    ("debug-window", cut_by_a_negative_number, "all of K"),
    ("debug-window", lambda *given: write(*given)[0], "in a tuple"),
    ("other-lengths", (100, 17, 69), "two formulas"),
    ("other-lengths", (65, 17, 100), "how many tokens back"),
]
