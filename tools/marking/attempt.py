"""Run the cells of a returned notebook and check what they define: the process that `sandbox` starts.

The plan comes through the standard input, the verdicts go into a file, each with a word that only the two ends know.
The check and the checkers are those of the package, whatever a cell has put in their place.
"""

import io
import json
import os
import re
import sys
from contextlib import redirect_stdout
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import d2lmini as d2l
from d2lmini_exercises.engine import core, hints
from d2lmini_exercises.engine.sandbox import limit_time

_check, _limit_time, _dumps, _write, _CHECKERS = d2l.check, limit_time, json.dumps, os.write, dict(core._CHECKERS)
_find_clue = hints.find_clue


class Shell(InteractiveShell):
    """A shell that accepts `%matplotlib inline`, and shows nothing."""

    def enable_gui(self, gui: str | None = None) -> None:
        """There is no screen."""


def answer(shell: InteractiveShell, name: str, expression: str, seconds: float) -> str:
    """What the check prints of an answer, with the last of its hints; or why there is none."""
    out = io.StringIO()
    try:
        with redirect_stdout(out), _limit_time(2 * seconds):
            value = eval(expression, shell.user_ns)  # noqa: S307 - what this process is for: see SECURITY.md
            core._CHECKERS = dict(_CHECKERS)
            _check(name, value)
    except BaseException as error:  # whatever the notebook does, the others are marked
        return f"no answer: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    # What comes last is the report: what an answer itself prints may look like one.
    printed = out.getvalue()
    found = list(re.finditer(rf"^(✓ {name}: |✗ {name}: |{name}: not attempted yet$)", printed, re.MULTILINE))
    if not found:
        return "no answer: its check said nothing"
    told, clue = printed[found[-1].start() :], _find_clue(name)
    return f"{told}\n  hint: {clue}" if clue else told


def main() -> None:
    """Run and check what the plan on the standard input says."""
    plan, file = json.load(sys.stdin), int(sys.argv[1])
    shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))

    def tell(**said: Any) -> None:
        _write(file, (_dumps({"word": plan["word"], **said}) + "\n").encode())

    for number, cell in enumerate(plan["cells"]):
        with _limit_time(plan["seconds"]):
            result = shell.run_cell(cell, silent=True)
        failed = result.error_before_exec or result.error_in_exec
        for question in plan["questions"]:
            if question["after"] == number:
                answers = filter(None, [question["expression"], question["theirs"]])
                verdicts = [answer(shell, question["name"], asked, plan["seconds"]) for asked in answers]
                tell(
                    name=question["name"],
                    verdicts=verdicts,
                    error=f"{type(failed).__name__}: {failed}"[:200] if failed else "",
                    shadowed=shell.user_ns.get("d2l", d2l) is not d2l,
                )
    tell(done=True)


if __name__ == "__main__":
    main()
