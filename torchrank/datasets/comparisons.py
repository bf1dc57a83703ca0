"""Comparisons of two items each become rankings of two, tied where neither won."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData, weights_of
from torchrank.datasets.matrices import refuse_nearly_empty
from torchrank.datasets.names import factorize, is_absent
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.forms import refuse_unordered
from torchrank.rankings.names import check_same_rows, index_of
from torchrank.rankings.sparse import SparseRankings

TIE, WIN = ("tie", "draw"), ("win",)


def from_comparisons(
    pairs: Any,
    *,
    items: Sequence[Any] | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
    sparse: bool = False,
    **about: Any,
) -> RankingData:
    """Rankings of two items each, from a list of (winner, loser); equal pairs are counted in ``weights``.

    Args:
        pairs: names or numbers, the winner first; a list of pairs, an array or data frame of two columns. A third entry
            "tie" or "draw" says that neither won, "win" that the first one did, as in pairs without a third entry.
        items: names of the columns; by default those found, sorted.
        weights: how often each comparison was observed; None means once.
        sparse: whether scores are :class:`torchrank.SparseRankings`, whose size is that of the comparisons, in place of
            a matrix with a column for each item.
        **about: title, license, citation and notes of :class:`RankingData`.

    Returns:
        A row for each different pair, with score 2 for the winner, 1 for the loser or for both of a tie, and NaN for
        the others; sparse ones with ``missing="interleaving"``.

    Raises:
        ValueError: an item compared with itself, a winner or loser left empty, one that ``items`` lacks, entries that
            are neither pairs nor pairs with an outcome, an empty outcome, bad weights, numbers from 2^53 on in floating
            point, where they collide, and a matrix that would take more than 1 GiB for next to nothing but NaN.
        TypeError: names among numbers.

    Example:
        >>> games = [("tea", "milk"), ("tea", "milk"), ("milk", "tea")]
        >>> from_comparisons(games).weights.tolist()
        [2.0, 1.0]
        >>> from_comparisons([("tea", "milk"), ("milk", "tea", "tie")]).scores.tolist()
        [[1.0, 2.0], [1.0, 1.0]]
    """
    check_same_rows(index_of(pairs), weights)
    return counted(*_columns(pairs), items, weights, sparse=sparse, **about)


def counted(
    winners: list[Any],
    losers: list[Any],
    outcomes: list[Any] | None,
    items: Any,
    weights: Any,
    *,
    sparse: bool,
    **about: Any,
) -> RankingData:
    """As :func:`from_comparisons`, winners, losers and outcomes each by themselves."""
    m = len(winners)
    tied = np.zeros(m, bool) if outcomes is None else _ties(winners, losers, outcomes)

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
    won, lost = np.where(tied, np.minimum(won, lost), won), np.where(tied, np.maximum(won, lost), lost)
    _, first, which = np.unique((won * n + lost) * 2 + tied, return_index=True, return_inverse=True)
    in_order = np.argsort(first)  # rows in the order in which pairs were found
    won, lost, tied = won[first[in_order]], lost[first[in_order]], tied[first[in_order]]
    best = np.where(tied, 1.0, 2.0)
    counts = np.bincount(which, weights_of(weights, m), minlength=len(won))[in_order].astype(np.float64)
    rows = np.arange(len(won))
    if sparse:
        columns, values = np.concatenate([won, lost]), np.concatenate([best, np.ones(len(won))])
        shape = (len(won), n)
        rankings = SparseRankings.from_triples(np.tile(rows, 2), columns, values, shape=shape, missing="interleaving")
        return RankingData(rankings, found.names, counts, **about)
    refuse_nearly_empty(len(won), n, 2 * len(won), "pass sparse=True")
    scores = np.full((len(won), n), np.nan)
    scores[rows, won], scores[rows, lost] = best, 1.0
    return RankingData(scores, found.names, counts, **about)


def _ties(winners: list[Any], losers: list[Any], outcomes: list[Any]) -> np.ndarray:
    """Which outcomes say that neither won; ``ValueError`` for others, such as none: some write that for a draw."""
    words = ["" if is_absent(outcome) else str(outcome).strip().lower() for outcome in outcomes]
    wrong = next((place for place, word in enumerate(words) if word not in (*TIE, *WIN)), None)
    if wrong is not None:
        entry, legal = (winners[wrong], losers[wrong], outcomes[wrong]), ", ".join(map(repr, (*TIE, *WIN)))
        raise ValueError(
            f"pairs has {entry!r} at {wrong}; expected an outcome that is one of {legal}: 'win' where the first one won"
        )
    return np.array([word in TIE for word in words], bool)


def _columns(pairs: Any) -> tuple[list[Any], list[Any], list[Any] | None]:
    """Winners, losers and outcomes, each as the Python number or text that it is."""
    refuse_masks(pairs, "pairs")
    if hasattr(pairs, "iloc") and getattr(pairs, "ndim", 1) == 2 and pairs.shape[1] in (2, 3):
        won, lost, *outcomes = (pairs.iloc[:, column].tolist() for column in range(pairs.shape[1]))
        return won, lost, outcomes[0] if outcomes else None
    rows = (
        pairs.tolist() if hasattr(pairs, "tolist") else pairs.to_numpy().tolist() if hasattr(pairs, "iloc") else pairs
    )
    refuse_unordered(rows, "pairs", "(winner, loser)")
    won: list[tuple[Any, ...]] = [
        row if type(row) is tuple else (row,) if isinstance(row, str) else tuple(row) for row in rows
    ]
    lengths = set(map(len, won))
    for number, pair in enumerate(won if not lengths <= {2, 3} else ()):
        if len(pair) not in (2, 3):
            raise ValueError(f'pairs has {pair!r} at {number}; expected (winner, loser), or (one, other, "tie")')
    outcomes = [pair[2] if len(pair) == 3 else WIN[0] for pair in won] if 3 in lengths else None
    return [pair[0] for pair in won], [pair[1] for pair in won], outcomes
