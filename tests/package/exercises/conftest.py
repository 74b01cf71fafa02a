"""What a checker measures for comparison takes half a second, and gives the same for each of twenty answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from d2lmini.exercises.attention_pooling import queries


@pytest.fixture(scope="session", autouse=True)
def measured_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_measure_saturation", functools.cache(queries._measure_saturation))
        yield
