"""Comparisons of two items each become rankings of two."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData, weights_of
from torchrank.datasets.matrices import refuse_nearly_empty
from torchrank.datasets.names import factorize
from torchrank.rankings.arrays import refuse_masks


def from_comparisons(
    pairs: Any,
    *,
    items: Sequence[Any] | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
    **about: Any,
) -> RankingData:
    """Rankings of two items each, from a list of (winner, loser); equal pairs are counted in ``weights``.

    Args:
        pairs: names or numbers, the winner first; a list of pairs, an array or data frame of two columns.
        items: names of the columns; by default those found, sorted.
        weights: how often each comparison was observed; None means once.
        **about: title, license, citation and notes of :class:`RankingData`.

    Returns:
        A row for each different pair, with score 2 for the winner, 1 for the loser and NaN for the others.

    Raises:
        ValueError: an item compared with itself, a winner or loser left empty, one that ``items`` lacks, entries that
            are not pairs, bad weights, numbers from 2^53 on in floating point, where they collide, and scores that
            would take more than 1 GiB for next to nothing but NaN.
        TypeError: names among numbers.

    Example:
        >>> from_comparisons([("tea", "milk"), ("tea", "milk"), ("milk", "tea")]).weights.tolist()
        [2.0, 1.0]
    """
    return counted(*_columns(pairs), items, weights, **about)


def counted(winners: list[Any], losers: list[Any], items: Any, weights: Any, **about: Any) -> RankingData:
    """As :func:`from_comparisons`, winners and losers each by themselves."""
    m = len(winners)

    def unfit(_: Any, place: int) -> Exception:
        pair = (winners[place % m], losers[place % m])
        return ValueError(f"pairs has {pair!r} at {place % m}; expected (winner, loser), two different items")

    found = factorize(winners + losers, "pairs", unfit)
    same = found.codes[:m] == found.codes[m:]
    if same.any():
        raise unfit(None, int(same.argmax()))
    found = found.chosen(items, lambda name, place: ValueError(f"pairs has {name!r} at {place % m}, which items lacks"))
    n = len(found.names)
    won, lost = found.codes[:m], found.codes[m:]
    _, first, which = np.unique(won * n + lost, return_index=True, return_inverse=True)
    in_order = np.argsort(first)  # rows in the order in which pairs were found
    won, lost = won[first[in_order]], lost[first[in_order]]
    refuse_nearly_empty(len(won), n, 2 * len(won), "compare fewer items, or leave out those seldom compared")
    scores = np.full((len(won), n), np.nan)
    scores[np.arange(len(won)), won] = 2.0
    scores[np.arange(len(won)), lost] = 1.0
    counts = np.bincount(which, weights_of(weights, m), minlength=len(won))
    return RankingData(scores, found.names, counts[in_order].astype(np.float64), **about)


def _columns(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Winners and losers, each as the Python number or text that it is."""
    refuse_masks(pairs, "pairs")
    if hasattr(pairs, "iloc") and getattr(pairs, "ndim", 1) == 2 and pairs.shape[1] == 2:
        return pairs.iloc[:, 0].tolist(), pairs.iloc[:, 1].tolist()
    rows = (
        pairs.tolist() if hasattr(pairs, "tolist") else pairs.to_numpy().tolist() if hasattr(pairs, "iloc") else pairs
    )
    won: list[tuple[Any, ...]] = [
        row if type(row) is tuple else (row,) if isinstance(row, str) else tuple(row) for row in rows
    ]
    for number, pair in enumerate(won if {2} != set(map(len, won)) else ()):
        if len(pair) != 2:
            raise ValueError(f"pairs has {pair!r} at {number}; expected (winner, loser), two different items")
    return [pair[0] for pair in won], [pair[1] for pair in won]
