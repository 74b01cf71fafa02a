"""What `make notebooks`, `make repository`, `make site`, `make pdf`, `make epub` and `make slides` call."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
