"""Ballots in the formats of PrefLib: strict and tied, complete and incomplete orders (soc, soi, toc, toi).

Mattei and Walsh, PrefLib: A Library for Preferences, ADT 2013; the format of 2022 and the one before it.
"""

import math
import re
from pathlib import Path

import numpy as np

from torchrank.datasets.data import RankingData
from torchrank.rankings.validate import check_choice

CITATION = "Mattei and Walsh, PrefLib: A Library for Preferences, Algorithmic Decision Theory (ADT), 2013"
LAST_TIES = ("tied", "unranked")
_KINDS = (".soc", ".soi", ".toc", ".toi")
_HEADER = re.compile(r"#\s*([^:]+?)\s*:\s*(.*?)\s*$")
_NAME = re.compile(r"ALTERNATIVE NAME (\d+)")
_GROUP = re.compile(r"\{([^{}]*)\}|([^,{}\s]+)")
_LAYOUT = re.compile(r"\s*(\{[^{}]*\}|[^,{}]+)(\s*,\s*(\{[^{}]*\}|[^,{}]+))*\s*")


def read_preflib(path: str | Path, *, last_tie: str = "tied") -> RankingData:
    """Read a PrefLib file of orders.

    Args:
        path: a ``.soc``, ``.soi``, ``.toc`` or ``.toi`` file in the present or the older layout.
        last_tie: what items tied in last place are: "tied", as the file has it, or "unranked", which takes back what
            files marked "imbued" did: they list the unranked alternatives as one tie at the end.

    Returns:
        One row for each different ballot, the votes for equal ones summed in ``weights``; ``items`` are the
        alternatives in the file's order; ``notes`` has the header's other lines.

    Raises:
        ValueError: another kind of file, one that is not UTF-8, an alternative that does not exist or is listed twice,
            a count that is not a number, negative or infinite, or totals that do not agree with the header; the line is
            named.
    """
    path = Path(path)
    check_choice(last_tie, "last_tie", LAST_TIES)
    if path.suffix not in _KINDS:
        raise ValueError(f"{path.name} is not one of {', '.join(_KINDS)}; other PrefLib files do not hold orders")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8, as PrefLib's files are ({error}); convert it") from None
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    new = bool(numbered) and numbered[0][1].startswith("#")
    header, ballots = (_new_layout if new else _old_layout)(path.name, numbered)
    return _as_data(path.name, header, ballots, last_tie)


class _Header:
    """What a file says about itself."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self.names: dict[int, str] = {}

    def number(self, key: str, file: str) -> float | None:
        """The value of a field that holds a number, None if it is not there."""
        if key not in self.fields:
            return None
        return _number(self.fields[key], f"{file} has {key}")


_Ballot = tuple[int, float, list[list[int]]]  # line, votes, alternatives in groups of tied ones, best first


def _new_layout(file: str, lines: list[tuple[int, str]]) -> tuple[_Header, list[_Ballot]]:
    header, ballots = _Header(), []
    for number, line in lines:
        if line.startswith("#"):
            match = _HEADER.match(line)
            if match:
                name = _NAME.fullmatch(match[1])
                if name:
                    header.names[int(name[1])] = match[2]
                else:
                    header.fields[match[1]] = match[2]
            continue
        votes, colon, order = line.partition(":")
        if not colon:
            raise ValueError(f"{file}, line {number}: {line!r} is not 'votes: order'")
        ballots.append((number, _votes(votes, f"{file}, line {number}"), _groups(file, number, order)))
    return header, ballots


def _old_layout(file: str, lines: list[tuple[int, str]]) -> tuple[_Header, list[_Ballot]]:
    """The number of alternatives, a line for each, then voters, votes and different ballots, then ``votes,order``."""
    header, ballots = _Header(), []
    if not lines:
        raise ValueError(f"{file} is empty")
    count = int(_number(lines[0][1], f"{file}, line {lines[0][0]}"))
    if len(lines) < count + 2:
        raise ValueError(f"{file} ends before its {count} alternatives and totals")
    for number, line in lines[1 : count + 1]:
        index, comma, name = line.partition(",")
        if not comma:
            raise ValueError(f"{file}, line {number}: {line!r} is not 'number,name of an alternative'")
        header.names[int(_number(index, f"{file}, line {number}"))] = name.strip()
    number, line = lines[count + 1]
    totals = line.split(",")
    if len(totals) != 3:
        raise ValueError(f"{file}, line {number}: {line!r} is not 'voters,votes,different ballots'")
    header.fields |= {"NUMBER ALTERNATIVES": str(count), "NUMBER VOTERS": totals[1], "NUMBER UNIQUE ORDERS": totals[2]}
    for number, line in lines[count + 2 :]:
        votes, comma, order = line.partition(",")
        if not comma:
            raise ValueError(f"{file}, line {number}: {line!r} is not 'votes,order'")
        ballots.append((number, _votes(votes, f"{file}, line {number}"), _groups(file, number, order)))
    return header, ballots


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where}: {text.strip()!r} is not a number") from None


def _votes(text: str, where: str) -> float:
    votes = _number(text, where)
    if not 0 <= votes < math.inf:
        raise ValueError(f"{where}: {text.strip()} votes; expected a finite number of at least 0")
    return votes


def _groups(file: str, number: int, order: str) -> list[list[int]]:
    """``3,{1,2},4`` as [[3], [1, 2], [4]]."""
    if not _LAYOUT.fullmatch(order):
        raise ValueError(f"{file}, line {number}: {order.strip()!r} is not an order such as 3,{{1,2}},4")
    try:
        return [[int(item) for item in (tied or single).split(",")] for tied, single in _GROUP.findall(order)]
    except ValueError:
        raise ValueError(f"{file}, line {number}: {order.strip()!r} has alternatives that are not numbers") from None


def _as_data(file: str, header: _Header, ballots: list[_Ballot], last_tie: str) -> RankingData:
    count = header.number("NUMBER ALTERNATIVES", file)
    n = int(count) if count is not None else len(header.names)
    if sorted(header.names) != list(range(1, n + 1)):
        raise ValueError(f"{file} announces {n} alternatives and names {sorted(header.names)}; expected 1 to {n}")
    votes: dict[tuple[float, ...], float] = {}
    for number, weight, groups in ballots:
        if last_tie == "unranked" and len(groups) > 1 and len(groups[-1]) > 1:
            groups = groups[:-1]
        row = _scores(file, number, groups, n)
        votes[row] = votes.get(row, 0.0) + weight
    different = {tuple(frozenset(group) for group in groups) for _, _, groups in ballots}
    _check_total(file, "NUMBER VOTERS", header, sum(weight for _, weight, _ in ballots))
    _check_total(file, "NUMBER UNIQUE ORDERS", header, len(different), len(ballots))  # writers count either
    scores = np.array(list(votes), dtype=np.float64).reshape(len(votes), n)
    scores[scores == 0] = np.nan
    weights = np.array(list(votes.values()))
    items = tuple(header.names[index] for index in range(1, n + 1))
    title = header.fields.pop("TITLE", file)
    return RankingData(scores, items, weights, title=title, citation=CITATION, notes=dict(header.fields))


def _scores(file: str, number: int, groups: list[list[int]], n: int) -> tuple[float, ...]:
    """The last group gets 1; 0 stands for unranked, since NaN would make equal ballots differ."""
    row = [0.0] * n
    for place, group in enumerate(groups):
        for item in group:
            if not 1 <= item <= n:
                raise ValueError(f"{file}, line {number}: alternative {item} does not exist; there are 1 to {n}")
            if row[item - 1]:
                raise ValueError(f"{file}, line {number}: alternative {item} is listed twice")
            row[item - 1] = float(len(groups) - place)
    return tuple(row)


def _check_total(file: str, key: str, header: _Header, *found: float) -> None:
    """Raise unless what the header says under ``key``, if anything, is one of the totals found."""
    announced = header.number(key, file)
    if announced is not None and not any(abs(announced - total) <= 1e-9 * max(1.0, abs(total)) for total in found):
        raise ValueError(f"{file} announces {key} {announced:g} and holds {found[0]:g}; the file may have been cut off")
