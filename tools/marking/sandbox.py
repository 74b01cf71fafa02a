"""A process for each notebook: its limits, and what comes back from it."""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from threading import Event, Thread
from typing import Any

from tools import ROOT

SECONDS = 600.0  # a notebook may run
CELL_SECONDS = 60.0  # one of its cells
MEMORY = 8 * 2**30  # bytes of addresses; torch alone takes some of them
FILES = 100 * 2**20  # bytes in any one file that it writes
SAID = 2**20  # bytes of verdicts
STOPPED = Event()  # whoever waits for the marks has given up
_RUNNING: set[subprocess.Popen[bytes]] = set()


def stop() -> None:
    """End what runs, and begin nothing any more."""
    STOPPED.set()
    for process in list(_RUNNING):
        kill(process)


@cache
def leave_network() -> list[str]:
    """The command in front of another that takes the network from it; none where the platform has none."""
    command = ["unshare", "--map-root-user", "--net"]
    if not shutil.which(command[0]) or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        return []
    return command


def set_limits() -> None:
    """What the process and its children may use; a notebook cannot raise it again."""
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILES), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


def run(plan: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """What a plan gives: a record for each question that was reached, and why it ended early, if it did.

    Raises:
        InterruptedError: if it was stopped from outside.
    """
    if STOPPED.is_set():
        raise InterruptedError
    word = secrets.token_hex(16)
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(ROOT),
            "HOME": folder,
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": folder,
            "OMP_NUM_THREADS": "1",
            "TQDM_DISABLE": "1",
        }
        command = [*leave_network(), sys.executable, "-m", "tools.marking.attempt", str(writing)]
        with (
            os.fdopen(reading, "rb") as pipe,
            subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[writing],
                preexec_fn=set_limits,  # noqa: PLW1509 - it calls the kernel alone
                start_new_session=True,
            ) as process,
        ):
            os.close(writing)
            _RUNNING.add(process)
            said: list[bytes] = []
            reader = Thread(target=lambda: said.append(pipe.read(SAID)))
            reader.start()
            tell(process, {"word": word, "seconds": CELL_SECONDS, **plan})
            ended = wait(process, SECONDS)
            kill(process)  # whatever it has left behind holds the pipe open
            reader.join()
            _RUNNING.discard(process)
            records = read_records(b"".join(said), word)
    if STOPPED.is_set():
        raise InterruptedError
    if records and records[-1].get("done"):
        return records[:-1], ""
    return records, ended or "the notebook ended its own process"


def tell(process: subprocess.Popen[bytes], plan: dict[str, Any]) -> None:
    """Hand over the plan."""
    assert process.stdin
    try:
        process.stdin.write(json.dumps(plan).encode())
        process.stdin.close()
    except BrokenPipeError:  # it has ended already
        pass


def wait(process: subprocess.Popen[bytes], seconds: float) -> str:
    """Wait for a process for so long; why it was stopped, if it was."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"it had not ended after {seconds:g} seconds"
    return ""


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def read_records(said: bytes, word: str) -> list[dict[str, Any]]:
    """The records that carry the word; anything else in the pipe is none of ours."""
    records = []
    for line in said.decode("utf-8", "replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("word") == word:
            records.append(record)
    return records
