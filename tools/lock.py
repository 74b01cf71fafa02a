"""Write the lower half of requirements.txt again: what the packages on top pull in, the newest of each.

`make lock` runs it, after somebody has changed a version on top. There are no hashes: pip would then ask for one of the
book's own package too, which is installed from this folder, and the README's two commands would not be enough.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

from tools import ROOT

REQUIREMENTS = ROOT / "requirements.txt"
HEADING = "# What these pull in\n"
PLACE = ROOT / ".build/lock"
# Not everywhere: torch brings these only on Linux with CUDA, and pip comes with the environment.
LEFT_OUT = re.compile(r"(nvidia|cuda)[-_]|triton\b|pip\b|setuptools-scm\b")


def read_names(lines: str) -> set[str]:
    """The packages that stand in a list, by the name that the index knows them by."""
    return {re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"(?m)^([\w.-]+)==", lines)}


def join(asked: str, frozen: str) -> str:
    """What was asked for, and below it what came with it: `frozen`, as pip lists what is installed."""
    known = read_names(asked)
    versions = [
        line.partition("+")[0] for line in frozen.splitlines() if "==" in line
    ]  # a build, such as +cpu, is left out
    pulled = [line for line in versions if not read_names(line) & known and not LEFT_OUT.match(line)]
    return asked + HEADING + "".join(f"{line}\n" for line in sorted(pulled, key=lambda line: sorted(read_names(line))))


def main() -> None:
    """Install what is asked for, and write down what is there then."""
    asked = REQUIREMENTS.read_text("utf-8").partition(HEADING)[0]
    venv.create(PLACE, clear=True, with_pip=True)
    wanted = PLACE / "asked.txt"
    wanted.write_text(asked.replace("--editable .", f"--editable {ROOT}"), "utf-8")
    pip = [str(PLACE / ("Scripts" if sys.platform == "win32" else "bin") / "python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--requirement", str(wanted)], check=True)
    listed = subprocess.run([*pip, "freeze", "--all", "--exclude-editable"], check=True, capture_output=True, text=True)
    Path(REQUIREMENTS).write_text(join(asked, listed.stdout), "utf-8")


if __name__ == "__main__":
    main()
