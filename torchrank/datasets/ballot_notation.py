"""Other ways to write ballots and their weights than ``42: A>B=C``, which would turn parts of them into names."""

import re
from collections.abc import Sequence

from torchrank.datasets.names import NOTHING

# Signs with which other programs write rankings, ties and lists: arrows and signs of order beyond ASCII among them. An
# arrow in ASCII leaves its shaft at the end of a label, since strings are split at >.
_SIGNS = (
    re.compile(r"[<~{}\[\];\u00bb\u223c]"),
    re.compile(r"[\u203a\u2190-\u21ff\u2243-\u2248\u2261\u2264-\u2273\u227a-\u227f\u25b6\u25b7]"),
    re.compile(r"[\u27e8\u27e9\u27f5-\u27ff\u2a7d\u2a7e\u2aaf\u2ab0\uff1c-\uff1e]"),
    re.compile(r"[-=]$|^-"),
)
_JOINT = re.compile(r"[,;/&+|]|\band\b|\bor\b")  # between labels that are tied, or follow one another
_CLOSE = re.compile(r"\S,\S")  # a comma in a name has a blank behind it
_AMOUNT = r"[-+]?\d[\d.,/]*(?:[eE][-+]?\d+)?\s*%?\s*(?:votes?)?\s*"
_BEFORE = re.compile(rf"[(\[#]?\s*{_AMOUNT}(?:[)\]]\s*|[:;,|*\u00d7x]\s*|(?<=\s))(?P<label>.+)", re.DOTALL)
_BEHIND = re.compile(rf"(?P<label>.+?)(?:\s*[:;,|*\u00d7#(\[]+|\s+x)\s*{_AMOUNT}[)\]]?", re.DOTALL)
_NUMBERED = re.compile(r"[-+]?\d[\d.,/]*\s*:\s")  # what is a weight, but for separators that Python does not read


def refuse_other_ballots(strings: Sequence[str], groups: list[list[list[str]]], names: tuple[str, ...]) -> None:
    """Raise ``ValueError`` where labels look like ballots or weights that are written in another way.

    Args:
        strings: the ballots, for messages.
        groups: their labels, in groups of tied ones, best first.
        names: all labels.
    """

    def refuse(label: str, what: str) -> None:
        number = next(number for number, row in enumerate(groups) if any(label in group for group in row))
        raise ValueError(
            f"strings[{number}] is {strings[number]!r}, where {label!r} {what}; ballots are written as A>B=C, and "
            "weights as in '42: A>B' or 'A>B * 42'; if this is a name, pass items= with all names"
        )

    known = set(names)
    alone = all(len(row) < 2 and len(group) < 2 for row in groups for group in row)
    for name in names:
        for sign in _SIGNS:
            if found := sign.search(name):
                refuse(name, f"has {found[0]!r} in it")
        if name.count("(") != name.count(")"):
            refuse(name, "has one parenthesis of two")
        if name.count('"') % 2:
            refuse(name, "has one quotation mark of two")
        if name in NOTHING:
            refuse(name, "is what programs write where there is nothing")
        if _NUMBERED.match(name):
            refuse(name, "begins with what may be a weight")
        parts = [part.strip() for part in _JOINT.split(name)]
        if _CLOSE.search(name) or (len(parts) > 1 and all(parts) and (alone or known.intersection(parts))):
            refuse(name, "may be several labels")
        for way in (_BEFORE, _BEHIND):
            if (found := way.fullmatch(name)) and found["label"].strip() in known:
                refuse(name, "may be another label and its weight")
    ranked = [[label for group in row for label in group] for row in groups if row]
    for way, place in zip((_BEFORE, _BEHIND), (0, -1), strict=True):
        like = {name for name in names if way.fullmatch(name)}
        everywhere = bool(like) and all(row[place] in like for row in ranked)
        if everywhere and sum(label in like for row in ranked for label in row) == len(ranked):
            refuse(ranked[0][place], "may be a label and its weight: there all strings have a number, and nowhere else")
