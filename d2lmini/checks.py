"""What may come in. Each check raises a `ValueError` that names the argument, its value and what is allowed.

A public function or module checks its arguments at the entry, once. The layers inside trust it: whoever owns them sets
their `checks_input` to `False`. The names of dimensions are those of the page Notation: `batch` examples, `steps`
tokens, `queries` queries, `keys` key-value pairs, `num_heads` heads of size `p`.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral

import torch
from torch import Tensor, nn

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


# ---- plain arguments -------------------------------------------------------------------------------------------------


def check_size(name: str, size: int) -> None:
    """Check that a size or a number of something is a positive integer."""
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def check_flag(name: str, flag: bool) -> None:
    """Check that a flag is `True` or `False`."""
    if not isinstance(flag, bool):
        raise ValueError(f"{name} must be True or False, got {flag!r}")


def check_number(name: str, number: float, lowest: float, highest: float) -> None:
    """Check that a number lies in `lowest..highest`."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not lowest <= number <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, got {number!r}")


def check_choice(name: str, choice: str, allowed: Sequence[str]) -> None:
    """Check that a choice given as a string is one of those allowed."""
    if choice not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {choice!r}")


def check_names(name: str, given: Sequence[object] | None, count: int, what: str) -> None:
    """Check that there is one name for each of `count` lines, rows or columns, or none at all."""
    if given is not None and (isinstance(given, str) or len(given) != count):
        found = repr(given) if isinstance(given, str) else len(given)
        raise ValueError(f"{name} must have one entry for each of the {count} {what}, got {found}")


def check_divides(part: str, num_parts: int, whole: str, size: int) -> None:
    """Check that so many parts, such as heads, share a size evenly."""
    check_size(whole, size)
    check_size(part, num_parts)
    if size % num_parts:
        raise ValueError(f"{whole} must be divisible by {part}, got {whole}={size} and {part}={num_parts}")


def check_start(start: int) -> None:
    """Check that the position of a first token is one from which float64 can count on."""
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start <= 2**52:
        raise ValueError(f"start must be an integer of at least 0 (and at most 2**52), got {start!r}")


# ---- tensors ---------------------------------------------------------------------------------------------------------


def name_shape(value: object) -> str:
    """The shape of a tensor, or the type of anything else, for a message."""
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__


def name_tensor(value: object) -> str:
    """The dtype and shape of a tensor, or the type of anything else, for a message."""
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def check_shapes(known: Mapping[str, int] | None = None, /, **tensors: tuple[object, str]) -> None:
    """Check that tensors have such shapes, and that a dimension that is `known`, or stands in several, has one size.

    check_shapes({"p": 8}, K=(K, "batch num_heads keys p"), V=(V, "batch num_heads keys p"))
    """
    known = known or {}
    sizes: dict[str, tuple[int, str]] = {}
    for name, (X, shape) in tensors.items():
        dims = shape.split()
        if not isinstance(X, Tensor) or X.dim() != len(dims):
            raise ValueError(f"{name} must be a tensor of shape ({', '.join(dims)}), got {name_shape(X)}")
        for dim, size in zip(dims, X.shape, strict=True):
            if dim not in sizes:
                sizes[dim] = (known[dim], "") if dim in known else (size, f", as {name} has")
            wanted, where = sizes[dim]
            if size != wanted:
                raise ValueError(f"{name} must have {dim}={wanted}{where}, got {name_shape(X)}")


def check_floats(**tensors: Tensor) -> None:
    """Check that tensors share one floating-point dtype; under autocast it may be one each, but float64."""
    first = next(iter(tensors.values()))
    for X in tensors.values():
        mixed = X.dtype != first.dtype and not (may_autocast(X) and may_autocast(first))
        if mixed or not X.is_floating_point():
            dtypes = [X.dtype for X in tensors.values()]
            raise ValueError(f"{', '.join(tensors)} must share one floating-point dtype, got {dtypes}")


def may_autocast(X: Tensor) -> bool:
    """Whether autocast is on, and would give `X` the dtype that it wants."""
    return autocasts(X.device) and X.is_floating_point() and X.dtype != torch.float64


def autocasts(device: torch.device) -> bool:
    """Whether autocast is on for a kind of device; some kinds, such as meta, do not support it."""
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def read_range(numbers: Tensor | None) -> tuple[float, float] | None:
    """The smallest and the largest number, or `None` where nobody can look: there are none, or they have no values yet.

    That is so on the meta device, under `vmap`, and while a graph is recorded to be run on other numbers later.
    """
    if numbers is None or numbers.numel() == 0:
        return None
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return None
    try:
        extremes = torch.aminmax(numbers.detach())
        lowest, highest = extremes.min.item(), extremes.max.item()
    except RuntimeError:
        return None
    return (lowest, highest) if isinstance(lowest, (int, float)) else None  # tools that record use symbols as numbers


def check_integers(name: str, numbers: Tensor) -> None:
    """Check that these are integers that can be compared, in a tensor of any shape."""
    if not isinstance(numbers, Tensor) or numbers.dtype not in _INTEGERS:
        raise ValueError(f"{name} must be a tensor of integers, got {name_tensor(numbers)}")


def check_boolean(name: str, mask: Tensor) -> None:
    """Check that a mask is a boolean tensor."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise ValueError(f"{name} must be a boolean tensor, got {name_tensor(mask)}")


def check_broadcast(name: str, numbers: Tensor, shape: Sequence[int]) -> None:
    """Check that a tensor broadcasts to `shape`."""
    pairs = zip(numbers.shape[::-1], shape[::-1], strict=False)
    if numbers.dim() > len(shape) or any(size not in (1, whole) for size, whole in pairs):
        raise ValueError(f"{name} must broadcast to {tuple(shape)}, got {name_shape(numbers)}")


def check_projected(name: str, X: Tensor | None, size: int, layer: nn.Module) -> None:
    """Check that a linear layer accepts `X`, `(..., size)`; autocast may mix float16, bfloat16 and float32."""
    if not isinstance(X, Tensor):
        raise ValueError(f"{name} must be a tensor, got {name_tensor(X)}")
    if X.shape[-1] != (size := getattr(layer, "in_features", size)):
        raise ValueError(f"{name} must have size {size} in their last dimension, got {name_shape(X)}")
    dtype = getattr(getattr(layer, "weight", None), "dtype", None)
    if dtype in (X.dtype, None) or not dtype.is_floating_point:  # a quantised layer has whole numbers, or a method
        return
    plain = type(layer) in (nn.Linear, nn.Conv1d) and not layer._forward_pre_hooks  # others may cast by themselves
    if plain and not may_autocast(X):
        raise ValueError(f"{name} must have the dtype of the weights, {dtype}, got {X.dtype}")


def check_tokens(tokens: Tensor, vocab_size: int) -> None:
    """Check that these are tokens of the vocabulary, `(batch, steps)`, by looking at their values."""
    if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"tokens must be integers (int64 or int32) of shape (batch, steps), got {name_tensor(tokens)}")
    lowest, highest = read_range(tokens) or (0, 0)
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(f"tokens must lie in 0..{vocab_size - 1}, got values from {lowest} to {highest}")


# ---- attention -------------------------------------------------------------------------------------------------------


def check_inputs(queries: object, keys: object, values: object, *, one_size: bool = False) -> None:
    """Check that queries, keys and values go together; queries and keys of one size if they need it."""
    query_size, key_size = ("size", "size") if one_size else ("query_size", "key_size")
    check_shapes(
        queries=(queries, f"batch queries {query_size}"),
        keys=(keys, f"batch keys {key_size}"),
        values=(values, "batch keys value_size"),
    )


def check_lengths(name: str, valid_lens: Tensor, num_keys: int) -> None:
    """Check that these are lengths, `(batch,)` or `(batch, queries)`, in `0..num_keys`, by looking at their values."""
    if not isinstance(valid_lens, Tensor) or valid_lens.dtype not in _INTEGERS + _FLOATS:
        raise ValueError(f"{name} must be a tensor of whole numbers, got {name_tensor(valid_lens)}")
    if valid_lens.dim() not in (1, 2):
        raise ValueError(f"{name} must have shape (batch,) or (batch, queries), got {name_shape(valid_lens)}")
    lowest, highest = read_range(valid_lens) or (0, 0)
    if not 0 <= lowest <= highest <= num_keys:
        found = f"got values from {lowest} to {highest}"
        raise ValueError(f"{name} must lie in 0..{num_keys} (the number of keys), {found}")
    if valid_lens.is_floating_point() and (read_range(valid_lens.frac()) or (0, 0))[1] > 0:
        raise ValueError(f"{name} must hold whole numbers, got {valid_lens[valid_lens.frac() > 0][0].item()}")


def check_one_length_each(name: str, valid_lens: Tensor, *shapes: tuple[int, ...]) -> None:
    """Check that there is one length for each example, or for each query."""
    if tuple(valid_lens.shape) not in shapes:
        raise ValueError(f"{name} must have shape {' or '.join(map(str, shapes))}, got {name_shape(valid_lens)}")


def check_restrictions(
    shape: Sequence[int], valid_lens: Tensor | None, mask: Tensor | None, causal: bool = False
) -> None:
    """Check what restricts attention of `shape`, `(..., queries, keys)`, beginning with the batch."""
    if valid_lens is not None:
        check_lengths("valid_lens", valid_lens, shape[-1])
        check_one_length_each("valid_lens", valid_lens, (shape[0],), (shape[0], shape[-2]))
    if mask is not None:
        check_mask(mask, shape)
    if causal is not False:
        check_causal(causal, *shape[-2:])


def check_causal(causal: bool, num_queries: int, num_keys: int) -> None:
    """Check that the queries can be the last of the keys, if attention is to be causal."""
    check_flag("causal", causal)
    if causal and num_queries > num_keys:
        found = f"got {num_queries} queries and {num_keys} keys"
        raise ValueError(f"causal=True needs at least as many keys as queries, {found}")


def check_mask(mask: Tensor, shape: Sequence[int]) -> None:
    """Check that this is a mask that broadcasts to `shape`, `(..., queries, keys)`."""
    check_boolean("mask", mask)
    if len(shape) == 4 and mask.dim() == 3 and mask.shape[0] != 1 and mask.shape[0] in shape[:2]:
        cure = "for one mask per example write mask[:, None], for one mask per head mask[None]"
        raise ValueError(f"mask of shape {name_shape(mask)} is ambiguous: {cure}")
    check_broadcast("mask", mask, shape)


def check_bias(bias: Tensor, shape: Sequence[int], device: torch.device) -> None:
    """Check that this is a bias of the scores that broadcasts to `shape`, `(..., queries, keys)`."""
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        raise ValueError(f"bias must be a tensor of floating-point numbers, got {name_tensor(bias)}")
    if bias.device != device:
        raise ValueError(f"bias must be on the device of the queries, {device}, got {bias.device}")
    check_broadcast("bias", bias, shape)


# ---- positions -------------------------------------------------------------------------------------------------------


def check_steps(num_queries: int, num_keys: int) -> None:
    """Check that the queries can be the last of the keys."""
    if any(isinstance(n, bool) or not isinstance(n, (int, torch.SymInt)) for n in (num_queries, num_keys)):
        raise ValueError(f"num_queries and num_keys must be integers, got {num_queries!r} and {num_keys!r}")
    if not 0 <= num_queries <= num_keys:
        found = f"got {num_queries=}, {num_keys=}"
        raise ValueError(f"the queries are the last of the keys, so 0 <= num_queries <= num_keys must hold, {found}")


def check_first(X: Tensor, start: int | Tensor, num_hiddens: int) -> None:
    """Check that `X` is `(batch, steps, num_hiddens)`, and that it may begin at position `start`."""
    check_shapes({"num_hiddens": num_hiddens}, X=(X, "batch steps num_hiddens"))
    check_floats(X=X)
    if isinstance(start, Tensor) and start.dim() != 0:
        check_integers("start", start)
        check_one_length_each("start", start, (X.shape[0],))
    elif not isinstance(start, torch.SymInt) and not torch.jit.is_tracing():  # type: ignore[attr-defined]
        check_start(start)  # type: ignore[arg-type]


def check_room(num_steps: int, start: int | Tensor, max_len: int) -> None:
    """Check that a table of `max_len` positions covers a sequence, where these are numbers already."""
    if isinstance(start, torch.SymInt) or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return
    last = (read_range(start) or (0, -math.inf))[1] if isinstance(start, Tensor) else start
    if last + num_steps > max_len:
        begins = f" that begins at position start={last}" if last else ""
        raise ValueError(f"a sequence of length {num_steps}{begins} does not fit into max_len={max_len}")


def check_pairs(name: str, X: Tensor) -> None:
    """Check that the features of `X`, `(..., steps, size)`, form pairs."""
    if not isinstance(X, Tensor) or X.dim() < 2 or not X.is_floating_point():
        raise ValueError(f"{name} must hold floating-point numbers of shape (..., steps, size), got {name_tensor(X)}")
    if X.shape[-1] % 2 or X.shape[-1] == 0:
        raise ValueError(f"rotary embedding turns pairs: the size of {name} must be even, got {X.shape[-1]}")


def check_positions(queries: Tensor, keys: Tensor, **known: int) -> None:
    """Check that queries can be the last of the keys, in heads of the number and size that a scheme was made for."""
    shape = "batch num_heads {} head_size"
    check_shapes(known, queries=(queries, shape.format("queries")), keys=(keys, shape.format("keys")))
    if queries.shape[-2] > keys.shape[-2]:
        raise ValueError(
            "with relative positions the queries are the last of the keys, so there must be at least as many keys: "
            f"got {queries.shape[-2]} queries and {keys.shape[-2]} keys"
        )
