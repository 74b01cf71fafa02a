"""What PyTorch's counters cannot see: taken apart where that is possible, refused where it is not."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

# Products that PyTorch's counter forgets: matrix times vector, vector times vector.
PRODUCTS = {
    torch.ops.aten.mv: lambda M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.addmv: lambda b, M, v, **_: 2 * M[0] * M[1],
    torch.ops.aten.dot: lambda a, b, **_: 2 * a[0],
    torch.ops.aten.vdot: lambda a, b, **_: 2 * a[0],
}
# Parts of the names of operations that multiply matrices inside, where PyTorch's counter does not look.
_OPAQUE = re.compile(
    "rnn|lstm|gru|attention|transformer|mkldnn|quantized|int_mm|scaled_mm|addmm_activation|addr|fft|dist|trilinear|linalg"
    "|conv|sparse|cholesky|triangular|lu_solve|svd|eig|qr"
)
# Parts of the names of autograd nodes that do one step after another, but appear in the graph as one.
_SCANS = re.compile(
    "cumsum|cumprod|cummax|cummin|logcumsumexp|rnn|lstm|gru|scaleddotproduct|triangular|ctcloss|differentiablegraph"
)


@contextlib.contextmanager
def unfuse() -> Iterator[None]:
    """Run recurrent layers and attention as operations that can be inspected."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TF32 acceleration")  # the warning when oneDNN is switched off and on
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                yield
            finally:
                torch.backends.mha.set_fastpath_enabled(fast_path)


class SeenOperations(TorchDispatchMode):
    """Remembers which operations ran."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: set[Any] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Remember an operation, and run it."""
        self.operations.add(op._overloadpacket)
        return op(*args, **(kwargs or {}))


def refuse_uncountable(operations: set[Any]) -> None:
    """Raise a ValueError if one of these multiplies matrices where no counter looks."""
    known = flop_registry.keys() | PRODUCTS.keys() | {torch.ops.aten.linalg_vector_norm}
    opaque = sorted(str(op) for op in operations if op not in known and _OPAQUE.search(str(op)))
    if opaque:
        raise ValueError(f"f uses {', '.join(opaque)}, whose floating-point operations cannot be counted")


def refuse_hidden_chain(operation: Any) -> None:
    """Raise a ValueError if this node of an autograd graph does one step after another, but counts as one."""
    name = operation.name()
    if "CopySlices" in name:
        raise ValueError("f writes into a part of a tensor, which makes the chain look longer: use torch.stack")
    if isinstance(operation, BackwardCFunction) or _SCANS.search(name.lower()):
        raise ValueError(f"{name} hides a chain of operations: use a version of f that shows it")
