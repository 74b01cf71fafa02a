"""What checkers are written with, and what judges an answer: below are the names that a chapter's module needs."""

from d2lmini_exercises.engine.convert import convert_arrays, convert_tensor, get_rounding, read_number, read_numbers
from d2lmini_exercises.engine.core import (
    Mistakes,
    checker,
    expect_function,
    expect_pair,
    expect_shape,
    find_hint,
    is_near,
)
from d2lmini_exercises.engine.edge_cases import APART, EDGES, FAR
from d2lmini_exercises.engine.equality import IN_PLACE, are_equal
from d2lmini_exercises.engine.exercise import Case, call, draw, exercise
from d2lmini_exercises.engine.prediction import Number, prediction
from d2lmini_exercises.engine.reports import WrongAnswer, shorten
from d2lmini_exercises.engine.tasks import Task, list_in_order

__all__ = [
    "APART",
    "EDGES",
    "FAR",
    "IN_PLACE",
    "Case",
    "Mistakes",
    "Number",
    "Task",
    "WrongAnswer",
    "are_equal",
    "call",
    "checker",
    "convert_arrays",
    "convert_tensor",
    "draw",
    "exercise",
    "expect_function",
    "expect_pair",
    "expect_shape",
    "find_hint",
    "get_rounding",
    "is_near",
    "list_in_order",
    "prediction",
    "read_number",
    "read_numbers",
    "shorten",
]
