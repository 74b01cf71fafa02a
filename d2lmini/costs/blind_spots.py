"""What PyTorch's counters cannot see: taken apart where that is possible, refused where it is not."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from d2lmini.costs.operations import has_no_products, is_product


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


class KeepInside(TorchFunctionMode):
    """Refuses the ways by which numbers leave PyTorch, to be computed with elsewhere."""

    _EXITS = (Tensor.numpy, Tensor.__array__, Tensor.tolist, Tensor.__dlpack__)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function, unless it hands the numbers on."""
        if func in self._EXITS:
            raise ValueError(f"f takes numbers out of PyTorch ({func.__name__}): what happens to them cannot be seen")
        return func(*args, **(kwargs or {}))


class UncountableProducts(TorchDispatchMode):
    """Remembers which operations ran that may multiply matrices where no counter looks."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at an operation, and run it."""
        if is_product(op):
            numbers = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
            if any(tensor.is_complex() for tensor in numbers):
                self.names.add(f"complex {op.overloadpacket}")
        elif not has_no_products(op):
            self.names.add(str(getattr(op, "overloadpacket", op)))
        return op(*args, **(kwargs or {}))

    def refuse(self) -> None:
        """Raise a ValueError if there was one."""
        if self.names:
            names = ", ".join(sorted(self.names))
            raise ValueError(f"f uses {names}, whose floating-point operations cannot be counted")
