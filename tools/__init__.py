"""What `make notebooks`, `make repository`, `make site`, `make pdf` and `make epub` call."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
