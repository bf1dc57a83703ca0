"""Rankings as strings, ``L2>L1>L3``, as WEKA extensions and programs that count votes write them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData, weights_of
from torchrank.datasets.names import each_once, is_absent, sorted_names
from torchrank.rankings.ties import dense_ranks, sortable
from torchrank.rankings.validate import Scores, as_scores

_NUMBER = r"\s*([-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf|nan))\s*"
_BEFORE = re.compile(_NUMBER + r":(\s*)(.*)", re.DOTALL)
_BEHIND = re.compile(r"(.*?)\s+\*" + _NUMBER, re.DOTALL)
_OTHER_MARKS = re.compile(r"[<~{}\[\]\u227a-\u227d\u2192]")  # with which other programs write rankings and ties
_LIKE_WEIGHTS = (  # a label with a number before or behind it
    re.compile(_NUMBER + r"(?:%?\s*[:;,|*\u00d7]\s*|\s*x\s+|\s)(?P<label>.+)", re.DOTALL),
    re.compile(r"(?P<label>.+?)(?:\s*[:;,|*\u00d7(\[]\s*|\s+x\s*|\s)" + _NUMBER + r"%?[)\]]?", re.DOTALL),
)


def from_ranking_strings(
    strings: Sequence[str],
    *,
    items: Sequence[str] | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
    **about: Any,
) -> RankingData:
    """Rankings written as ``L2>L1>L3``, most preferred first, and perhaps with how often they were observed.

    Labels left out are unranked, an empty string (or None or NaN) ranks none, and ``L1=L2`` is a tie. A weight stands
    before a string, ``42: L2>L1``, or behind it, ``L2>L1 * 42``; strings without one count once. Names may have ``:``
    and ``*`` in them. A weight is a number, then a colon and a blank; or a blank, a star and a number at the end.
    A label that ``items`` lists as it stands there is a name, and where it could be either the string is refused.
    Without ``items`` so are labels that may be another way to write ballots: with ``<``, ``~``, braces or brackets in
    them, lists with commas, and names with and without a number, such as ``3 A`` or ``A (3)`` beside ``A``.

    Args:
        strings: N rankings: a list, or a column of a data frame.
        items: names of the columns; by default those found, sorted.
        weights: ``(N,)``, how often each ranking was observed; None means as the strings say, else once.
        **about: features, title, license and other attributes of :class:`RankingData`.

    Raises:
        ValueError: a label named twice in a string, an empty one, one that ``items`` lacks, or fewer than two labels; a
            string with a weight beside ``weights``, or with what may be a weight or the beginning of a name, or ballots
            written otherwise; weights that are negative, infinite or NaN.
        TypeError: one string in place of a list, or something else than strings in it.

    Example:
        >>> from_ranking_strings(["L2>L1>L3", "L3>L1=L2"]).scores.tolist()
        [[2.0, 3.0, 1.0], [2.0, 2.0, 3.0]]
        >>> from_ranking_strings(["42: tea>milk", "milk>tea * 17"]).weights.tolist()
        [42.0, 17.0]
    """
    if isinstance(strings, str):
        raise TypeError(f"strings is one string; pass a list of them, [{strings!r}]")
    strings = ["" if is_absent(text) else text for text in strings]
    for number, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"strings[{number}] is {text!r}; expected a string such as L2>L1>L3")
    known = frozenset(() if items is None else items)
    split = [_weighted(number, text, known) for number, text in enumerate(strings)]
    if weights is None:
        weights = [1.0 if weight is None else weight for weight, _ in split]
    else:
        for number, (weight, _) in enumerate(split):
            if weight is not None:
                raise ValueError(f"strings[{number}] is {strings[number]!r}, with a weight; weights= gives it another")
    groups = [[_labels(group) for group in text.split(">")] if text.strip() else [] for _, text in split]
    if items is None:
        names = sorted_names({name for row in groups for group in row for name in group})
        _refuse_other_ballots(strings, groups, names)
    else:
        names = each_once(items)
    if len(names) < 2:
        raise ValueError(
            f"strings rank {len(names)} labels: {', '.join(map(repr, names))}; ranking needs at least 2, "
            "the most preferred first and > or = between them"
        )
    column = {name: index for index, name in enumerate(names)}
    scores = np.full((len(groups), len(names)), np.nan)
    for number, row in enumerate(groups):
        for place, group in enumerate(row):
            for name in group:
                if not name:
                    raise ValueError(f"strings[{number}] is {strings[number]!r}; a label is missing")
                if name not in column:
                    raise ValueError(f"strings[{number}] is {strings[number]!r}; {name!r} is not among {names}")
                if not np.isnan(scores[number, column[name]]):
                    raise ValueError(f"strings[{number}] is {strings[number]!r}; it ranks {name!r} twice")
                scores[number, column[name]] = len(names) - place
    return RankingData(scores, names, weights_of(weights, len(scores)), **about)


def unmarked(strings: Sequence[Any], marks: Sequence[Any]) -> list[Any]:
    """Ranking strings with an empty one in place of each that is one of these marks."""
    return ["" if isinstance(text, str) and text.strip() in marks else text for text in strings]


def _labels(group: str) -> list[str]:
    return [label.strip() for label in group.split("=")]


def _weighted(number: int, text: str, items: frozenset[str]) -> tuple[float | None, str]:
    """The weight in a string, None if there is none, and the ranking."""
    labels = [label for group in text.split(">") for label in _labels(group)]
    before = None if labels[0] in items else _BEFORE.fullmatch(text)
    behind = None if labels[-1] in items else _BEHIND.fullmatch(text)
    others = labels[1:] if before else labels[:-1] if behind else []
    like_weights = [label for label in others if (_BEFORE if before else _BEHIND).fullmatch(label)]
    if (before and (behind or (before[3] and not before[2]))) or like_weights:
        which = repr(like_weights[0]) if like_weights else "a number with : or *"
        raise ValueError(
            f"strings[{number}] is {text!r}, where {which} may be a weight or a part of a name; write weights as in "
            "'42: L2>L1' or 'L2>L1 * 42', once a string, and pass items= with all names if there are such"
        )
    if before:
        return float(before[1]), before[3]
    return (float(behind[2]), behind[1]) if behind else (None, text)


def _refuse_other_ballots(strings: Sequence[str], groups: list[list[list[str]]], names: tuple[str, ...]) -> None:
    """Raise where labels look like ballots or weights written in another way, which they would turn into names."""

    def refuse(label: str, what: str) -> None:
        number = next(number for number, row in enumerate(groups) if any(label in group for group in row))
        raise ValueError(
            f"strings[{number}] is {strings[number]!r}, where {label!r} {what}; ballots are written as A>B=C, and "
            "weights as in '42: A>B' or 'A>B * 42'; if this is a name, pass items= with all names"
        )

    known = set(names)
    alone = all(len(row) < 2 and len(group) < 2 for row in groups for group in row)
    for name in names:
        if mark := _OTHER_MARKS.search(name):
            refuse(name, f"has {mark[0]!r} in it")
        if alone and (mark := re.search("[,;|]", name)):
            refuse(name, f"has {mark[0]!r} and no string has > or =")
        if any(match and match["label"].strip() in known for match in (way.fullmatch(name) for way in _LIKE_WEIGHTS)):
            refuse(name, "may be another label and its weight")
    ranked = [[label for group in row for label in group] for row in groups if row]
    for way, place in zip(_LIKE_WEIGHTS, (0, -1), strict=True):
        like = {name for name in names if way.fullmatch(name)}
        everywhere = bool(like) and all(row[place] in like for row in ranked)
        if everywhere and sum(label in like for row in ranked for label in row) == len(ranked):
            refuse(ranked[0][place], "may be a label and its weight: there all strings have a number, and nowhere else")


def to_ranking_strings(Y: Scores | RankingData, items: Sequence[str] | None = None) -> list[str]:
    """Strings such as ``L2>L1=L4``, most preferred first: the inverse of :func:`from_ranking_strings`.

    Tied labels stand with ``=`` between them, in the order of their columns. Unranked labels are left out, and where
    none is ranked the string is empty. Since a column of strings has no place for labels that no row ranks, pass
    ``items`` to :func:`from_ranking_strings` too.

    Args:
        Y: ``(N, L)`` scores, larger = preferred, NaN = not ranked; or a data set, whose weights are not in the strings.
        items: names of the columns; by default those of the data set, or else L1, L2, ...

    Returns:
        N strings.

    Raises:
        ValueError: a number of names other than L, the same name twice, or names that could not be read back: empty
            ones, with ``>`` or ``=`` in them, or with blanks around them; ``Y`` that is no matrix.
        TypeError: names that are no strings, scores that are not real numbers.

    Example:
        >>> to_ranking_strings(np.array([[2.0, 3.0, 2.0], [1.0, np.nan, 4.0], [np.nan] * 3]), items=["a", "b", "c"])
        ['b>a=c', 'c>a', '']
    """
    if isinstance(Y, RankingData):
        Y, items = Y.scores, Y.items if items is None else items
    scores, _ = as_scores(Y, "Y")
    if scores.ndim != 2:
        raise ValueError(f"Y has shape {tuple(scores.shape)}; expected one matrix (N, L)")
    L = scores.shape[1]
    names = tuple(f"L{label}" for label in range(1, L + 1)) if items is None else tuple(items)
    _check_names(names, L)
    ranks = dense_ranks(sortable(scores))[0].cpu().numpy()
    order = (-ranks).argsort(axis=1, kind="stable")
    strings = []
    for labels, rank in zip(order.tolist(), ranks.tolist(), strict=True):
        ranked = [label for label in labels if rank[label] >= 0]
        marks = ["=" if rank[this] == rank[next_one] else ">" for this, next_one in pairwise(ranked)]
        strings.append("".join(names[label] + mark for label, mark in zip(ranked, [*marks, ""], strict=False)))
    return strings


def _check_names(names: tuple[str, ...], n: int) -> None:
    """Raise unless these are n names that ranking strings can hold."""
    if len(names) != n:
        raise ValueError(f"items has {len(names)} names; Y ranks {n} labels")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"items[{number}] is {name!r}; expected a string")
        if not name or name != name.strip() or ">" in name or "=" in name:
            raise ValueError(
                f"items[{number}] is {name!r}; a name is not empty and has no >, no = and no blanks around it"
            )
    each_once(names)
