"""Kernels that talk through files instead of ports.

Jupyter picks free ports, releases them, and tells the kernel, which takes them a second later. With several kernels,
servers and browsers side by side, another process sometimes gets there first: "Address already in use".
"""

import itertools
import os
import tempfile

_FOLDER, _COUNT = tempfile.TemporaryDirectory(prefix="kernel-"), itertools.count()  # gone when the process ends


def over_files() -> dict[str, str]:
    """Settings for one `KernelManager`; none where the system has no Unix sockets."""
    return {"transport": "ipc", "ip": f"{_FOLDER.name}/{next(_COUNT)}"} if os.name == "posix" else {}
