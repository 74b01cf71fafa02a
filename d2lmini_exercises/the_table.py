"""Checkers of the chapter "The table"."""

from d2lmini_exercises.engine import Number, list_in_order, prediction

prediction(
    "other-lengths",
    {
        Number("where attention has more FLOPs", 65.0, "two formulas: a n² + b n and b n. Where are they equal?"): {
            "there both have the same: from where on is it more?": 64.0,
            "attention has a part that grows like n as well": (128.0, 129.0),
        },
        Number(
            "where multi-query attention keeps more",
            17.0,
            "what does one keep for each token, and the other in all? Divide the numbers of the table",
        ): {
            "there both keep the same: from where on is it more?": 16.0,
            "all heads share one key and one value": (4.0, 5.0),
            "a key and a value are kept, not one of the two": (32.0, 33.0),
        },
        Number(
            "the path of the window",
            69.0,
            "how many tokens back does one layer reach, and how far is the first?",
            tolerance=0.05,
        ): {
            "a window of 16 has the token itself: it reaches 15 back": 64.0,
            "layers are whole: so many do not reach the first token yet": (68.0, 68.2),
            "at 64 tokens it was 5, rounded up: count again from the reach of one layer": 80.0,
        },
    },
    right="a table for one length, read for others",
)

list_in_order("other-lengths")
