"""The training loop: the same seed, the same model; it says what is wrong."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lmini as d2l
from tests.package.refusals import rejected

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


def test_a_rate_falls_to_0_in_a_straight_line_unless_it_is_a_schedule() -> None:
    """The gradient is 1 in every step, so that Adam moves the weight by the rate."""

    def weight_after(lr: Any, steps: int = 4) -> Tensor:
        make = partial(nn.Linear, 1, 1, bias=False)
        return d2l.train(make, lambda: (), lambda m: m.weight.sum(), steps=steps, lr=lr).model.weight.detach()

    begin = weight_after(1e-30)
    for lr, moved in ((0.1, 0.25), (lambda step: 0.1, 0.4), (lambda step: 0.1 * 2**-step, 0.1875)):
        torch.testing.assert_close(begin - weight_after(lr), torch.tensor([[moved]]))


test_what_would_train_silently_wrong_is_refused = rejected(
    ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
    ({"lr": 0.0}, "lr must be a number from .* got 0.0"),
    ({"clip": -1.0}, "clip must be a number from .* got -1.0"),
    ({"seed": 1.7}, "seed must be an integer in .* got 1.7"),
    ({"seed": 2**70}, "seed must be an integer"),
    by=lambda settings: d2l.train(make, draw, loss, **settings),
)


test_a_loss_that_cannot_be_learned_from_is_refused = rejected(
    (lambda m: torch.tensor(math.nan), "one finite number, got nan at step 0"),
    (lambda m: m(torch.ones(1, 3)).sum() * math.inf, "one finite number, got -?inf at step 0"),
    (lambda m: torch.zeros(2), r"one number, got torch.float32 \(2,\) at step 0"),
    (lambda m: torch.tensor(1), r"one number, got torch.int64 \(\) at step 0"),
    (lambda m: 0.5, "one number, got float at step 0"),
    (lambda m: None, "one number, got NoneType"),
    (lambda m: torch.tensor(1.0), "must depend on the parameters"),
    (lambda m: (m(torch.ones(1, 3)) * 0).square().sum().sqrt(), "gradient of the loss must be finite.* at step 0"),
    by=lambda value: d2l.train(make, draw, lambda model, X, Y: value(model), steps=1),
)


# A single tensor would be taken apart along its first dimension.
test_what_does_not_come_back_as_it_must_is_refused = rejected(
    (lambda: d2l.train(lambda: None, draw, loss, steps=1), "make must return a module with parameters"),  # type: ignore
    (lambda: d2l.train(nn.ReLU, draw, loss, steps=1), "make must return a module with parameters"),
    (lambda: d2l.train(make, lambda: torch.ones(2, 32, 3), loss, steps=1), "draw must return a tuple of tensors, got"),
    (lambda: d2l.train(make, lambda: ([1.0], 2), loss, steps=1), "draw must return a tuple of tensors, got"),
    (lambda: d2l.train(make, draw, loss, steps=5, lr=lambda n: 0.1 if n < 3 else -1), r"lr\(3\) must be .* got -1"),
)


@pytest.mark.parametrize("lr", [0.02, lambda step: 0.01 * (step + 1)])
def test_it_is_this_loop(lr: Any) -> None:
    def steep(model: nn.Module, X: Tensor, Y: Tensor) -> Tensor:
        assert model.training
        return 100 * loss(model, X, Y)

    with torch.no_grad():  # a caller's mode does not matter
        model, losses = d2l.train(lambda: make().eval(), draw, steep, seed=3, steps=30, lr=lr, clip=1.5)
    torch.manual_seed(3)
    expected, found = make(), []
    adam = torch.optim.Adam(expected.parameters(), lr=0.02, fused=True)
    for step in range(30):
        adam.param_groups[0]["lr"] = lr(step) if callable(lr) else lr * (1 - step / 30)
        value = steep(expected, *draw())
        adam.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(expected.parameters(), 1.5)
        adam.step()
        found.append(value.item())
    assert losses == found and torch.equal(model.weight, expected.weight) and model.weight.grad is None


def test_random_numbers_of_other_devices_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    restored = []
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: "as it was")
    monkeypatch.setattr(torch.mps, "set_rng_state", restored.append)
    d2l.train(make, draw, loss, steps=1)
    assert restored == ["as it was"]


def test_no_bar_in_stored_outputs(capfd: pytest.CaptureFixture[str]) -> None:
    d2l.train(make, draw, loss, steps=2)
    assert capfd.readouterr() == ("", "")
