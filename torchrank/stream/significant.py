"""Pairs of rankings that are significant after correction, found in one pass and without keeping all p-values."""

import numpy as np

from torchrank.kernels.block_stream import Part
from torchrank.processes import Group, joined, told
from torchrank.stream.association import Scored
from torchrank.stream.p_values import may_be_at_most, nothing_to_test
from torchrank.typing import Alternative, Correction

_PRUNED = 2**22  # candidates after which those that can no longer be significant are left out
_GROWTH = 1.5  # by how much they may grow until the next time


class Significant:
    """Candidates so far; those that cannot be significant, whatever the pairs to come, are left out.

    A p-value t is significant after the correction of Benjamini and Hochberg if some t' >= t has t' <= alpha R / q,
    with R of all q p-values at most t'. At any time R is at most what was found plus what is still to come.
    """

    def __init__(self, alpha: float, correction: Correction | None, alternative: Alternative, n_pairs: int) -> None:
        self.alpha = alpha
        self.correction: Correction | None = correction
        self.alternative: Alternative = alternative
        self.to_come, self.tested = n_pairs, 0
        self._columns: list[list[np.ndarray]] = [[], [], [], []]  # rows, columns, taus, p-values
        self._candidates, self._prune_at = 0, _PRUNED

    def add(self, scored: Scored, part: Part) -> None:
        """Take in the tests of a block."""
        shape = scored.score.shape
        pairs = shape[0] * shape[1] if part.mirrored else shape[0] * (shape[0] - 1) // 2
        untested = len(part.upper(np.broadcast_to(nothing_to_test(scored.x, scored.y), shape))[0])
        bound = self._bound()
        row, column = part.upper(may_be_at_most(*scored, self.alternative, bound))
        some = scored.at(row, column)
        p = some.p_values(self.alternative, "auto")
        kept = p <= bound
        first = part.rows.start, part.columns.start
        places = ((place[kept] + start).astype(np.int32) for place, start in zip((row, column), first, strict=True))
        for values, new in zip(self._columns, (*places, some.tau()[kept], p[kept]), strict=True):
            values.append(new)
        self.to_come, self.tested = self.to_come - pairs, self.tested + pairs - untested
        self._candidates += int(kept.sum())
        if self._candidates > self._prune_at:
            self._prune()
            self._prune_at = max(_PRUNED, int(_GROWTH * self._candidates))

    def of_all(self, group: Group) -> "Significant":
        """Candidates of all processes of a group, each of which has seen some of the pairs.

        To each of them the pairs of the others are still to come, so what it left out is significant in none.
        """
        all_of = Significant(self.alpha, self.correction, self.alternative, 0)
        all_of._columns = [[joined(values, group)] for values in self._joined()]
        all_of.tested = sum(told(self.tested, group))
        return all_of

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, columns and taus of the pairs that are significant among all, in the order in which they came."""
        row, column, tau, p = self._joined()
        kept = self._significant(p)
        return row[kept], column[kept], tau[kept]

    def _significant(self, p: np.ndarray) -> np.ndarray:
        if self.correction is None:
            return p <= self.alpha
        if self.correction == "bonferroni":
            return p * self.tested <= self.alpha
        ordered = np.sort(p)
        rank = np.arange(1, len(p) + 1)
        corrected = ordered * (self.tested / rank) * self._penalty()
        rejected = (corrected <= self.alpha).nonzero()[0]
        return p <= ordered[rejected[-1]] if len(rejected) else np.zeros(len(p), bool)

    def _penalty(self) -> float:
        """What Benjamini and Yekutieli multiply by: the sum of 1 / i over tests, of those known so far."""
        if self.correction != "fdr_by":
            return 1.0
        return float((1 / np.arange(1, max(1, self.tested) + 1)).sum())

    def _bound(self) -> float:
        """No larger p-value can be significant in the end."""
        if self.correction is None:
            return self.alpha
        if self.correction == "bonferroni":
            return self.alpha / max(1, self.tested) * (1 + 1e-12)
        most = (self._candidates + self.to_come) / max(1, self.tested + self.to_come)
        return min(self.alpha, self.alpha * most / self._penalty() * (1 + 1e-12))

    def _prune(self) -> None:
        bound = self._bound()
        kept = [p <= bound for p in self._columns[3]]
        for values in self._columns:  # block by block: a copy of all would take as much memory again
            values[:] = [part[these] for part, these in zip(values, kept, strict=True)]
        self._candidates = sum(int(these.sum()) for these in kept)

    def _joined(self) -> list[np.ndarray]:
        nothing = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
        return [np.concatenate([empty, *values]) for empty, values in zip(nothing, self._columns, strict=True)]
