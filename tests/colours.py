"""How far two colours can be told apart."""

import numpy as np


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1 between two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour.lstrip("#")[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)
