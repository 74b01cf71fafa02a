"""An alarm that spares what watches the tests."""

from types import FrameType

import pytest

from d2lmini_exercises.engine import sandbox

stop = sandbox._stop


def stop_later_in_tools(signum: int, frame: FrameType | None) -> None:
    """Not inside coverage, whose lock would stay closed: the alarm comes again."""
    if frame is None or not any(tool in frame.f_code.co_filename for tool in ("/coverage/", "/hypothesis/")):
        stop(signum, frame)


@pytest.fixture(autouse=True)
def _alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_stop", stop_later_in_tools)
