"""What every test run shares, with or without make: threads, the package under test, the examples of hypothesis."""

import os
from pathlib import Path
from typing import Any

# One thread a process: tests and kernels run side by side, and sums come out in the same order on every machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No bars in stored outputs and in logs.
os.environ["TQDM_DISABLE"] = "1"
# Kernels import the package that lies here, even where another copy is installed.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)

import nbval.kernel
from hypothesis import settings
from jupyter_client.manager import KernelManager

from tools.kernels import over_files


def kernel_manager(**arguments: Any) -> KernelManager:
    return KernelManager(**arguments, **over_files())


nbval.kernel.KernelManager = kernel_manager

# The same examples in each run: what is green stays green until something changes.
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
