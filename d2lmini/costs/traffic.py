"""How many bytes a computation moves between a large memory and a small fast one, counted while it runs."""

import re
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from d2lmini.costs.running import Sequence2Sequence, copy_module, list_tensors

__all__ = ["count_bytes_moved"]

PAGE = 4096  # bytes: what is moved at once
Page = tuple[int, int]  # a piece of memory, and which of its pages


class FastMemory(TorchDispatchMode):
    """A fast memory that holds the pages that were used last, and counts what comes in and what must go back."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.moved = 0
        self._room = size // PAGE
        self._held: OrderedDict[Page, tuple[int, bool]] = OrderedDict()  # its bytes; whether it was changed
        self._known: set[int] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation: it reads each of its tensors once and writes its results once; a view does neither."""
        result = op(*args, **(kwargs or {}))
        # Of the first argument of these only the shape counts.
        unread = re.search(r"::(new_|copy_|fill_|zero_)|_like\b", op.name())
        read, written = list_tensors(args[bool(unread) :], kwargs), list_tensors(result)
        before = {tensor.untyped_storage()._cdata for tensor in list_tensors(args, kwargs)}
        is_view = written and all(tensor.untyped_storage()._cdata in before for tensor in written)
        if "empty" not in op.name() and (op._schema.is_mutable or not is_view):
            self._use(read, changed=False)
            self._use(written, changed=True)
        return result

    def write_back(self) -> None:
        """Move what was changed and is still in use back to the large memory."""
        self.moved += sum(size for size, changed in self._held.values() if changed)
        self._held.clear()

    def _use(self, tensors: list[Tensor], *, changed: bool) -> None:
        for page, size in (each for tensor in tensors for each in self._list_pages(tensor)):
            before = self._held.pop(page, None)
            self.moved += size if before is None and not changed else 0
            self._held[page] = (size, changed or (before is not None and before[1]))
            if len(self._held) > self._room:
                _, (given_up, must_go_back) = self._held.popitem(last=False)
                self.moved += given_up if must_go_back else 0

    def _list_pages(self, tensor: Tensor) -> Iterator[tuple[Page, int]]:
        storage = tensor.untyped_storage()
        piece = storage._cdata
        if piece not in self._known:
            self._known.add(piece)
            weakref.finalize(storage, self._forget, piece).atexit = False
        if tensor.numel() == 0:
            return
        steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        first = tensor.storage_offset() * tensor.itemsize
        last = first + (steps + 1) * tensor.itemsize
        for number in range(first // PAGE, -(-last // PAGE)):
            yield (piece, number), min(PAGE, storage.nbytes() - number * PAGE)

    def _forget(self, piece: int) -> None:
        """What nobody can read any more need not go back."""
        self._known.discard(piece)
        for page in [page for page in self._held if page[0] == piece]:
            del self._held[page]


def count_bytes_moved(f: Sequence2Sequence, X: Tensor, fast_memory: int) -> int:
    """Bytes that `f(X)` moves between a large memory and a fast one of `fast_memory` bytes.

    The machine of Hong and Kung (1981): each operation of PyTorch reads its tensors and writes its results through the
    fast memory, once each. What was used last stays there; what has to make room goes back if it was changed. What is
    read again while it is there costs nothing, and a result that is dropped before it had to go back costs nothing
    either. At the end the results go back. A view moves nothing. Inside an operation nothing is seen: a matrix product
    counts as if it read each factor once.

    Chapter: Attention in linear memory.

    Args:
        f: a function of a sequence.
        X: input, `(batch, n, d)`.
        fast_memory: bytes of the fast memory, at least one page of 4096.

    Returns:
        The number of bytes, in both directions together.

    Raises:
        ValueError: if the fast memory holds no page.

    >>> count_bytes_moved(torch.exp, torch.zeros(1, 10, 8), fast_memory=2**16)
    640
    """
    if fast_memory < PAGE:
        raise ValueError(f"fast_memory must be at least {PAGE} bytes, one page, got {fast_memory}")
    memory = FastMemory(fast_memory)
    with memory:
        result = copy_module(f)(X)
    memory.write_back()
    del result
    return memory.moved
