"""Run a command while no other `make` works in this folder: `python3 tools/alone.py make book`.

Two would delete each other's stamps, and in the first minutes each other's environment. The lock is the kernel's, so it
ends with the processes that hold it, however they end. Any Python 3 can run this: the book's own may not be there yet.
"""

import fcntl
import os
import sys
from pathlib import Path

LOCK = Path(".build/lock")


def main() -> None:
    """Take the lock, or wait for it, and become the command, which inherits it."""
    LOCK.parent.mkdir(exist_ok=True)
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another make works in this folder: this one waits for it", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
