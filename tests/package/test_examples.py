"""The examples in the docstrings: each public name has one, and each gives what it says."""

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import matplotlib.pyplot as plt
import pytest
import torch

import d2lmini as d2l
from d2lmini import mixers
from d2lmini.costs.memory import measure_peak_memory
from d2lmini.costs.traffic import count_bytes_moved

MODULES = [found.name for found in pkgutil.walk_packages(d2l.__path__, "d2lmini.")]
FACE = [thing for name, thing in vars(d2l).items() if not name.startswith("_") and not inspect.ismodule(thing)]
PUBLIC = [*FACE, *(getattr(mixers, name) for name in mixers.__all__), measure_peak_memory, count_bytes_moved]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_a_public_name_has_an_example(thing: Any) -> None:
    assert ">>> " in (inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", MODULES)
def test_an_example_gives_what_it_says(name: str) -> None:
    torch.manual_seed(0)
    globs = {"d2l": d2l, "torch": torch, **{each: getattr(mixers, each) for each in mixers.__all__}}
    found = doctest.testmod(importlib.import_module(name), extraglobs=globs)
    plt.close("all")
    assert not found.failed
