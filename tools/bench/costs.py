"""What the package costs its reader and its user, in one table: `python -m tools.bench.costs`. It is not a test.

- Guards: lines of an `if` that only raises, calls of `check_*`, and what is inside `check_*`.
- Functions entered in one call, how many of them check something, and how often the call moves to another file.
- Changes of shape of a query, bytes that autograd keeps, and the time of a tiny forward pass against PyTorch's.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import d2lmini as d2l

PACKAGE = Path(d2l.__file__).parent
ROOMS = ("attention", "positions", "transformer")
RESHAPING = {"view", "reshape", "unflatten", "flatten", "transpose", "permute", "unsqueeze", "squeeze", "__getitem__"}


class Asked(nn.Module):
    """A layer of attention as a function of one sequence."""

    def __init__(self, name: str, num_hiddens: int, num_heads: int) -> None:
        super().__init__()
        scheme = d2l.make_positions(name, num_hiddens, num_heads)[1]
        self.mha = d2l.MultiHeadAttention(*(num_hiddens,) * 4, num_heads, 0.0, True, positions=scheme)

    def forward(self, X: Tensor) -> Tensor:
        """Let the sequence attend to itself."""
        return self.mha(X, X, X)


def find_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """All functions and methods of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def find_code(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function after its docstring."""
    return function.body[1 if ast.get_docstring(function) else 0 :]


def is_guard(statement: ast.stmt) -> bool:
    """Whether a statement only checks that something is allowed."""
    if isinstance(statement, ast.If):
        return (
            not statement.orelse
            and all(isinstance(inside, (ast.Raise, ast.Assign)) for inside in statement.body)
            and (isinstance(statement.body[-1], ast.Raise))
        )
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and "check" in ast.unparse(call.func)


def count_lines(statements: list[ast.stmt], guarding: bool) -> tuple[int, int]:
    """Lines of guards and of other code; everything inside a check is a guard."""
    guards, code = 0, 0
    for statement in statements:
        lines = (statement.end_lineno or 0) - statement.lineno + 1
        blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        inside = [entry for block in blocks for entry in block if isinstance(entry, ast.stmt)]
        if guarding or is_guard(statement):
            guards += lines
        elif inside and not isinstance(statement, ast.FunctionDef):
            more = count_lines(inside, guarding)
            guards, code = guards + more[0], code + more[1] + inside[0].lineno - statement.lineno
        else:
            code += lines
    return guards, code


def share_of_guards(files: list[Path]) -> float:
    """Guards / (guards + code) in the functions of these modules."""
    guards, code = 0, 0
    for file in files:
        for function in find_functions(ast.parse(file.read_text("utf-8"))):
            more = count_lines(find_code(function), "check" in function.name)
            guards, code = guards + more[0], code + more[1]
    return guards / (guards + code)


def find_longest_function() -> tuple[int, str]:
    """The longest function of the package, not counting its docstring."""
    lengths = []
    for file in PACKAGE.rglob("*.py"):
        for function in find_functions(ast.parse(file.read_text("utf-8"))):
            first = find_code(function)[0].lineno if ast.get_docstring(function) else function.lineno
            signature = function.body[0].lineno - function.lineno if ast.get_docstring(function) else 0
            length = (function.end_lineno or 0) - first + 1 + signature
            lengths.append((length, f"{file.relative_to(PACKAGE)}: {function.name}"))
    return max(lengths)


def trace(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Functions of the package entered, how many of them check, and moves between files."""
    entered: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            entered.append((code.co_filename, code.co_name))

    call()
    sys.setprofile(note)
    call()
    sys.setprofile(None)
    moves = sum(one[0] != other[0] for one, other in pairwise(entered))
    return len(entered), sum("check" in name for _, name in entered), moves


class Reshaped(TorchFunctionMode):
    """Counts the changes of shape of tensors that have a dimension of size `size` and none of size `other`."""

    def __init__(self, size: int, other: int) -> None:
        super().__init__()
        self.size, self.other, self.count = size, other, 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = getattr(function, "__name__", "") in RESHAPING
        shape = args[0].shape if named and isinstance(args[0], Tensor) and args[0].is_floating_point() else ()
        self.count += self.size in shape and self.other not in shape
        return function(*args, **(kwargs or {}))


def count_reshapes() -> int:
    """Changes of shape of the queries in one call with a position bias."""
    mha, counter = Asked("alibi", 16, 4).mha, Reshaped(5, 7)
    with counter:
        mha(torch.randn(2, 5, 16), torch.randn(2, 7, 16), torch.randn(2, 7, 16))
    return counter.count


def time_best(*calls: Callable[[], Any]) -> list[float]:
    """The shortest time of each call in microseconds, measured in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(1000):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            for _ in range(3):
                call()
            best[i] = min(best[i], (time.perf_counter() - begin) / 3e-6)
    return best


def main() -> None:
    """Print the table."""
    torch.manual_seed(0)
    checks = [PACKAGE / "arguments.py", PACKAGE / "tensors.py", PACKAGE / "transformer" / "door.py"]
    files = [file for room in ROOMS for file in (PACKAGE / room).glob("*.py") if file not in checks]
    print(f"guards / (guards + code), model modules: {share_of_guards(files):.1%}")
    print(f"the same with the files of checks:       {share_of_guards([*files, *checks]):.1%}")
    X, mha = torch.randn(2, 5, 16), Asked("none", 16, 4).mha
    decoder = d2l.TransformerDecoder(10, 16, 32, 4, 2, 0.0).eval()
    token = torch.tensor([[1], [2]])
    state = decoder.step(token, decoder.start(X))[1]
    print("mha(X, X, X): functions, checks, moves:", *trace(lambda: mha(X, X, X)))
    print("a decoding step, 2 blocks:             ", *trace(lambda: decoder.step(token, state)))
    print("changes of shape of a query:", count_reshapes())
    tokens = torch.randn(8, 256, 64)
    kept = [d2l.measure_activation_memory(Asked(name, 64, 8), tokens) / 2**20 for name in ("none", "alibi", "t5")]
    print("kept for b 8, n 256, d 64, h 8, in MiB: none {:.1f}, ALiBi {:.1f}, T5 {:.1f}".format(*kept))
    theirs = nn.MultiheadAttention(16, 4, batch_first=True)
    ours, reference = time_best(lambda: mha(X, X, X), lambda: theirs(X, X, X, need_weights=False))
    print(f"tiny forward: {ours:.0f} us, PyTorch's {reference:.0f} us, ratio {ours / reference:.2f}")
    print("longest function without docstring: {} lines, {}".format(*find_longest_function()))


if __name__ == "__main__":
    main()
