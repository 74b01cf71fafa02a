"""How long each entry of an output had to wait: the operations behind it, followed while they run.

Beside each piece of memory stands a second one, which holds for each entry the length of the longest chain that leads
from the input to it, or -1 where none does. So it does not matter who wrote which part of a tensor, or when.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from d2lmini.costs.blind_spots import KeepInside, unfuse
from d2lmini.costs.operations import COPIES, FILLS, MOVES, is_creation, is_plain, is_product, is_view, name_operation
from d2lmini.costs.running import Sequence2Sequence, record, walk_graph

_PLACES = ("index", "indices", "mask", "condition")  # arguments that say where, not what
_OTHER_SIZE = ("view_as_real", "view_as_complex")  # views whose entries have another size


def measure_longest_chain(f: Sequence2Sequence, X: Tensor) -> int:
    """The length of the longest chain from `X` to an entry of `f(X)`, or -1 if there is none."""
    lengths = _ChainLengths()

    def follow(X: Tensor) -> Any:
        lengths.of(X).zero_()
        with lengths:
            return f(X)

    with unfuse(), KeepInside():
        output = record(follow, X)
    if lengths.hidden:
        name = _find_in_graph(output, lengths.hidden[0])
        raise ValueError(f"{name} hides a chain of operations: use a version of f that shows it")
    return lengths.longest(output)


class _ChainLengths(TorchDispatchMode):
    """Follows the operations, and keeps the length of the chain behind each entry of each tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: list[str] = []
        self._memory: dict[tuple[int, int], tuple[Any, Tensor]] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """The lengths of the entries of a tensor, as a view: what is written there is remembered."""
        if tensor.layout != torch.strided or tensor.is_nested:
            raise ValueError(f"f uses a tensor of layout {tensor.layout}, through which no chain can be followed")
        storage = tensor.untyped_storage()
        key, entries = (storage._cdata, tensor.itemsize), storage.nbytes() // tensor.itemsize
        if key not in self._memory:  # held, so that no other takes its place
            self._memory[key] = storage, torch.full((entries,), -1, device=tensor.device)
        if len(self._memory[key][1]) < entries:
            raise ValueError("f gives a tensor another size in place, through which no chain can be followed")
        return self._memory[key][1].as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())

    def longest(self, *values: Any) -> int:
        """The length of the longest chain behind any entry of these."""
        found = [self.of(leaf) for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]
        return max((int(lengths.max()) for lengths in found if lengths.numel()), default=-1)

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note how long its results had to wait."""
        kwargs, name = kwargs or {}, name_operation(op)
        if not (known := is_plain(op) or is_product(op) or name == "topk"):
            with self:
                if (result := op.decompose(*args, **kwargs)) is not NotImplemented:
                    return result
        result = op(*args, **kwargs)
        if is_view(op) and name not in _OTHER_SIZE and op._overloadname != "dtype":
            return result
        written = [leaf for leaf in (*tree_leaves(result), *_find_written(op, args)) if isinstance(leaf, Tensor)]
        if is_creation(op):
            self._write(written, -1)
        elif name in FILLS and op._schema.is_mutable:
            self._write(written, self.longest(args[1:], kwargs))
        elif name in COPIES:
            self.of(result).copy_(self.of(args[1] if name == "copy" else args[0]))
        elif name in MOVES and not _adds(op, args, kwargs):
            self._move(op, args, kwargs, result)
        else:
            waited = self.longest(args, kwargs)
            if waited >= 0 and torch.Tag.data_dependent_output in op.tags:
                raise ValueError("f takes a number that depends on X into Python, where it is lost: what waits for it?")
            if waited >= 0 and not known:
                self.hidden.append(name)
            steps = args[1] if name == "topk" else int(not is_view(op))  # as many maxima, one after the other
            self._write(written, waited + steps * (waited >= 0))
        return result

    def _write(self, tensors: list[Tensor], length: int) -> None:
        for tensor in tensors:
            self.of(tensor).fill_(length)

    def _move(self, op: Any, args: Any, kwargs: Any, result: Tensor) -> None:
        """Move the lengths as the entries are moved; who needs a result to know where to waits for that, too."""
        given = {argument.name: value for argument, value in zip(op._schema.arguments, args, strict=False)} | kwargs
        waited = self.longest([given[name] for name in _PLACES if name in given])
        lengths = {
            name: value if name in _PLACES else tree_map_only(Tensor, self.of, value) for name, value in given.items()
        }
        if isinstance(lengths.get("value"), (int, float)):
            lengths["value"] = -1
        self.of(result).copy_(op(**lengths).clamp(min=waited))


def _adds(op: Any, args: Any, kwargs: Any) -> bool:
    """Whether a move adds to what is there, and so computes something."""
    given = {argument.name: value for argument, value in zip(op._schema.arguments, args, strict=False)} | kwargs
    return bool(given.get("accumulate")) or given.get("reduce") is not None


def _find_written(op: Any, args: Any) -> Iterator[Any]:
    """The arguments into which an operation writes."""
    for argument, value in zip(op._schema.arguments, args, strict=False):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield value


def _find_in_graph(output: Tensor, name: str) -> str:
    """The name that an operation has in the graph of autograd, which a reader may print; its own if it is not there."""
    names = [node.name() for node in walk_graph(output.grad_fn)]
    return next((node for node in names if name.replace("_", "") in node.lower()), name)
