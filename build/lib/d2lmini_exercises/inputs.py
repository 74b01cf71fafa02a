"""Inputs that a student can repeat: small whole numbers, and the line of code that draws them."""

from __future__ import annotations

import torch
from torch import Tensor


def draw_inputs(seed: int, *, most: int = 2, **shapes: tuple[int, ...]) -> tuple[list[Tensor], str]:
    """Tensors of whole numbers from -most to most, one for each name, and code that draws the same ones.

    The code goes into a report as it is: pasted into a cell after `import torch`, it defines the same names.
    """
    generator = torch.Generator().manual_seed(seed)
    tensors, draws = [], []
    for name, shape in shapes.items():
        tensors.append(torch.randint(-most, most + 1, shape, generator=generator).float())
        draws.append(f"{name} = torch.randint({-most}, {most + 1}, {shape}).float()")
    code = "; ".join([f"torch.manual_seed({seed})", *draws])
    for name, tensor in zip(shapes, tensors, strict=True):
        vars(tensor)["drawn"] = code, name  # for a report on an answer that stops
    return tensors, code
