"""Label-ranking data: the synthetic sets of Grbovic et al. (2013), missing labels, files and ranking strings.

Grbovic, Djuric, Guo and Vucetic, Supervised clustering of label ranking data using label preference information,
Machine Learning 93 (2013), Section 7.1.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from torchrank._docs import shares_arguments
from torchrank.datasets.csv_table import read_csv
from torchrank.datasets.data import RankingData, features_of, weights_of
from torchrank.datasets.layouts import ARGUMENTS
from torchrank.datasets.ranking_strings import from_ranking_strings, unmarked
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.convert import from_orders, from_positions
from torchrank.rankings.validate import as_marks, check_at_least, check_choice, check_count, check_finite

Labels = TypeVar("Labels", np.ndarray, RankingData)

CITATION = (
    "Grbovic, Djuric, Guo and Vucetic, Supervised clustering of label ranking data using label preference information, "
    "Machine Learning 93, 2013"
)
CENTRAL_ORDERS = ((0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (2, 0, 5, 1, 4, 3))  # 123456, 654321 and 316254 there
LAYOUTS = ("quadrants", "corners")
_NEIGHBOR = (0.5, 0.3, 0.15, 0.05)  # how likely the first to fourth neighbor is the one to change places with
_SWITCH = (0.7, 0.5, 0.3)  # how likely a first, second and third pair changes places


def circles(n: int = 7000, *, missing: float = 0.0, seed: int | None = None) -> RankingData:
    """Three central rankings of six labels in a disc, a ring around it, and the rest of a square.

    Args:
        n: number of rows, uniform on a square of width 6 around the origin; the disc has radius 1.5, the ring 2.7.
        missing: chance of each label to be left out.
        seed: of NumPy's generator.

    Returns:
        ``X`` (n, 2), ``Y`` (n, 6), and in ``classes`` which of ``notes["central_orders"]`` (3, 6) was disturbed.

    Raises:
        ValueError: ``n`` below 1, ``missing`` outside 0 to 1.
    """
    check_count(n, "n", least=1)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    classes = np.searchsorted([1.5, 2.7], np.hypot(X[:, 0], X[:, 1]))
    return _disturbed(rng, X, classes, missing, "Circles")


def checker(
    n: int = 7200, *, layout: str = "quadrants", spread: float = 0.25, missing: float = 0.0, seed: int | None = None
) -> RankingData:
    """Three central rankings of six labels on the fields of a 4 x 4 checkerboard.

    The paper gives classes 1 and 2 to the "upper right and lower right Gaussians" and class 3 to the rest. With
    ``layout="corners"`` these are the two fields in the corners, as worded; with "quadrants" the four fields of the
    upper right and of the lower right quarter, which fits the published losses better.

    Args:
        n: number of rows, as equal as possible over the 16 fields.
        layout: "quadrants" or "corners".
        spread: standard deviation around a field's center, in widths of a field; the paper does not give it.
        missing: chance of each label to be left out.
        seed: of NumPy's generator.

    Returns:
        As :func:`circles`.

    Raises:
        ValueError: ``n`` below 1, ``missing`` outside 0 to 1, ``spread`` negative or infinite, an unknown ``layout``.
    """
    check_count(n, "n", least=1)
    check_choice(layout, "layout", LAYOUTS)
    check_finite(spread, "spread", 0)
    rng = np.random.default_rng(seed)
    field = np.arange(n) % 16
    column, row = field % 4, field // 4  # row 0 is the lowest
    X = np.stack([column, row], axis=1) - 1.5 + spread * rng.standard_normal((n, 2))
    if layout == "corners":
        right, upper, lower = column == 3, row == 3, row == 0
    else:
        right, upper, lower = column >= 2, row >= 2, row < 2
    classes = np.select([right & upper, right & lower], [0, 1], 2)
    return _disturbed(rng, X, classes, missing, "Checker")


def drop_labels(Y: Labels, rate: float, *, seed: int | np.random.Generator | None = None) -> Labels:
    """A float64 copy of scores in which each one became NaN with chance ``rate``; rows may lose all their labels.

    Args:
        Y: ``(N, L)`` scores, or a data set.
        rate: chance of each score to be left out, 0 to 1.
        seed: of NumPy's generator, or a generator.

    Returns:
        ``(N, L)`` scores; for a data set another one with such scores, in which all else is the same.

    Raises:
        ValueError: ``rate`` outside 0 to 1.
    """
    if isinstance(Y, RankingData):
        return replace(Y, scores=drop_labels(Y.scores, rate, seed=seed))
    check_chance(rate, "rate")
    refuse_masks(Y, "Y")
    scores = np.array(Y, dtype=np.float64)
    scores[np.random.default_rng(seed).random(scores.shape) < rate] = np.nan
    return scores


def check_chance(value: float, name: str) -> None:
    """Raise ``ValueError`` unless ``value`` is a chance from 0 to 1."""
    check_at_least(value, name, 0)
    if value > 1:
        raise ValueError(f"{name}={value!r} is out of range; it is the chance of a label to be left out, 0 to 1")


def _disturbed(rng: np.random.Generator, X: np.ndarray, classes: np.ndarray, missing: float, title: str) -> RankingData:
    check_chance(missing, "missing")
    orders = np.array(CENTRAL_ORDERS)[classes]
    going_on = np.ones(len(orders), dtype=bool)
    for chance in _SWITCH:
        going_on &= rng.random(len(orders)) < chance
        _switch_neighbors(rng, orders, np.flatnonzero(going_on))
    return RankingData(
        drop_labels(from_orders(orders), missing, seed=rng),
        tuple("123456"),
        np.ones(len(X)),
        features=X,
        classes=classes,
        title=title,
        citation=CITATION,
        notes={"central_orders": np.array(CENTRAL_ORDERS)},
    )


def _switch_neighbors(rng: np.random.Generator, orders: np.ndarray, rows: np.ndarray) -> None:
    """In each of ``rows``, a random place changes labels with its first to fourth neighbor.

    A place without neighbors at the distance drawn draws again; the paper does not say.
    """
    n_labels = orders.shape[1]
    place, distance = rng.integers(n_labels, size=len(rows)), np.zeros(len(rows), dtype=np.int64)
    undecided = np.arange(len(rows))
    while len(undecided):
        distance[undecided] = 1 + rng.choice(len(_NEIGHBOR), size=len(undecided), p=_NEIGHBOR)
        far = np.maximum(place, n_labels - 1 - place)[undecided]
        undecided = undecided[distance[undecided] > far]
    up = rng.random(len(rows)) < 0.5
    up = np.where(place - distance < 0, True, np.where(place + distance >= n_labels, False, up))
    other = place + np.where(up, distance, -distance)
    orders[rows, place], orders[rows, other] = orders[rows, other], orders[rows, place]


@shares_arguments(ARGUMENTS)
def read_label_ranking(
    path: str | Path,
    *,
    items: Sequence[str] | None = None,
    unranked: float | str | Sequence[float | str] | None = None,
    lenient: bool = False,
    **about: Any,
) -> RankingData:
    """Read a label-ranking table: a header, the features, and the rankings in one of two forms.

    Either one column ``rank:LABEL`` for each label holds its rank, 1 for the top label, empty for an unranked one; or
    the last column holds strings such as ``L2>L1>L3``, see :func:`from_ranking_strings`.

    Args:
        path: {path}
        items: the labels; by default all with a column, or those found in strings, sorted.
        unranked: another rank, or string, that means not ranked, such as 0, -1 or "-", or a list of them.
        lenient: {lenient}
        **about: title (by default the file's name), license, citation and notes of :class:`RankingData`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no rankings, rows of different lengths, a field that is not a number, or a rank below 1 other than
            ``unranked``; the row is named. What :func:`from_ranking_strings` refuses of strings, and
            :func:`read_rankings` of files.

    Warns:
        UserWarning: with ``lenient``, rows that were left out, and how many.
    """
    table, marks = read_csv(path, lenient=lenient), as_marks(unranked)
    texts = [mark for mark in marks if isinstance(mark, str)]
    weights = None
    ranked = [name.startswith("rank:") for name in table.header]
    if any(ranked):
        first = ranked.index(True)
        if not all(ranked[first:]):
            raise ValueError(f"{table.file} has features after the first rank: column; put the rank: columns last")
        columns = table.header[first:] if items is None else tuple(f"rank:{name}" for name in items)
        labels = tuple(name.removeprefix("rank:") for name in columns)
        numbers = [mark for mark in marks if not isinstance(mark, str)]
        scores = from_positions(table.numbers(columns, empty=texts), unranked=numbers)
    elif any(">" in text for text in table.column(table.header[-1])):
        first = len(table.header) - 1
        rankings = from_ranking_strings(unmarked(table.column(table.header[-1]), texts), items=items)
        scores, labels, weights = rankings.scores, rankings.items, rankings.weights
    else:
        raise ValueError(f"{table.file} has neither rank:LABEL columns nor a last column of strings such as L2>L1>L3")
    names = table.header[:first]
    about = {"title": table.file} | about
    return RankingData(
        scores,
        labels,
        weights_of(weights, len(scores)),
        features=features_of(table.numbers(names)),
        feature_names=names,
        **about,
    )
