"""Keywords of the edition before: they work in this one, with a warning."""

import warnings
from typing import Any


def read_older(given: dict[str, Any], old: str, new: str) -> Any:
    """What was given by the older name of a keyword, which is all that may be given besides those of today.

    A decorator would be one more call in each step of decoding.

    Raises:
        TypeError: if anything else was given.
    """
    for name in given.keys() - {old}:
        raise TypeError(f"unexpected keyword argument {name!r}")
    warnings.warn(f"{old} is called {new}; this edition is the last to accept {old}", stacklevel=3)
    return given[old]
