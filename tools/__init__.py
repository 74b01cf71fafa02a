"""What `make notebooks`, `make repository` and `make site` call."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
