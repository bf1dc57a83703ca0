"""Numbers as files hold them."""

import math


def as_number(text: str) -> float:
    """The number that a text is, unlike Python's without underscores in it, and finite unless it says so.

    Raises:
        ValueError: no number, or one beyond those of float64.
    """
    value = float(text)
    if "_" in text or (math.isinf(value) and any(map(str.isdigit, text))):
        raise ValueError(text)
    return value
