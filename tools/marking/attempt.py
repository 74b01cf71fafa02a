"""Run the cells of a returned notebook and check what they define: the process that `sandbox` starts.

The plan comes through the standard input, the verdicts go out through a pipe, each with a word that only the two ends
know. The checks are those of the package as it was before the first cell ran; whoever changes it, or what it calls, is
reported.
"""

from __future__ import annotations

import builtins
import io
import json
import math
import os
import re
import sys
from contextlib import redirect_stdout
from types import FunctionType
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import d2lmini as d2l
from d2lmini_exercises import core
from d2lmini_exercises.shelter import limit_time

# What checks compare with. Other names of torch it replaces itself, when a part of it is loaded late.
COMPARISONS = ((torch, ("isclose", "allclose", "equal", "as_tensor")), (torch.Tensor, ("all", "any", "detach", "to")))
_check, _print, _limit_time, _dumps, _write = d2l.check, builtins.print, limit_time, json.dumps, os.write


def take_stock() -> dict[str, Any]:
    """What a check stands on: the things in the package and in Python, the code of functions, comparisons of torch."""
    stock: dict[str, Any] = {f"checker {name}": function for name, function in core._CHECKERS.items()}
    modules = [module for name, module in sys.modules.items() if name.startswith("d2lmini")]
    for module in [*modules, builtins, math]:
        for name, thing in list(vars(module).items()):
            if not name.startswith("__") and name != "_":  # `_` is what a cell returned last
                stock |= look_at(f"{module.__name__}.{name}", thing)
    for place, names in COMPARISONS:
        stock |= {f"torch {name}": vars(place)[name] if name in vars(place) else getattr(place, name) for name in names}
    return stock


def look_at(name: str, thing: Any) -> dict[str, Any]:
    """A thing, and of a function what can be changed in it: its code and what its arguments are by default."""
    if not isinstance(thing, FunctionType):
        return {name: thing}
    defaults = [*enumerate(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).items()]
    return {name: thing, f"{name}()": thing.__code__} | {f"{name}({key}=)": value for key, value in defaults}


def find_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is another thing than it was. New names are none: torch and the package load some of their parts late."""
    return sorted(name for name, thing in before.items() if after.get(name) is not thing)


def answer(shell: InteractiveShell, name: str, expression: str, seconds: float) -> str:
    """What the check prints of an answer; or why there is none."""
    out = io.StringIO()
    try:
        with redirect_stdout(out), _limit_time(2 * seconds):
            value = eval(expression, shell.user_ns)  # noqa: S307 - what this process is for: see SECURITY.md
            _check(name, value)
    except BaseException as error:  # whatever the notebook does, the others are marked
        return f"no answer: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return find_report(out.getvalue(), name)


def find_report(printed: str, name: str) -> str:
    """The report of a check: what comes last, after all that an answer itself prints, which may look like a report."""
    found = list(re.finditer(rf"^(✓ {name}: |✗ {name}: |{name}: not attempted yet$)", printed, re.MULTILINE))
    return printed[found[-1].start() :] if found else "no answer: its check said nothing"


def main() -> None:
    """Run and check what the plan on the standard input says."""
    plan, pipe = json.load(sys.stdin), int(sys.argv[1])
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=config)
    before = take_stock()

    def tell(**said: Any) -> None:
        _write(pipe, (_dumps({"word": plan["word"], **said}) + "\n").encode())

    for number, cell in enumerate(plan["cells"]):
        with _limit_time(plan["seconds"]):
            result = shell.run_cell(cell, silent=True)
        failed = result.error_before_exec or result.error_in_exec
        for question in plan["questions"]:
            if question["after"] == number:
                verdicts = [answer(shell, question["name"], asked, plan["seconds"]) for asked in question["answers"]]
                tell(
                    name=question["name"],
                    verdicts=verdicts,
                    error=f"{type(failed).__name__}: {failed}"[:200] if failed else "",
                    changed=find_changes(before, take_stock())[:3],
                    shadowed=shell.user_ns.get("d2l", d2l) is not d2l,
                )
    tell(done=True)


if __name__ == "__main__":
    main()
