"""Numbers as files hold them."""

import math
import re
from collections.abc import Collection, Sequence

_WHOLE = re.compile(r"[-+]?\d+(\.0*)?")
_LONGEST = 400  # characters of a number; Python reads no integers of more than 4300
_EXACT = 2**53  # from here on floats no longer tell neighboring integers apart


def as_number(text: str) -> float:
    """The number that a text is, unlike Python's without underscores in it, and finite unless it says so.

    Raises:
        ValueError: no number, or one beyond those of float64.
    """
    value = float(text)
    if "_" in text or (math.isinf(value) and any(map(str.isdigit, text))):
        raise ValueError(text)
    return value


def whole_number(text: str) -> int | None:
    """The integer that a text is, also as ``7.0``; None if it is none, or one of hundreds of digits."""
    return int(text.partition(".")[0]) if len(text) <= _LONGEST and _WHOLE.fullmatch(text) else None


def without_fractions(names: Sequence[str], nothing: Collection[str] = (), decimal: str = ".") -> list[str]:
    """Names that are all whole numbers without ``.0``, which data frames write beside gaps; others as they are.

    ``nothing`` and empty texts are no names. ``decimal`` is what stands before a fraction.

    Raises:
        ValueError: one of 2^53 and above with such a fraction, which several numbers may have become.
    """
    fraction = f"{decimal}0"
    if not any(name.endswith(fraction) for name in names):
        return [*names]
    numbers = {name: whole_number(name.replace(decimal, ".")) for name in set(names) - {"", *nothing}}
    if any(value is None for value in numbers.values()):
        return [*names]
    large = next((name for name, value in numbers.items() if value and decimal in name and abs(value) >= _EXACT), None)
    if large is not None:
        raise ValueError(
            f"a name is {large}, a number in floating point, where integers from 2^53 on collide; keep such numbers as "
            "integers or as text"
        )
    return [name.partition(decimal)[0] if name in numbers else name for name in names]
