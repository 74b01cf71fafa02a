"""One small training loop: a seed, a device, a bar that shows how far it is, and an early stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from tqdm import tqdm

from d2lmini.inputs import check_choice, check_size

__all__ = ["Trained", "choose_device", "train"]

_WINDOW = 20  # steps over which a loss is averaged before it counts as better or not


class Trained(NamedTuple):
    """What :func:`train` returns: the model, in evaluation mode, and the loss of each step."""

    model: nn.Module
    losses: list[float]


def choose_device(name: str = "auto") -> torch.device:
    """A device by its name.

    Args:
        name: ``"cpu"``, ``"cuda"`` or ``"mps"``; ``"auto"`` takes the first of CUDA, MPS and CPU that is there.

    Raises:
        ValueError: if the name is another one, or there is no such device.
    """
    check_choice("name", name, ("auto", "cpu", "cuda", "mps"))
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, available in there.items() if available)
    if not there[name]:
        raise ValueError(f"there is no device {name!r} here; there is {[d for d, found in there.items() if found]}")
    return torch.device(name)


def train(
    make: Callable[[], nn.Module],
    draw: Callable[[], tuple[Tensor, ...]],
    loss: Callable[..., Tensor],
    *,
    seed: int = 0,
    steps: int = 200,
    lr: float = 1e-3,
    clip: float = 1.0,
    device: str = "cpu",
    patience: int | None = None,
) -> Trained:
    """Make a model and train it with Adam.

    Args:
        make: makes the model. It is called after the seed was set, so that a seed determines everything.
        draw: returns a batch: a tuple of tensors, which are moved to the device.
        loss: ``loss(model, *batch)`` returns the mean loss of a batch as a tensor of one number.
        seed: for the weights, the batches and dropout. The random numbers of the caller are left as they were.
        steps: number of steps, at least 1.
        lr: learning rate.
        clip: largest norm of the gradient; a longer one is shortened.
        device: see :func:`choose_device`.
        patience: stop early when the mean loss of the last 20 steps has not become better for this many steps.

    Raises:
        ValueError: if an argument is not allowed, or a loss is not finite; the message names the step.
    """
    check_size("steps", steps)
    if patience is not None:
        check_size("patience", patience)
    place = choose_device(device)
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        model = make().to(place).train()
        adam = torch.optim.Adam(model.parameters(), lr=lr)
        losses: list[float] = []
        best, best_step = float("inf"), 0
        for step in tqdm(range(steps), desc="training", leave=False):
            value = loss(model, *(part.to(place) for part in draw()))
            if value.numel() != 1 or not torch.isfinite(value):
                raise ValueError(f"loss must return one finite number, got {value.detach()} at step {step}")
            adam.zero_grad()
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            adam.step()
            losses.append(value.item())
            recent = sum(losses[-_WINDOW:]) / len(losses[-_WINDOW:])
            if recent < best:
                best, best_step = recent, step
            if patience is not None and step - best_step >= patience:
                break
    return Trained(model.eval(), losses)
