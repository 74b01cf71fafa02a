"""Kernels that talk through files instead of ports.

Jupyter picks free ports, releases them, and tells the kernel, which takes them a second later. With several kernels,
servers and browsers side by side, another process sometimes gets there first: "Address already in use".
"""

import itertools
import os
import tempfile
import time
from queue import Empty
from typing import Any

_FOLDER, _COUNT = tempfile.TemporaryDirectory(prefix="kernel-"), itertools.count()  # gone when the process ends


def over_files() -> dict[str, str]:
    """Settings for one `KernelManager`; none where the system has no Unix sockets."""
    return {"transport": "ipc", "ip": f"{_FOLDER.name}/{next(_COUNT)}"} if os.name == "posix" else {}


def await_reply(kernel: Any, msg_id: str, timeout: float) -> None:
    """Wait for a cell as nbval's kernel does, and ask each second whether the kernel still lives.

    Raises:
        Empty: if the time is over.
        RuntimeError: if the kernel died, as one does for which there is no memory.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            reply = kernel.get_message("shell", timeout=1)
        except Empty:
            if not kernel.is_alive():
                raise RuntimeError("the kernel died") from None
            if time.monotonic() > end:
                raise
        else:
            if reply["parent_header"].get("msg_id") == msg_id:
                return
