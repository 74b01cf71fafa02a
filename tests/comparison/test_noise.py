"""The processor that nobody has built rounds in its own way, always the same, and leaves exact what is exact."""

import os
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tools.notebooks.noise import Noise
from tools.notebooks.run import execute

ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {
    "product": lambda X: X @ X.T,
    "sum": lambda X: X.sum(dim=0),
    "mean": lambda X: X.mean(dim=0),
    "softmax": lambda X: X.softmax(dim=0),
    "exponential": torch.exp,
    "norm": lambda X: F.layer_norm(X, X.shape[1:]),
    "convolution": lambda X: F.conv1d(X[None], X[None, :, :3].mT.mT),
    "attention": lambda X: F.scaled_dot_product_attention(X[None, None], X[None, None], X[None, None]),
}
EXACT: dict[str, Callable[[Tensor], Tensor]] = {
    "what IEEE 754 rounds in one way": lambda X: (X + 0.1) * X / 3 - X.abs().sqrt(),
    "a sum of whole numbers": lambda X: (10 * X).round().sum(dim=0),
    "a product of whole numbers": lambda X: (10 * X).round() @ (10 * X).round().T,
    "integers": lambda X: (10 * X).long().sum(dim=0),
    "what is infinite or no number": lambda X: torch.stack([X * torch.inf, X * torch.nan]).exp(),
}


def draw(dtype: torch.dtype) -> Tensor:
    return torch.randn(24, 16, dtype=dtype, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("what", ROUNDED)
def test_a_result_moves_by_its_last_places_the_same_way_each_time(what: str, dtype: torch.dtype) -> None:
    X, plain = draw(dtype), ROUNDED[what](draw(dtype))
    with Noise(1):
        shaken, again = ROUNDED[what](X), ROUNDED[what](X)
    with Noise(2):
        other = ROUNDED[what](X)
    assert torch.equal(shaken, again) and not torch.equal(shaken, other)
    assert (shaken != plain).double().mean() > 0.5
    room = 2 if what != "attention" else 8  # made of several such results where no kernel is fused
    torch.testing.assert_close(shaken, plain, rtol=room * torch.finfo(dtype).eps, atol=0)
    assert torch.equal(ROUNDED[what](X), plain), "outside nothing is shaken"


@pytest.mark.parametrize("what", EXACT)
def test_what_is_exact_on_every_machine_stays(what: str) -> None:
    X = draw(torch.float64)
    with Noise(1):
        found = EXACT[what](X)
    torch.testing.assert_close(found, EXACT[what](X), rtol=0, atol=0, equal_nan=True)


def test_gradients_are_shaken_too() -> None:
    def differentiate() -> Tensor:
        X = draw(torch.float64).requires_grad_()
        return torch.autograd.grad(X.softmax(dim=0).pow(3).sum(), X)[0]

    with Noise(1):
        shaken = differentiate()
    assert not torch.equal(shaken, differentiate())
    torch.testing.assert_close(shaken, differentiate(), rtol=1e-12, atol=1e-15)


def test_the_smallest_numbers_stay_numbers() -> None:
    with Noise(3):
        assert torch.full((4,), -744.5, dtype=torch.float64).exp().isfinite().all()


def test_a_kernel_ends_with_its_run(tmp_path: Path) -> None:
    """Those of twenty chapters would fill the memory."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import os\nprint(os.getpid())")])
    execute("mini", notebook, tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int(notebook.cells[0].outputs[0]["text"]), 0)
