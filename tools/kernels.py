"""Kernels that talk through files instead of ports.

Jupyter picks free ports, releases them, and tells the kernel, which takes them a second later. With several kernels,
servers and browsers side by side, another process sometimes gets there first: "Address already in use".
"""

from __future__ import annotations

import itertools
import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="kernel-")  # gone when the process ends
_COUNT = itertools.count()


def over_files() -> dict[str, str]:
    """Settings for one `KernelManager`; none where the system has no Unix sockets."""
    if os.name != "posix":
        return {}
    return {"transport": "ipc", "ip": os.path.join(_FOLDER.name, str(next(_COUNT)))}
