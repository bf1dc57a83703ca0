"""Tests of association between all rankings: Kendall's tau with its p-values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, get_args

import numpy as np
import torch
from scipy import stats
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.block_stream import Part
from torchrank.kernels.pair_stream import PairStream
from torchrank.ops.memory import TESTS, explaining, gibibytes
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import Pair, SparsePair, sides_to_count
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.unmapped import MANY, unmapped
from torchrank.rankings.validate import Scores, check_choice
from torchrank.stream.arguments import ARGUMENTS as OF_STREAMS
from torchrank.stream.p_values import (
    ALTERNATIVES,
    METHODS,
    Rows,
    TieMoments,
    p_values,
    rows_of,
    tie_moments_among_common,
)
from torchrank.typing import Alternative, Array, Correction, Kind, TestMethod

CORRECTIONS = get_args(Correction)
_REMEDY = 'pass missing="pairwise" to test each pair by the items that both rank'


class AssociationTest(NamedTuple, Generic[Kind]):
    """Statistics and p-values of all pairs of rankings."""

    statistic: Kind  # (m, m2) Kendall's tau-b; NaN where a row ties all items
    pvalue: Kind  # (m, m2) float64


@isolated
@unmapped(MANY)
@shares_arguments(ARGUMENTS, OF_STREAMS)
def kendall_test(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    alternative: Alternative = "two-sided",
    method: TestMethod = "auto",
    correction: Correction | None = None,
    missing: Missing = None,
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> AssociationTest[Array]:
    """Kendall's tau-b between all rankings, with the probability of one as far out where there is no association.

    The statistic is :func:`torchrank.kendall_gram`; the p-value is that of ``scipy.stats.kendalltau``, of all pairs in
    one call. To test a series for a trend, test it against time: ``kendall_test(series[None], times[None])`` is the
    test of Mann and Kendall, its variance corrected for ties.

    Args:
        X: {matrix}
        Y: ``(m2, n)`` likewise; None means ``X``.
        alternative: "two-sided"; "greater", that tau is above 0; or "less".
        method: where p-values come from. "exact": the distribution over all permutations, for rankings without ties;
            "asymptotic": the normal distribution with the variance that ties leave; "auto": exact for up to 33 items
            without ties, and where at most one pair of items is the other way; asymptotic elsewhere.
        correction: of p-values for the number of tests, each pair of rankings counted once: "fdr_bh" (Benjamini and
            Hochberg, J. R. Stat. Soc. B 57(1), 1995) or "fdr_by" (Benjamini and Yekutieli, Ann. Statist. 29(4), 2001),
            by ``scipy.stats.false_discovery_control``; or "bonferroni". Without ``Y`` the diagonal is no test and keeps
            its p-values.
        missing: what unranked items mean: "raise" (an error; the default for scores) or "pairwise" (each two rows are
            tested on the items that both rank).
        workspace: {workspace}
        progress: {progress}

    Returns:
        :class:`AssociationTest`: statistics of dtype and kind of :func:`torchrank.kendall_gram`, p-values float64. NaN
        where a row ties all items, or two have fewer than two in common: there is nothing to test.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_gram`; batch dimensions; "exact" for rankings
            that tie some items and not all, or for more than 170 items.

    Example:
        >>> X = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 5.0, 4.0]])
        >>> found = kendall_test(X)
        >>> found.statistic.round(2).tolist(), found.pvalue.round(4).tolist()
        ([[1.0, 0.8], [0.8, 1.0]], [[0.0167, 0.0833], [0.0833, 0.0167]])
    """
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(method, "method", METHODS)
    if correction is not None:
        check_choice(correction, "correction", CORRECTIONS)
    pair = sides_to_count(X, Y, missing)
    tests = Tests.of(pair, block=None, workspace=workspace)
    statistic, pvalue = _tables(*tests.stream.shape)
    for part, found in tests.run("kendall_test", bool(progress)):
        taus, probabilities = found.tau(), found.p_values(alternative, method)
        statistic[part.rows, part.columns], pvalue[part.rows, part.columns] = taus, probabilities
        if part.mirrored:
            statistic[part.columns, part.rows], pvalue[part.columns, part.rows] = taus.T, probabilities.T
    if correction is not None:
        _correct(pvalue, correction, symmetric=pair.Y is None)
    device = pair.X.ranks.device
    results = torch.from_numpy(statistic).to(device, pair.dtype), torch.from_numpy(pvalue).to(device)
    return AssociationTest(
        *(pair.origin.gram(pair.without_gradient(part), symmetric=pair.Y is None) for part in results)
    )


@explaining(lambda m, m2: f"for tests of {m} x {m2} rankings ({gibibytes(2 * m * m2)})", TESTS)
def _tables(m: int, m2: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for statistics and p-values."""
    return np.empty((m, m2)), np.empty((m, m2))


def corrected(pvalues: np.ndarray, correction: Correction) -> np.ndarray:
    """P-values ``(q,)`` of q tests, NaN left out, for the number of tests."""
    result, known = pvalues.copy(), ~np.isnan(pvalues)
    count = int(known.sum())
    if correction == "bonferroni":
        result[known] = np.minimum(pvalues[known] * count, 1)
    elif count:
        result[known] = stats.false_discovery_control(pvalues[known], method=correction.removeprefix("fdr_"))
    return result


def _correct(pvalue: np.ndarray, correction: Correction, *, symmetric: bool) -> None:
    if not symmetric:
        pvalue[:] = corrected(pvalue.ravel(), correction).reshape(pvalue.shape)
        return
    upper = np.triu_indices(len(pvalue), 1)
    pvalue[upper] = corrected(pvalue[upper], correction)
    pvalue.T[upper] = pvalue[upper]


class Scored(NamedTuple):
    """Scores of some pairs of rankings, and what their distribution depends on; arrays that broadcast."""

    score: np.ndarray  # concordant - discordant pairs, whole numbers in float64
    n: Any  # items compared
    x: Rows
    y: Rows

    def tau(self) -> np.ndarray:
        """Tau-b; NaN where one of both ties all items."""
        scale = np.sqrt(self.x.strict * self.y.strict)
        return np.divide(self.score, scale, out=np.full(self.score.shape, np.nan), where=scale > 0)

    def p_values(self, alternative: Alternative, method: TestMethod) -> np.ndarray:
        """See :func:`torchrank.stream.p_values.p_values`."""
        return p_values(self.score, self.n, self.x, self.y, alternative, method)

    def at(self, row: np.ndarray, column: np.ndarray) -> Scored:
        """Those of some pairs ``(q,)``."""

        def taken(values: Any) -> Any:
            return values if np.ndim(values) == 0 else np.broadcast_to(values, self.score.shape)[row, column]

        def of(rows: Rows) -> Rows:
            return Rows(taken(rows.strict), TieMoments(*map(taken, rows.moments)))

        return Scored(self.score[row, column], taken(self.n), of(self.x), of(self.y))


_REMEDY = 'pass missing="pairwise" to test each pair by the items that both rank'


@dataclass(frozen=True)
class Tests:
    """All tests between two sets of rankings, block by block."""

    stream: PairStream
    x: Rows | None  # of complete rankings
    y: Rows | None

    @classmethod
    def of(cls, pair: Pair | SparsePair, *, block: int | None, workspace: int) -> Tests:
        """Raise ``ValueError`` for words other than "raise" and "pairwise"."""
        word = next((side.missing for side in pair.sides() if side.meaning.partial), None)
        if word is not None:
            raise ValueError(
                f"missing={word!r} gives expected signs, whose distribution is not known; pass missing='pairwise'"
            )
        complete = pair.X.missing == "raise"
        quantity = Quantity("a") if complete else Quantity("counts")
        dtype = torch.float64 if complete else torch.int64
        stream = PairStream.of(
            pair, quantity, block=block, method="auto", workspace=workspace, dtype=dtype, remedy=_REMEDY
        )
        pair = stream.pair
        if not complete or not isinstance(pair, Pair):
            return cls(stream, None, None)
        x = rows_of(pair.X.strict, pair.X.ranks)
        return cls(stream, x, x if pair.Y is None else rows_of(pair.Y.strict, pair.Y.ranks))

    def run(self, title: str, progress: bool, parts: list[Part] | None = None) -> Iterator[tuple[Part, Scored]]:
        """The tests of all blocks, or of those asked for."""
        for part, values in self.stream.run(title, progress, parts):
            yield part, self._scored(part, values.detach().cpu().numpy())

    def _scored(self, part: Part, values: np.ndarray) -> Scored:
        """The tests of a block, of what was counted there."""
        if self.x is not None and self.y is not None:
            n = int(self.stream.pair.X.shape[1])
            score = (values[0] * n_pairs(n)).round()
            return Scored(score, n, _side(self.x, part.rows, 1), _side(self.y, part.columns, 0))
        concordant, discordant, tied_x, tied_y, _ = values
        pairs = values.sum(0)
        n = np.round((1 + np.sqrt(1 + 8.0 * pairs)) / 2)
        strict = concordant + discordant
        ranks = [_dense_ranks(side, rows) for side, rows in self._sides(part)]
        others = TieMoments(*(found.T for found in tie_moments_among_common(*ranks[::-1])))
        x = Rows((strict + tied_y).astype(np.float64), tie_moments_among_common(*ranks))
        y = Rows((strict + tied_x).astype(np.float64), others)
        return Scored((concordant - discordant).astype(np.float64), n, x, y)

    def _sides(self, part: Part) -> list[tuple[Any, slice]]:
        pair = self.stream.pair
        return [(pair.X, part.rows), (pair.X if pair.Y is None else pair.Y, part.columns)]


def _side(rows: Rows, where: slice, axis: int) -> Rows:
    def placed(values: np.ndarray) -> np.ndarray:
        part = values[where]
        return part[0] if len(part) and (part == part[0]).all() else np.expand_dims(part, axis)  # without ties mostly

    return Rows(placed(rows.strict), TieMoments(*map(placed, rows.moments)))


def _dense_ranks(side: Any, rows: slice) -> np.ndarray:
    part = side[rows]
    ranks: Tensor = part.dense().ranks if isinstance(part, SparseRankings) else part.ranks
    return np.ascontiguousarray(ranks.cpu().numpy())
