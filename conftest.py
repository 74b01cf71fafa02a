"""What every test run shares, with or without make: threads, the package under test, kernels over files."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

# One thread a process: tests and kernels run side by side, and sums come out in the same order on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No bars in stored outputs and in logs.
os.environ["TQDM_DISABLE"] = "1"
# Kernels import the package that lies here, even where another copy is installed.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)


def pytest_configure(config: Any) -> None:
    """Let nbval compare no mere names, its kernels talk through files; most tests run without it, which is quicker."""
    if not config.pluginmanager.hasplugin("nbval"):
        return
    import nbval.kernel
    from jupyter_client.manager import KernelManager

    from tools.kernels import over_files

    nbval.kernel.KernelManager = lambda **arguments: KernelManager(**arguments, **over_files())
    config.option.nbval_sanitize_with = str(Path(__file__).parent / "tools/sanitize.cfg")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Say on the line of a failure which recipe of the page on extending tells how it is done."""
    report = yield
    recipe = item.get_closest_marker("recipe")
    if report.failed and recipe and (crash := getattr(report.longrepr, "reprcrash", None)):
        first, *rest = crash.message.split("\n")
        crash.message = "\n".join([f"{first} (book/extending.md: {recipe.args[0]})", *rest])
    return report
