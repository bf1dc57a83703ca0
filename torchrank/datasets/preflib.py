"""Ballots in the formats of PrefLib: strict and tied, complete and incomplete orders (soc, soi, toc, toi).

Mattei and Walsh, PrefLib: A Library for Preferences, ADT 2013; the format of 2022 and the one before it, which
:mod:`torchrank.datasets.preflib_layouts` take apart.
"""

from itertools import count, islice
from pathlib import Path

import numpy as np

from torchrank._docs import shares_arguments
from torchrank._warnings import warn
from torchrank.datasets.data import RankingData
from torchrank.datasets.files import kind_of, local_path, read_text
from torchrank.datasets.layouts import ARGUMENTS
from torchrank.datasets.preflib_layouts import Ballot, Contents, read_contents
from torchrank.rankings.validate import check_choice

CITATION = "Mattei and Walsh, PrefLib: A Library for Preferences, Algorithmic Decision Theory (ADT), 2013"
LAST_TIES = ("tied", "unranked")
_KINDS = (".soc", ".soi", ".toc", ".toi")
_UNNAMED = 1000  # alternatives without a name that a file may announce for each number that stands in it


@shares_arguments(ARGUMENTS)
def read_preflib(path: str | Path, *, last_tie: str = "tied", lenient: bool = False) -> RankingData:
    """Read a PrefLib file of orders.

    Alternatives may be numbered from 0 or 1 on, with gaps between them, and have no names: then their numbers are
    names. Empty groups ``{}`` and a comma at the end of an order mean nothing.

    Args:
        path: a ``.soc``, ``.soi``, ``.toc`` or ``.toi`` file in the present or the older layout, gzipped if its name
            ends in ``.gz``.
        last_tie: what items tied in last place are: "tied", as the file has it, or "unranked", which takes back what
            files marked "imbued" did: they list the unranked alternatives as one tie at the end.
        lenient: {lenient} Totals may then differ from those in the header.

    Returns:
        One row for each different ballot, the votes for equal ones summed in ``weights``; ``items`` are the
        alternatives in the order of their numbers; ``notes`` has the header's other lines.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another kind of file, an address, one that is not UTF-8 or was cut off, an alternative that does not
            exist or is listed twice, a count that is not a number, negative or infinite, far more alternatives than
            the file has names and ballots for, or totals that do not agree with the header; ties in a ``.soc`` or
            ``.soi`` file, alternatives left out in a ``.soc`` or ``.toc`` file; the line is named.

    Warns:
        UserWarning: with ``lenient``, what was wrong with the file, in numbers.
    """
    path = local_path(path)
    check_choice(last_tie, "last_tie", LAST_TIES)
    if kind_of(path) not in _KINDS:
        raise ValueError(f"{path.name} is not one of {', '.join(_KINDS)}; other PrefLib files do not hold orders")
    text = read_text(path, "utf-8-sig", remedy="PrefLib's files are UTF-8, convert it", lenient=lenient)
    contents = read_contents(text, lenient)
    columns = _columns(contents)
    faults = list(contents.faults)
    votes: dict[tuple[float, ...], float] = {}
    for ballot in contents.ballots:
        groups = ballot.groups
        if last_tie == "unranked" and len(groups) > 1 and len(groups[-1]) > 1:
            groups = groups[:-1]
        row = _scores(contents.file, ballot, groups, columns)
        votes[row] = votes.get(row, 0.0) + ballot.votes
    faults += _wrong_totals(contents)
    if faults and not lenient:
        raise ValueError(f"{faults[0]}; the file may have been cut off: get it again, or pass lenient=True")
    others = _other_kind(contents, kind_of(path), len(columns))
    if others and not lenient:
        raise ValueError(f"{others[0]}; correct the file or its name, or pass lenient=True")
    faults += others
    if faults:
        warn("; ".join(faults))
    n = len(columns)
    scores = np.array(list(votes), dtype=np.float64).reshape(len(votes), n)
    scores[scores == 0] = np.nan
    items = tuple(contents.names.get(number, str(number)) for number in columns)
    notes = {key: value for key, (_, value) in contents.fields.items()}
    title = notes.pop("TITLE", contents.file)
    return RankingData(scores, items, np.array(list(votes.values())), title=title, citation=CITATION, notes=notes)


def _columns(contents: Contents) -> dict[int, int]:
    """The column of each alternative, by its number: those named, and so many others that their count is right."""
    used = {item for ballot in contents.ballots for group in ballot.groups for item in group}
    numbers = set(contents.names)
    n = contents.count("NUMBER ALTERNATIVES")
    if n is None:
        n = len(numbers) or max(used, default=0) + (0 in used)
    if len(numbers) > n:
        where = contents.where("NUMBER ALTERNATIVES")
        raise ValueError(f"{where} announces {n} alternatives, and the file names {len(numbers)}; correct one of them")
    if n > _UNNAMED * (1 + len(numbers) + len(used)):
        raise ValueError(
            f"{contents.where('NUMBER ALTERNATIVES')} announces {n} alternatives, of which the file names "
            f"{len(numbers)} and ranks {len(used)}; write the right number there"
        )
    if len(numbers | used) <= n:
        numbers |= used
    others = (number for number in count(1) if number not in numbers)
    return {number: column for column, number in enumerate(sorted([*numbers, *islice(others, n - len(numbers))]))}


def _scores(file: str, ballot: Ballot, groups: list[list[int]], columns: dict[int, int]) -> tuple[float, ...]:
    """The last group gets 1; 0 stands for unranked, since NaN would make equal ballots differ."""
    row = [0.0] * len(columns)
    for place, group in enumerate(groups):
        for item in group:
            column = columns.get(item)
            if column is None:
                least, most = min(columns, default=0), max(columns, default=0)
                raise ValueError(
                    f"{file}, line {ballot.line}: alternative {item} does not exist; there are {len(columns)}, "
                    f"numbered from {least} to {most}"
                )
            if row[column]:
                raise ValueError(f"{file}, line {ballot.line}: alternative {item} is listed twice")
            row[column] = float(len(groups) - place)
    return tuple(row)


def _other_kind(contents: Contents, kind: str, n: int) -> list[str]:
    """Where ballots are not what the suffix says: s are strict, t may have ties, c are complete, i may leave out."""
    faults = []
    for ballot in contents.ballots:
        listed, where = sum(map(len, ballot.groups)), f"{contents.file}, line {ballot.line}"
        if kind.startswith(".s") and listed > len(ballot.groups) and not any("has a tie" in fault for fault in faults):
            faults.append(f"{where} has a tie, and {kind} files have none, which .t{kind[2:]} files may have")
        if kind.endswith("c") and listed < n and not any("ranks" in fault for fault in faults):
            faults.append(f"{where} ranks {listed} of {n} alternatives, and {kind} files rank all, unlike {kind[:-1]}i")
    return faults


def _wrong_totals(contents: Contents) -> list[str]:
    """Where the header announces totals that the ballots do not have."""
    different = {tuple(frozenset(group) for group in ballot.groups) for ballot in contents.ballots}
    voters, orders = contents.total("NUMBER VOTERS"), contents.count("NUMBER UNIQUE ORDERS")
    found = sum(ballot.votes for ballot in contents.ballots)
    wrong = []
    if voters is not None and abs(voters - found) > 1e-9 * max(1.0, abs(found)):
        wrong.append(f"{contents.where('NUMBER VOTERS')} announces NUMBER VOTERS {voters:g} and holds {found:g}")
    if orders is not None and orders not in (len(different), len(contents.ballots)):  # writers count either
        where = contents.where("NUMBER UNIQUE ORDERS")
        wrong.append(f"{where} announces NUMBER UNIQUE ORDERS {orders} and holds {len(different)}")
    return wrong
