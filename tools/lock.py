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
LEFT_OUT = re.compile(r"(nvidia|cuda)-|(triton|pip)$")


def read_versions(lines: str) -> dict[str, str]:
    """The packages of a list, by the name that the index knows them by. A build, such as +cpu, is left out."""
    found = re.findall(r"(?m)^([\w.-]+)==([^\s+]+)", lines)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def join(asked: str, frozen: str) -> str:
    """What was asked for, and below it what came with it: `frozen`, as pip lists what is installed."""
    known, installed = read_versions(asked), read_versions(frozen)
    pulled = sorted(name for name in installed if name not in known and not LEFT_OUT.match(name))
    return asked + HEADING + "".join(f"{name}=={installed[name]}\n" for name in pulled)


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
