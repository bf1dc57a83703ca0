"""Rankings as strings, ``L2>L1>L3``, as WEKA extensions and programs that count votes write them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from torchrank.datasets.ballot_notation import refuse_other_ballots
from torchrank.datasets.data import RankingData, weights_of
from torchrank.datasets.names import each_once, is_absent, sorted_names
from torchrank.rankings.forms import refuse_unordered
from torchrank.rankings.names import check_same_rows, index_of, refuse_one_name
from torchrank.rankings.ties import dense_ranks, sortable
from torchrank.rankings.validate import Scores, as_scores

_NUMBER = r"\s*([-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf|nan))\s*"
_BEFORE = re.compile(_NUMBER + r":(\s*)(.*)", re.DOTALL)
_BEHIND = re.compile(r"(.*?)\s+\*" + _NUMBER, re.DOTALL)
_BLANK = " \t\r\n\f\v\u00a0\ufeff\u200b\u200c\u200d\u2060"  # a few have no width


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
    Without ``items`` so are labels that may be another way to write ballots: with ``<``, ``~``, an arrow, braces or
    brackets in them, a comma without a blank, ``A, B`` or ``A/B`` beside ``A``, numbers such as in ``3 A`` or ``A (3)``
    beside ``A`` or in all strings, and R's ``NA``.

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
    for rows in (index_of(strings), about.get("rankers")):
        for name, value in (
            ("weights", weights),
            ("features", about.get("features")),
            ("classes", about.get("classes")),
        ):
            check_same_rows(rows, value, name)
    if isinstance(strings, str):
        raise TypeError(f"strings is one string; pass a list of them, [{strings!r}]")
    refuse_unordered(strings, "strings", "a string such as L2>L1>L3")
    strings = ["" if is_absent(text) else text for text in strings]
    for number, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"strings[{number}] is {text!r}; expected a string such as L2>L1>L3")
    refuse_one_name(items, "items")
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
        refuse_other_ballots(strings, groups, names)
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
    return [label.strip(_BLANK) for label in group.split("=")]


def _weighted(number: int, text: str, items: frozenset[str]) -> tuple[float | None, str]:
    """The weight in a string, None if there is none, and the ranking."""
    labels = [label for group in text.split(">") for label in _labels(group)]
    before = None if labels[0] in items else _BEFORE.fullmatch(text)
    behind = None if labels[-1] in items else _BEHIND.fullmatch(text)
    like_weights = [label for label in labels[1:] if label not in items and _BEFORE.fullmatch(label)]
    like_weights += [label for label in labels[:-1] if label not in items and _BEHIND.fullmatch(label)]
    if (before and (behind or (before[3] and not before[2]))) or like_weights:
        which = repr(like_weights[0]) if like_weights else "a number with : or *"
        raise ValueError(
            f"strings[{number}] is {text!r}, where {which} may be a weight or a part of a name; write weights as in "
            "'42: L2>L1' or 'L2>L1 * 42', once a string, and pass items= with all names if there are such"
        )
    if before:
        return float(before[1]), before[3]
    return (float(behind[2]), behind[1]) if behind else (None, text)


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
        >>> Y = np.array([[2.0, 3.0, 2.0], [1.0, np.nan, 4.0], [np.nan] * 3])
        >>> to_ranking_strings(Y, items=["a", "b", "c"])
        ['b>a=c', 'c>a', '']
    """
    if isinstance(Y, RankingData):
        Y, items = Y.scores, Y.items if items is None else items
    scores, _ = as_scores(Y, "Y")
    if scores.ndim != 2:
        raise ValueError(f"Y has shape {tuple(scores.shape)}; expected one matrix (N, L)")
    L = scores.shape[1]
    refuse_one_name(items, "items")
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
