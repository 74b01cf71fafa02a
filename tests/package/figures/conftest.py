"""Figures are drawn without a window, and none is left behind."""

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")
