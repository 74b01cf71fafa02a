"""A process for each notebook: its limits, and what comes back from it."""

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
from threading import Event
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


def run(cells: list[str], questions: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """What a notebook gives: a record for each question that was reached, and why it ended early, if it did.

    Raises:
        InterruptedError: if it was stopped from outside.
    """
    if STOPPED.is_set():
        raise InterruptedError
    word, ended = secrets.token_hex(16), ""
    asked = json.dumps({"word": word, "seconds": CELL_SECONDS, "cells": cells, "questions": questions}).encode()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), "HOME": folder}
        environment |= {"MPLBACKEND": "agg", "MPLCONFIGDIR": folder, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
        environment["D2L_PROGRESS"] = ""
        with subprocess.Popen(
            [*leave_network(), sys.executable, "-m", "tools.teaching.marking.attempt", str(file.fileno())],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[file.fileno()],
            preexec_fn=set_limits,  # noqa: PLW1509 - it calls the kernel alone
            start_new_session=True,
        ) as process:
            _RUNNING.add(process)
            try:
                process.communicate(asked, SECONDS)
            except subprocess.TimeoutExpired:
                ended = f"it had not ended after {SECONDS:g} seconds"
            kill(process)  # and whatever it has left behind
            _RUNNING.discard(process)
        file.seek(0)
        records = read_records(file.read(SAID), word)
    if STOPPED.is_set():
        raise InterruptedError
    if records and records[-1].get("done"):
        return records[:-1], ""
    return records, ended or "the notebook ended its own process"


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def read_records(said: bytes, word: str) -> list[dict[str, Any]]:
    """The records that carry the word; anything else in the file is none of ours."""
    records = []
    for line in said.decode("utf-8", "replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("word") == word:
            records.append(record)
    return records
