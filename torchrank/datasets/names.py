"""Names of items and of rankers: which entries are none, which are the same, and how they are sorted."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchrank.rankings.names import refuse_one_name

_EXACT = 2**53  # from here on floats no longer tell neighboring integers apart


NOTHING = {"NA", "nan", "NaN", "<NA>", "N/A", "#N/A", "None", "null", "NULL"}  # as programs write that there is nothing


def is_absent(entry: Any) -> bool:
    """Whether an entry of a table of names is empty: None, NaN, what pandas calls NA, or empty text."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry == "" or entry != entry


def whole(entry: Any) -> Any:
    """A whole float as the integer it is, since data frames make a column of floats out of integers and gaps.

    Raises:
        ValueError: one of 2^53 and above, which several integers may have become.
    """
    if isinstance(entry, np.generic):
        entry = entry.item()
    if not isinstance(entry, float) or not entry.is_integer():
        return entry
    if abs(entry) >= _EXACT:
        raise ValueError(
            f"an item or a ranker has the number {entry:.17g} in floating point, where integers from 2^53 on collide; "
            "keep such numbers as integers or as text"
        )
    return int(entry)


def each_once(items: Iterable[Any]) -> tuple[str, ...]:
    """Names as text; ``ValueError`` where one of them comes twice, ``TypeError`` for one text in place of names."""
    refuse_one_name(items, "items")
    names = tuple(map(str, items))
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"items has {name!r} twice; each item needs a name of its own")
    return names


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names in alphabetical order, but numbers within them in that of numbers: L2 before L10."""
    return tuple(sorted(sorted(names), key=lambda name: [_part(part) for part in re.split(r"(\d+)", name)]))


def _part(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdecimal() else (-1, part)


class Factor(NamedTuple):
    """A column of names."""

    codes: np.ndarray  # (q,) int64: which of the names each entry is
    names: tuple[Any, ...]  # those that differ, in the order in which they were found: all text, or all numbers

    def chosen(self, items: Sequence[Any] | None, unknown: Callable[[Any, int], Exception]) -> "Factor":
        """With names in the order of ``items``, or sorted where that is None.

        Raises:
            Exception: what ``unknown`` makes of the first name that ``items`` lacks, and of the place of an entry.
        """
        if items is None:
            items = sorted_names(self.names) if isinstance(next(iter(self.names), ""), str) else sorted(self.names)
        index = {name: place for place, name in enumerate(each_once(items))}
        for code, name in enumerate(self.names):
            if str(name) not in index:
                raise unknown(name, int((self.codes == code).argmax()))
        places = np.array([index[str(name)] for name in self.names], dtype=np.int64)
        return Factor(places[self.codes], tuple(index))


def factorize(entries: Sequence[Any], name: str, unfit: Callable[[Any, int], Exception]) -> Factor:
    """Entries by number, in linear time; text and numbers are different, 1 and 1.0 the same.

    Raises:
        Exception: what ``unfit`` makes of the first empty entry, and of its place.
        TypeError: names among numbers.
        ValueError: numbers in floating point that several integers may have become.
    """
    seen = {entry: code for code, entry in enumerate(dict.fromkeys(entries))}
    codes = np.fromiter(map(seen.__getitem__, entries), np.int64, len(entries))
    for entry, code in seen.items():
        if is_absent(entry):
            raise unfit(entry, int((codes == code).argmax()))
    if len({isinstance(entry, str) for entry in seen}) > 1:
        raise TypeError(f"{name} has names and numbers; expected one or the other")
    return Factor(codes, tuple(map(whole, seen)))
