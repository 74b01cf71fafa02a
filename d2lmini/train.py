"""One small training loop: a seed, a rate that falls to 0 or a schedule, and a progress bar."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from tqdm import tqdm

from d2lmini.checks import check_number, check_size

__all__ = ["Trained", "train"]

_SMALLEST = sys.float_info.min


class Trained(NamedTuple):
    """What `train` returns: the model after the last step, in evaluation mode, and the loss of each step."""

    model: nn.Module
    losses: list[float]


def train(
    make: Callable[[], nn.Module],
    draw: Callable[[], tuple[Tensor, ...]],
    loss: Callable[..., Tensor],
    *,
    seed: int = 0,
    steps: int = 200,
    lr: float | Callable[[int], float] = 1e-3,
    clip: float = 1.0,
) -> Trained:
    """Make a model and train it with Adam, at a rate that falls to 0 in a straight line.

    In float64 two processors then end with the same weights to eleven digits or more; at a rate that stays, or in
    float32, with hardly two. Page: Are the numbers the same on your machine?

    Chapter: Positional encoding.

    Args:
        make: makes the model. It is called after the seed is set, so that the seed determines all that torch draws.
        draw: returns a batch: a tuple of tensors.
        loss: `loss(model, *batch)` returns the mean loss of a batch as a tensor of one number.
        seed: for the weights, the batches and dropout. The caller's own random numbers of torch are left as they were.
        steps: number of steps, at least 1.
        lr: learning rate of the first step, more than 0, or a schedule: a function of the step, 0, 1, 2, ..., that
            returns the rate; `lambda step: 1e-3` for one that stays.
        clip: largest norm of the gradient, more than 0; a larger one is scaled down.

    Returns:
        The model after the last step, and the losses.

    Raises:
        ValueError: if an argument is not allowed, or a loss or a gradient is not finite; the message names the step.

    >>> draw = lambda: (x := torch.randn(32, 1), 3 * x)
    >>> trained = d2l.train(lambda: torch.nn.Linear(1, 1), draw, lambda f, x, y: (f(x) - y).square().mean(), lr=0.1)
    >>> round(trained.model.weight.item(), 2)
    3.0
    """
    _check_settings(seed, steps, clip)
    with _keep_random_numbers(), torch.enable_grad():
        torch.manual_seed(seed)
        model = _make_model(make).train()
        adam = torch.optim.Adam(model.parameters(), lr=_rate(lr, 0, steps), fused=True)
        losses: list[float] = []
        for step in tqdm(range(steps), desc="training", leave=False):
            value = loss(model, *_check_batch(draw()))
            _check_loss(value, step)
            adam.zero_grad()
            value.backward()
            if not torch.isfinite(nn.utils.clip_grad_norm_(model.parameters(), clip)):
                raise ValueError(f"the gradient of the loss must be finite, it is not at step {step}")
            adam.param_groups[0]["lr"] = _rate(lr, step, steps)
            adam.step()
            losses.append(value.item())
        adam.zero_grad()
    return Trained(model.eval(), losses)


@contextmanager
def _keep_random_numbers() -> Iterator[None]:
    """Leave torch's random numbers as they were on all devices: a seed is set on every one."""
    on_mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            yield
    finally:
        if on_mps is not None:
            torch.mps.set_rng_state(on_mps)


def _rate(lr: float | Callable[[int], float], step: int, steps: int) -> float:
    """The learning rate of a step."""
    rate = lr(step) if callable(lr) else lr
    check_number(f"lr({step})" if callable(lr) else "lr", rate, _SMALLEST, sys.float_info.max)
    return rate if callable(lr) else rate * (1 - step / steps)


def _check_settings(seed: int, steps: int, clip: float) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise ValueError(f"seed must be an integer in 0..2**63 - 1, got {seed!r}")
    check_size("steps", steps)
    check_number("clip", clip, _SMALLEST, math.inf)


def _make_model(make: Callable[[], nn.Module]) -> nn.Module:
    model = make()
    if not isinstance(model, nn.Module) or not any(part.requires_grad for part in model.parameters()):
        raise ValueError(f"make must return a module with parameters to train, got {type(model).__name__}")
    return model


def _check_batch(batch: Any) -> tuple[Tensor, ...] | list[Tensor]:
    if not isinstance(batch, (tuple, list)) or not all(isinstance(part, Tensor) for part in batch):
        raise ValueError(f"draw must return a tuple of tensors, got {type(batch).__name__}")
    return batch


def _check_loss(value: Any, step: int) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.is_floating_point():
        found = f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"loss must return a tensor of one number, got {found} at step {step}")
    if not torch.isfinite(value):
        raise ValueError(f"loss must return one finite number, got {value.item()} at step {step}")
    if not value.requires_grad:
        raise ValueError(f"loss must depend on the parameters of the model, it does not at step {step}")
