"""The header and two packings of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).

The library `gguf` reads every file; it makes an object of each of the hundred thousand strings that a vocabulary has,
which takes ten seconds where these lines take one.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}  # by the kind of a value
TEXT, ARRAY = 8, 9
FLOAT32, FOUR_BITS, EIGHT_BITS = 0, 3, 8  # how a tensor is packed: F32, Q4_1, Q8_0
SIZES = {FLOAT32: 4 * 32, FOUR_BITS: 4 + 16, EIGHT_BITS: 2 + 32}  # bytes for 32 numbers


class Header:
    """What stands before the tensors, read from the front."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 8  # behind the letters GGUF and the version
        num_tensors, num_settings = self.take("QQ")
        self.settings = {self.text(): self.value(*self.take("I")) for _ in range(num_settings)}
        self.tensors = [
            (self.text(), [*self.take("Q" * self.take("I")[0])], *self.take("IQ")) for _ in range(num_tensors)
        ]

    def take(self, code: str) -> tuple[Any, ...]:
        """The next numbers, one for each letter."""
        found = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return found

    def text(self) -> str:
        """The next string."""
        (length,) = self.take("Q")
        self.at += length
        return str(self.data[self.at - length : self.at], "utf-8")

    def value(self, kind: int) -> Any:
        """The next value of this kind."""
        if kind == TEXT:
            return self.text()
        if kind != ARRAY:
            return self.take(NUMBERS[kind])[0]
        kind, length = self.take("IQ")
        return (
            [self.value(kind) for _ in range(length)] if kind in (TEXT, ARRAY) else [*self.take(NUMBERS[kind] * length)]
        )


def read_gguf(path: Path) -> tuple[dict[str, Any], Iterator[tuple[str, Tensor]]]:
    """The settings in a file, and its tensors one by one, unpacked to float32, by their names."""
    whole = torch.from_file(str(path), size=path.stat().st_size, dtype=torch.uint8)  # mapped, not read
    header = Header(whole.numpy().data)
    begin = -(-header.at // 32) * 32
    ends = [begin + offset + math.prod(shape) * SIZES[kind] // 32 for _, shape, kind, offset in header.tensors]
    tensors = (
        (name, unpack(whole[begin + offset : end], kind).reshape(shape[::-1]))
        for (name, shape, kind, offset), end in zip(header.tensors, ends, strict=True)
    )
    return header.settings, tensors


def unpack(packed: Tensor, kind: int) -> Tensor:
    """Numbers from bytes: 32 of them share a scale, and in four bits also a smallest number."""
    if kind == FLOAT32:
        return packed.view(torch.float32).clone()  # the file is not the model
    blocks = packed.reshape(-1, SIZES[kind])
    scale = blocks[:, :2].contiguous().view(torch.float16).float()  # (blocks, 1)
    if kind == EIGHT_BITS:
        return scale * blocks[:, 2:].view(torch.int8)  # (blocks, 32)
    least, pairs = blocks[:, 2:4].contiguous().view(torch.float16).float(), blocks[:, 4:]
    return scale * torch.cat([pairs & 15, pairs >> 4], dim=1) + least  # (blocks, 32)
