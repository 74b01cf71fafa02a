"""Checkers of the chapter "TITLE"."""

from d2lmini_exercises.engine import Number, Task, exercise, list_in_order, prediction

prediction(
    "NAME-mean",
    {
        Number("the mean", 14.0, "what do the four values add up to?"): {
            "that is the sum of the three: how many are they?": 42.0,
            "three values are left, not four": 10.5,
            "the mean changes if the value that goes differs from it": 12.0,
        }
    },
    right="what is left adds up to 42",
)

exercise(
    "NAME-weights",
    lambda values, weights: (weights * values).sum() / weights.sum(),
    [
        "values = torch.tensor([1.0, 4.0]); weights = torch.tensor([1.0, 2.0])",
        "values = torch.tensor([6.0, 3.0, 9.0]); weights = torch.tensor([3.0, 1.0, 0.0])",
    ],
    {
        "how often do the values count together? Divide by that": lambda values, weights: weights @ values,
        "divide by the sum of the weights, not by the number of values": lambda v, weights: (weights * v).mean(),
        "the weights make no difference to you": lambda values, weights: values.mean(),
    },
    claim="entry i counts weights[i] times",
    verified="each value counts as often as its weight says",
    hint="multiply, add, and divide: by what?",
)

list_in_order(
    "TITLE",
    Task(
        "Exercise NUMBER.1",
        "NAME-mean",
        "what do the values add up to?",
        '"One number for many"',
    ),
    Task("Exercise NUMBER.2", "NAME-weights", "how often does each value count?", '"One number for many"'),
)
