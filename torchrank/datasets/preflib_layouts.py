"""The two layouts of PrefLib's files taken apart: header, names of alternatives, ballots."""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from torchrank.datasets.files import Text
from torchrank.datasets.numbers import as_number

_HEADER = re.compile(r"#\s*([^:]+?)\s*:\s*(.*?)\s*$")
_NAME = re.compile(r"ALTERNATIVE NAME (\d+)")
_ONE = r"(?:\{[^{}]*\}|[^,{}\s]+)"
_ORDER = re.compile(rf"\s*{_ONE}(\s*,\s*{_ONE})*\s*,?\s*")
_DIGITS = 18  # of a number of an alternative
_LONGEST = 40  # characters that a message shows
_GROUP = re.compile(r"\{([^{}]*)\}|([^,{}\s]+)")


class Ballot(NamedTuple):
    """A line of a file."""

    line: int
    votes: float
    groups: list[list[int]]  # alternatives in groups of tied ones, best first; none of them empty


@dataclass
class Contents:
    """What a file says."""

    file: str
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)  # lines of the header: where, and what
    names: dict[int, str] = field(default_factory=dict)
    ballots: list[Ballot] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # what a lenient reader left out

    def where(self, key: str) -> str:
        """Where a field of the header stands, for messages."""
        return f"{self.file}, line {self.fields[key][0]}" if key in self.fields else self.file

    def total(self, key: str) -> float | None:
        """The value of a field that holds a number, None if it is not there or empty.

        Raises:
            ValueError: not a finite number of at least 0.
        """
        text = self.fields.get(key, (0, ""))[1].strip()
        if not text:
            return None
        number = _number(text, f"{self.where(key)} has {key}")
        if not 0 <= number < math.inf:
            raise ValueError(f"{self.where(key)} has {key} {text}; expected a finite number of at least 0")
        return number

    def count(self, key: str) -> int | None:
        """As :meth:`total`, for whole numbers; ``ValueError`` for others."""
        number = self.total(key)
        if number is not None and not number.is_integer():
            raise ValueError(f"{self.where(key)} has {key} {self.fields[key][1].strip()}; expected a whole number")
        return None if number is None else int(number)

    def name(self, number: int, name: str, line: int) -> None:
        """Give an alternative a name; ``ValueError`` if it has one."""
        if number in self.names:
            raise ValueError(f"{self.file}, line {line}: alternative {number} has a name already")
        self.names[number] = name


def read_contents(text: Text, lenient: bool) -> Contents:
    """Header and ballots of a file in either layout.

    Args:
        text: of the file.
        lenient: leave out the last ballot where the file ends within its line.

    Raises:
        ValueError: a line that is not what it should be.
    """
    numbered = [(number, line.strip()) for number, line in enumerate(text.content.splitlines(), start=1)]
    numbered = [(number, line) for number, line in numbered if line]
    if not numbered:
        raise ValueError(f"{text.file} is empty")
    contents = Contents(text.file)
    new = numbered[0][1].startswith("#")
    lines = (_new_header if new else _old_header)(contents, numbered)
    open_end = lenient and not text.content.endswith(("\n", "\r"))
    for number, line in lines[:-1] if open_end else lines:
        contents.ballots.append(_ballot(text.file, number, line, new))
    if open_end and lines:
        _read_last(contents, *lines[-1], new)
    return contents


def _read_last(contents: Contents, number: int, line: str, new: bool) -> None:
    """A ballot after which no line ends: it counts where it brings the votes to what the header says."""
    voters, found = contents.total("NUMBER VOTERS"), sum(ballot.votes for ballot in contents.ballots)
    try:
        ballot = _ballot(contents.file, number, line, new)
    except ValueError:
        ballot = None
    if ballot is not None and (voters is None or voters <= found + ballot.votes):
        contents.ballots.append(ballot)
    else:
        contents.faults.append(f"{contents.file} ends within line {number}, which was left out")


def _new_header(contents: Contents, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Read the lines that begin with ``#``; gives back the others."""
    for number, line in lines:
        match = _HEADER.match(line)
        name = match and _NAME.fullmatch(match[1])
        if name and match:
            contents.name(_alternative(name[1], contents.file, number), match[2], number)
        elif match:
            contents.fields[match[1]] = (number, match[2])
    return [(number, line) for number, line in lines if not line.startswith("#")]


def _old_header(contents: Contents, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Read the number of alternatives, a line for each, then voters, votes and different ballots; gives the others."""
    contents.fields["NUMBER ALTERNATIVES"] = lines[0]
    count = contents.count("NUMBER ALTERNATIVES") or 0
    if len(lines) < count + 2:
        raise ValueError(f"{contents.file} ends before its {count} alternatives and totals")
    parts = [(number, line, *line.partition(",")) for number, line in lines[1 : count + 1]]
    numbered = any(comma and index.strip().isdecimal() for _, _, index, comma, _ in parts)
    for place, (number, line, index, comma, name) in enumerate(parts, start=1):
        if not numbered:
            contents.name(place, line, number)
        elif comma and index.strip().isdecimal():
            contents.name(_alternative(index, contents.file, number), name.strip(), number)
        else:
            raise ValueError(f"{contents.file}, line {number}: {line!r} is not 'number,name of an alternative'")
    number, line = lines[count + 1]
    totals = line.split(",")
    if len(totals) != 3:
        raise ValueError(f"{contents.file}, line {number}: {line!r} is not 'voters,votes,different ballots'")
    contents.fields |= {"NUMBER VOTERS": (number, totals[1]), "NUMBER UNIQUE ORDERS": (number, totals[2])}
    return lines[count + 2 :]


def _ballot(file: str, number: int, line: str, new: bool) -> Ballot:
    """``votes: order`` in the new layout, ``votes,order`` in the old one."""
    votes, mark, order = line.partition(":" if new else ",")
    if not mark:
        raise ValueError(f"{file}, line {number}: {line!r} is not '{'votes: order' if new else 'votes,order'}'")
    times = _number(votes, f"{file}, line {number}")
    if not 0 <= times < math.inf:
        raise ValueError(f"{file}, line {number}: {_shown(votes)} votes; expected a finite number of at least 0")
    return Ballot(number, times, _groups(file, number, order))


def _number(text: str, where: str) -> float:
    try:
        return as_number(text)
    except ValueError:
        raise ValueError(f"{where}: {_shown(text)!r} is not a number") from None


def _shown(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _groups(file: str, number: int, order: str) -> list[list[int]]:
    """``3,{1,2},{},4,`` as [[3], [1, 2], [4]]."""
    if not _ORDER.fullmatch(order):
        raise ValueError(f"{file}, line {number}: {order.strip()!r} is not an order such as 3,{{1,2}},4")
    parts = [(tied or single).strip().removesuffix(",").split(",") for tied, single in _GROUP.findall(order)]
    if not all(item.strip().isdecimal() for part in parts for item in part if part != [""]):
        raise ValueError(f"{file}, line {number}: {order.strip()!r} has alternatives that are not numbers")
    return [[_alternative(item, file, number) for item in part] for part in parts if part != [""]]


def _alternative(text: str, file: str, number: int) -> int:
    if len(text.strip()) > _DIGITS:  # Python has a limit of its own, and an error without a place
        raise ValueError(f"{file}, line {number}: the number of an alternative has {len(text.strip())} digits")
    return int(text)
