"""Rankings as strings, ``L2>L1>L3``, as WEKA extensions write them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData
from torchrank.datasets.tables import is_absent, sorted_names
from torchrank.rankings.ties import dense_ranks, sortable
from torchrank.rankings.validate import Scores, as_scores


def from_ranking_strings(strings: Sequence[str], *, items: Sequence[str] | None = None, **about: Any) -> RankingData:
    """Rankings written as WEKA extensions write them: ``L2>L1>L3``, most preferred first.

    Labels left out are unranked, an empty string (or None or NaN) ranks none, and ``L1=L2`` is a tie.

    Args:
        strings: N rankings: a list, or a column of a data frame.
        items: names of the columns; by default those found, sorted.
        **about: features, title, license and other attributes of :class:`RankingData`.

    Raises:
        ValueError: a label named twice in a string, an empty one, one that ``items`` lacks, or fewer than two labels.
        TypeError: one string in place of a list, or something else than strings in it.

    Example:
        >>> from_ranking_strings(["L2>L1>L3", "L3>L1=L2"]).scores.tolist()
        [[2.0, 3.0, 1.0], [2.0, 2.0, 3.0]]
    """
    if isinstance(strings, str):
        raise TypeError(f"strings is one string; pass a list of them, [{strings!r}]")
    strings = ["" if is_absent(text) else text for text in strings]
    for number, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"strings[{number}] is {text!r}; expected a string such as L2>L1>L3")
    groups = [
        [[label.strip() for label in group.split("=")] for group in text.split(">")] if text.strip() else []
        for text in strings
    ]
    names = sorted_names({name for row in groups for group in row for name in group}) if items is None else tuple(items)
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
    return RankingData(scores, names, np.ones(len(scores)), **about)


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
        if names.index(name) < number:
            raise ValueError(f"items has {name!r} twice; each label needs a name of its own")
