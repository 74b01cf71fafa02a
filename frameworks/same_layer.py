"""The same attention in other frameworks: one set of weights and inputs, our answers, and what is done differently.

A framework meets us in NumPy arrays: each has a way to and from them. The chapter is *The same layer, elsewhere*.
"""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from d2lmini.attention.heads import MultiHeadAttention
from d2lmini.checks import check_choice

__all__ = [
    "SameLayer",
    "compare_draws",
    "compare_with_ours",
    "count_runs",
    "find_epsilon",
    "probe_attention",
    "read_results",
]

Array = NDArray[np.floating]
Gradients = Mapping[str, Array]
MATRICES = ("W_q", "W_k", "W_v", "W_o")
NUM_HIDDENS, NUM_HEADS = 20, 5


@dataclass(frozen=True)
class SameLayer:
    """Weights and inputs for the multi-head attention of any framework, the same in each call and on each machine.

    The matrices are stored as PyTorch stores them, (outputs, inputs); there are no biases. Keys serve as values, too.
    `upstream` is the gradient of a loss with respect to the output: the loss is `(upstream * output).sum()`.

    Chapter: The same layer, elsewhere.

    Args:
        dtype: `"float32"` or `"float64"`.

    Raises:
        ValueError: if the dtype is another one.
    """

    dtype: str = "float32"
    num_heads: int = NUM_HEADS

    def __post_init__(self) -> None:
        check_choice("dtype", self.dtype, ("float32", "float64"))

    @property
    def weights(self) -> dict[str, Array]:
        """`W_q`, `W_k`, `W_v` and `W_o`, each (20, 20)."""
        random = np.random.default_rng(0)
        size = (NUM_HIDDENS, NUM_HIDDENS)
        return {name: self._cast(random.standard_normal(size) / NUM_HIDDENS**0.5) for name in MATRICES}

    @property
    def inputs(self) -> tuple[Array, Array, Array]:
        """Queries (2, 4, 20), keys (2, 6, 20) and upstream (2, 4, 20)."""
        random = np.random.default_rng(1)
        queries, keys, upstream = (self._cast(random.standard_normal((2, n, NUM_HIDDENS))) for n in (4, 6, 4))
        return queries, keys, upstream

    @property
    def valid_lens(self) -> dict[str, NDArray[np.int32] | None]:
        """None, one for each example (2,), and one for each query (2, 4)."""
        each_query = np.array([[1, 2, 3, 4], [6, 5, 4, 1]], "int32")
        return {"none": None, "each example": np.array([3, 6], "int32"), "each query": each_query}

    def run_ours(self, valid_lens: NDArray[np.int32] | None = None) -> tuple[Array, Gradients]:
        """What `d2l.MultiHeadAttention` gives.

        Args:
            valid_lens: (2,) or (2, 4), as in `valid_lens`, or none.

        Returns:
            The output, (2, 4, 20), and the gradients of the four matrices, of the queries and of the keys.
        """
        n, dtype = NUM_HIDDENS, getattr(torch, self.dtype)
        layer = MultiHeadAttention(n, n, n, n, self.num_heads, dropout=0.0, dtype=dtype)
        layer.load_state_dict({f"{name}.weight": torch.from_numpy(W) for name, W in self.weights.items()})
        queries, keys, upstream = map(torch.from_numpy, self.inputs)
        queries.requires_grad_()
        keys.requires_grad_()
        output = layer(queries, keys, keys, None if valid_lens is None else torch.from_numpy(valid_lens))
        (upstream * output).sum().backward()
        parameters = {name: layer.get_parameter(f"{name}.weight") for name in MATRICES}
        wanted = {**parameters, "queries": queries, "keys": keys}
        return output.detach().numpy(), {name: tensor.grad.numpy() for name, tensor in wanted.items()}  # type: ignore[union-attr]

    def _cast(self, numbers: NDArray[np.float64]) -> Array:
        return numbers.astype(self.dtype)


Run = Callable[[SameLayer, NDArray[np.int32] | None], tuple[Array, Gradients]]


def compare_with_ours(run: Run, dtype: str = "float32") -> tuple[float, float | None]:
    """How far another framework's layer is from ours, given the same numbers.

    A difference is the largest one in a tensor, as a part of the tensor's largest number. Of all tensors and of all
    three kinds of valid lengths the worst counts.

    Chapter: The same layer, elsewhere.

    Args:
        run: takes a `SameLayer` and valid lengths, and returns what `SameLayer.run_ours` returns. What computes no
            gradients returns an empty dictionary in their place.
        dtype: `"float32"` or `"float64"`.

    Returns:
        The difference of the outputs, and that of the gradients, `None` where there are none.

    Raises:
        ValueError: if an array has another dtype or another shape than ours, or if some gradients are missing.
    """
    same, values, slopes = SameLayer(dtype), [], []
    for valid_lens in same.valid_lens.values():
        ours, our_gradients = same.run_ours(valid_lens)
        output, gradients = run(same, valid_lens)
        values.append(_measure("the output", output, ours))
        if gradients and set(gradients) != set(our_gradients):
            raise ValueError(f"gradients must be those of {', '.join(our_gradients)}, got {', '.join(gradients)}")
        slopes += [_measure(f"the gradient of {name}", gradients[name], our_gradients[name]) for name in gradients]
    return max(values), max(slopes) if slopes else None


def _measure(name: str, theirs: Array, ours: Array) -> float:
    if theirs.dtype != ours.dtype or theirs.shape != ours.shape:
        raise ValueError(
            f"{name} must be {ours.dtype} of shape {ours.shape}, got {theirs.dtype} of shape {theirs.shape}"
        )
    return float(abs(theirs.astype("float64") - ours).max() / abs(ours).max())


Attend = Callable[[Array, Array, Array, NDArray[np.bool_]], Array]


def probe_attention(attend: Attend) -> dict[str, str]:
    """What the attention of a framework means by its axes and its mask, and its scale, found by calling it.

    Chapter: The same layer, elsewhere.

    Args:
        attend: takes queries, keys and values of one shape and a boolean mask, (1, 1, queries, keys), all as NumPy
            arrays, and returns the output, of the shape of the queries.

    Returns:
        `"axes"`: `"batch, heads, tokens"` or `"batch, tokens, heads"`; `"True"`: `"may attend"` or `"is hidden"`;
        `"scale"`: what multiplies the products before the softmax, `"1/√d"` or `"1"`; `"nothing to attend to"`: what
        such a query gets, `"zeros"`, `"the mean"` of all values or `"NaN"`.

    Raises:
        ValueError: if what comes back is none of these.
    """
    random = np.random.default_rng(2)
    Q, K, V = (random.standard_normal((1, 3, 3, 4)).astype("float32") for _ in range(3))
    seen = np.array([[True, False, False], [True, True, False], [True, True, True]])
    found = attend(Q, K, V, seen[None, None])
    orders = (("batch, heads, tokens", _leave), ("batch, tokens, heads", _swap))
    meanings, scales = (("may attend", seen), ("is hidden", ~seen)), (("1/√d", 0.5), ("1", 1.0))  # d is 4
    for (axes, swap), (meaning, mask), (name, scale) in itertools.product(orders, meanings, scales):
        wanted = swap(_attend(scale * swap(Q), swap(K), swap(V), mask))
        known = mask.any(axis=1)  # a query that sees nothing has no right answer
        if np.allclose(swap(found)[:, :, known], swap(wanted)[:, :, known], atol=1e-5):
            row = np.arange(3)[:, None] > 0  # the first query sees nothing
            full = np.broadcast_to(row, (3, 3)) == (meaning == "may attend")
            alone = swap(attend(Q, K, V, full[None, None]))[:, :, 0]
            return {"axes": axes, "True": meaning, "scale": name, "nothing to attend to": _name(alone, swap(V))}
    raise ValueError("attend gives the attention of no axes, no meaning of True and no scale that are known here")


def _leave(X: Array) -> Array:
    return X


def _swap(X: Array) -> Array:
    return X.swapaxes(1, 2)


def _attend(Q: Array, K: Array, V: Array, mask: NDArray[np.bool_]) -> Array:
    scores = np.where(mask, Q @ K.swapaxes(-2, -1), -1e9)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ V)


def _name(alone: Array, V: Array) -> str:
    if np.isnan(alone).all():
        return "NaN"
    for name, wanted in (("zeros", np.zeros_like(alone)), ("the mean", V.mean(axis=2))):
        if np.allclose(alone, wanted, atol=1e-5):
            return name
    raise ValueError(f"a query with nothing to attend to gets neither NaN, zeros nor the mean: {alone}")


def find_epsilon(normalize: Callable[[Array], Array]) -> float:
    """What a layer norm adds to the variance, found from what it makes of two small numbers.

    Of -s and s the variance is s², and the larger becomes y = s / √(s² + ε).

    Chapter: The same layer, elsewhere.

    Args:
        normalize: takes an array (1, 2) of float32 and returns its layer norm, an array (1, 2).

    Returns:
        Epsilon, to two digits.

    Raises:
        ValueError: if the two that come back are not opposite numbers, the second between 0 and 1.
    """
    s = 1e-3
    low, high = (float(number) for number in normalize(np.array([[-s, s]], "float32"))[0])
    if not (0 < high < 1 and abs(low + high) < 1e-3):
        raise ValueError(f"normalize must give -y and y with 0 < y < 1, got {low} and {high}")
    return float(f"{s**2 * (1 / high**2 - 1):.1e}")


def count_runs(trace: Callable[[Callable[[Any], Any]], Callable[[Any], object]], zeros: Callable[[int], Any]) -> str:
    """How often Python runs a function that is called three times, the third time with a new shape.

    Chapter: The same layer, elsewhere.

    Args:
        trace: takes a function and returns what is called in its place: `jax.jit`, `tf.function`, or for a framework
            that traces nothing the function itself.
        zeros: takes a number n and returns an array (n,).

    Returns:
        `"3 of 3"` where Python runs in each call, `"2 of 3"` where it runs once for each shape.
    """
    runs = []

    def double(X: Any) -> Any:
        runs.append(X.shape)
        return X + X

    traced = trace(double)
    for n in (2, 2, 3):
        traced(zeros(n))
    return f"{len(runs)} of 3"


def compare_draws(draw: Callable[[], Any]) -> str:
    """Whether two calls with the same arguments give the same random number.

    Chapter: The same layer, elsewhere.

    Args:
        draw: takes nothing and returns one random number.

    Returns:
        `"equal"`, as where a key says what is drawn, or `"differ"`, as where a state goes on from draw to draw.
    """
    return "equal" if float(draw()) == float(draw()) else "differ"


def read_results(folder: str | Path) -> dict[str, dict[str, str]]:
    """What the notebooks of the frameworks have printed, as they are stored in a folder; none where there is none.

    A notebook prints lines `name: fact`, one of them `framework: ...`. To these come the `lines` of its first cell
    after the heading "The layer", without blank ones.

    Chapter: The same layer, elsewhere.

    Args:
        folder: where the notebooks lie.

    Returns:
        For each framework its facts by their names, in alphabetical order.
    """
    found = {}
    for path in Path(folder).glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        printed = [output.get("text", []) for cell in cells for output in cell.get("outputs", [])]
        facts = dict(line.strip().split(": ", 1) for text in printed for line in text if ": " in line)
        headings = ["".join(cell["source"]).startswith("## The layer") for cell in cells]
        if "framework" in facts and any(headings):
            code = next(cell["source"] for cell in cells[headings.index(True) :] if cell["cell_type"] == "code")
            found[facts["framework"]] = facts | {"lines": str(sum(bool(line.strip()) for line in code))}
    return dict(sorted(found.items()))
