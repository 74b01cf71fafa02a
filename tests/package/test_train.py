"""The training loop: the same seed, the same model; it stops early; it says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l

TRUE = torch.tensor([[1.0], [-2.0], [0.5]])


def make() -> nn.Module:
    return nn.Linear(3, 1)


def draw() -> tuple[Tensor, Tensor]:
    X = torch.randn(32, 3)
    return X, X @ TRUE + 0.3


def loss(model: nn.Module, X: Tensor, Y: Tensor) -> Tensor:
    return F.mse_loss(model(X), Y)


def test_it_learns_and_hands_back_a_model_for_evaluation() -> None:
    model, losses = d2l.train(make, draw, loss, steps=300, lr=0.05)
    assert len(losses) == 300 and losses[0] > 1 and max(losses[-10:]) < 1e-3 and not model.training
    torch.testing.assert_close(model.weight, TRUE.T, atol=0.02, rtol=0)


def test_a_seed_determines_everything_and_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    runs = [d2l.train(make, draw, loss, seed=seed, steps=5) for seed in (1, 1, 2)]
    assert torch.equal(torch.rand(3), expected)
    assert runs[0].losses == runs[1].losses != runs[2].losses
    assert torch.equal(runs[0].model.weight, runs[1].model.weight)


def test_it_trains_in_training_mode() -> None:
    seen = []

    def spy(model: nn.Module, X: Tensor, Y: Tensor) -> Tensor:
        seen.append(model.training)
        return loss(model, X, Y)

    d2l.train(lambda: make().eval(), draw, spy, steps=2)
    assert seen == [True, True]


def test_it_stops_when_nothing_gets_better() -> None:
    noise = iter(torch.linspace(1, 2, 500).tolist())

    def worse(model: nn.Module, X: Tensor, Y: Tensor) -> Tensor:
        return loss(model, X, Y) * 0 + next(noise)

    assert len(d2l.train(make, draw, worse, steps=200, patience=7).losses) == 8
    better = d2l.train(make, draw, loss, steps=50, lr=0.01, patience=40)
    assert len(better.losses) == 50


def test_a_long_gradient_is_shortened() -> None:
    def steep(model: nn.Module, X: Tensor, Y: Tensor) -> Tensor:
        return 1e6 * loss(model, X, Y)

    norms: list[float] = []

    class Watched(nn.Linear):
        pass

    def watched() -> nn.Module:
        layer = Watched(3, 1)
        layer.weight.register_post_accumulate_grad_hook(lambda p: norms.append(p.grad.norm().item()))
        return layer

    d2l.train(watched, draw, steep, steps=2)
    assert min(norms) > 1e4  # before it is shortened: Adam itself would hide it
    model, _ = d2l.train(make, draw, steep, steps=1, lr=0.1, clip=1e-12)
    start, _ = d2l.train(make, draw, steep, steps=1, lr=1e-12)
    assert (model.weight - start.weight).abs().max() < 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"patience": 0}, "patience must be an integer of at least 1, got 0"),
        ({"device": "gpu"}, "name must be one of 'auto', 'cpu', 'cuda', 'mps', got 'gpu'"),
    ],
)
def test_settings_are_checked(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        d2l.train(make, draw, loss, **settings)


@pytest.mark.parametrize("value", [torch.tensor(float("nan")), torch.zeros(2)])
def test_a_loss_that_is_no_number_is_refused(value: Tensor) -> None:
    with pytest.raises(ValueError, match=r"one finite number, got .* at step 0"):
        d2l.train(make, draw, lambda model, X, Y: value, steps=3)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert d2l.choose_device().type == d2l.choose_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match=r"no device 'cuda' here; there is \['cpu'\]"):
        d2l.choose_device("cuda")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert d2l.choose_device().type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert d2l.choose_device().type == "cuda"


def test_no_bar_in_stored_outputs(capfd: pytest.CaptureFixture[str]) -> None:
    d2l.train(make, draw, loss, steps=2)
    assert capfd.readouterr() == ("", "")
