"""Rankings of few items each out of many, held item by item: their size is that of what was ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.convert import as_orders
from torchrank.rankings.derivatives import needs_derivative
from torchrank.rankings.listed import (
    as_indices,
    check_shape,
    flat_orders,
    flat_table,
    is_table,
    ranks_of,
    refuse_repeated,
    starts_of,
)
from torchrank.rankings.missing import MISSING, Meaning, Missing, meaning_of, refuse_batches
from torchrank.rankings.prepared import Prepared, Rankings, chosen_rows
from torchrank.rankings.ties import sortable
from torchrank.rankings.validate import real_dtype
from torchrank.typing import Array, Kind, Values

_MOST_CELLS = 2**31  # of a dense matrix of ranks, 8 GiB


@dataclass(frozen=True, eq=False, repr=False)
class SparseRankings(Prepared[Kind]):
    """A set of rankings, each of some out of n items, that holds the ranked items only.

    It is accepted wherever scores are. :func:`torchrank.kendall_gram`, :func:`torchrank.kendall_distance`,
    :func:`torchrank.mallows_gram`, :func:`torchrank.pair_counts` and :func:`torchrank.fit_plackett_luce` work on the
    ranked items alone; others make a matrix ``(m, n)`` of it, as :meth:`dense` does. Items that are not held are
    unranked, and ``missing`` says what that means. Matrices of ``scipy.sparse`` and sparse CSR tensors, in which what
    is not stored is unranked, become such rankings by :func:`torchrank.rank`.
    """

    starts: Tensor  # (m + 1,) int64: row r holds the places from starts[r] to starts[r + 1]
    items: Tensor  # (N,) int64, in each row the most preferred first, tied ones by index
    ranks: Tensor  # (N,) int32 dense ranks among the items of the row: 0 for the least preferred
    n_items: int
    meaning: Meaning  # of unranked items
    dtype: torch.dtype | None  # of the scores if floating: that of real results
    origin: Origin  # what results come back as
    weights: Tensor | None = None  # (m,) float64 of a data set that has some: how often each ranking was observed
    scores: Tensor | None = None  # their sum, where a derivative in them may be asked for, and then refused

    @classmethod
    def from_triples(
        cls,
        rows: Values[Array],
        items: Values[Array],
        scores: Values,
        *,
        shape: tuple[int, int] | None = None,
        missing: Missing = "pairwise",
    ) -> SparseRankings:
        """Rankings of ratings: who rated what, and how.

        Args:
            rows: ``(N,)`` integers from 0 on, the ranking that each rating belongs to.
            items: ``(N,)`` integers from 0 on, the item rated.
            scores: ``(N,)`` larger = preferred, equal ones of a row tied; ratings that are NaN are left out.
            shape: numbers of rankings and of items; None means the largest indices plus 1.
            missing: what unranked items mean, as for :func:`torchrank.rank`.

        Raises:
            ValueError: different lengths, indices below 0 or beyond ``shape``, an item rated twice in a row, fewer than
                two items, an unknown word.
            TypeError: indices that are not integers, scores that are not real numbers.

        Example:
            >>> rows, items, scores = [0, 0, 1, 1], [3, 1, 1, 2], [5, 4, 2, 2]
            >>> rankings = SparseRankings.from_triples(rows, items, scores, shape=(2, 5))
            >>> rankings.dense().ranks.tolist()
            [[-1, 0, -1, 1, -1], [-1, 0, 0, -1, -1]]
        """
        score, origin = as_tensor(scores, "scores", ordinal=True)
        if score.ndim != 1:
            raise ValueError(f"scores has shape {tuple(score.shape)}; expected one score for each rating")
        row, item = as_indices(rows, "rows", score), as_indices(items, "items", score)
        m, n = shape or (_count(row), _count(item))
        check_shape(m, n, row, item)
        dtype = real_dtype(score, origin) if score.is_floating_point() else None
        total = score.sum() if needs_derivative(score) else None
        score = sortable(score)
        if score.is_floating_point():
            rated = ~score.isnan()
            row, item, score = row[rated], item[rated], score[rated]
        refuse_repeated(row, item)
        by_item = item.argsort(stable=True)
        order = by_item[score[by_item].argsort(descending=True, stable=True)]
        order = order[row[order].argsort(stable=True)]
        row, score = row[order], score[order]
        starts = starts_of(torch.bincount(row, minlength=m))
        below = torch.zeros_like(row, dtype=torch.bool)  # strictly, the one before it in its row
        below[1:] = (score[1:] != score[:-1]) & (row[1:] == row[:-1])
        meaning = _meaning_of(missing, m, "missing", row.device, MISSING)
        rankings = cls(starts, item[order], ranks_of(starts, below), n, meaning, dtype, origin, scores=total)
        return rankings._checked("scores")

    @classmethod
    def from_orders(
        cls, orders: Matrix | Sequence[Sequence[int]], n_items: int | None = None, *, missing: Missing = "interleaving"
    ) -> SparseRankings:
        """Rankings of lists of items, most preferred first: comparisons ``(winner, loser)``, races, shopping baskets.

        Args:
            orders: ``(m, L)`` item indices from 0 on, padded at the end with -1; or lists of any lengths.
            n_items: number of items; None means the largest index plus 1.
            missing: what items mean that a list leaves out, as for :func:`torchrank.rank`.

        Raises:
            ValueError, TypeError: as :func:`torchrank.from_orders`; fewer than two items.

        Example:
            >>> SparseRankings.from_orders([[2, 0], [1, 2, 0]], n_items=4).lengths.tolist()
            [2, 3]
        """
        origin = Origin.of(orders)
        if isinstance(orders, Sequence) and not is_table(orders):
            lengths, listed = flat_orders(orders)
            rows = torch.arange(len(lengths)).repeat_interleave(lengths)
        else:
            lengths, listed = flat_table(as_orders(orders, "orders", n_items))
            rows = None
        n = _count(listed) if n_items is None else n_items
        check_shape(len(lengths), n, None, listed, lengths)
        if rows is not None:
            refuse_repeated(rows, listed)
        meaning = _meaning_of(missing, len(lengths), "missing", listed.device, MISSING)
        return from_lists(lengths, listed, n, meaning, origin)._checked("orders")

    @property
    def shape(self) -> torch.Size:
        """``(m, n)``."""
        return torch.Size((len(self), self.n_items))

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def lengths(self) -> Tensor:
        """``(m,)`` int64 number of ranked items of each row."""
        return self.starts.diff()

    @property
    def rows(self) -> Tensor:
        """``(N,)`` int64 the ranking that each place belongs to."""
        return torch.arange(len(self), device=self.starts.device).repeat_interleave(self.lengths)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> SparseRankings[Kind]:
        """Some of the rankings, by a slice, indices or a mask, as NumPy has them."""
        device = self.starts.device
        chosen = torch.arange(len(self), device=device)[chosen_rows(rows, len(self), device)]
        starts = starts_of(self.lengths[chosen])
        shift = (self.starts[chosen] - starts[:-1]).repeat_interleave(starts.diff())
        places = torch.arange(len(shift), device=shift.device) + shift
        meaning = self.meaning.of_rows(chosen, (len(self),))
        return replace(
            self,
            starts=starts,
            items=self.items[places],
            ranks=self.ranks[places],
            meaning=meaning,
            origin=self.origin.of_rows(chosen.tolist()),
            weights=None if self.weights is None else self.weights[chosen],
        )

    def __repr__(self) -> str:
        m, n = self.shape
        return f"SparseRankings(shape=({m}, {n}), ranked={len(self.items)}, missing={self.missing!r})"

    def to(self, device: torch.device | str) -> SparseRankings[Kind]:
        """The same rankings on another device."""
        names = ("starts", "items", "ranks", "meaning", *(("weights",) if self.weights is not None else ()))
        parts = {name: getattr(self, name).to(device) for name in names}
        return replace(self, **parts)

    def meant(
        self, missing: Missing, legal: tuple[str, ...] = MISSING, word: str = "missing", name: str = "X"
    ) -> SparseRankings[Kind]:
        """The same rankings with another word for unranked items; None leaves the one they have."""
        if missing is not None:
            meaning = _meaning_of(missing, len(self), word, self.starts.device, legal)
            return replace(self, meaning=meaning)._checked(name, legal)
        if self.missing not in legal:
            raise ValueError(
                f"{name} was ranked with missing={self.missing!r}; pass {word}=, one of {', '.join(map(repr, legal))}"
            )
        return self

    def dense(self) -> Rankings[Kind]:
        """The same as a matrix of ranks.

        Raises:
            ValueError: it would have more than 2^31 entries.
        """
        m, n = self.shape
        if m * n > _MOST_CELLS:
            raise ValueError(
                f"sparse rankings of shape ({m}, {n}) would make a dense matrix of {4 * m * n / 2**30:.3g} GiB, which "
                "this function needs; pass fewer rows, or items, at once"
            )
        ranks = torch.full((m, n), -1, dtype=torch.int32, device=self.starts.device)
        ranks[self.rows, self.items] = self.ranks
        scores = None if self.scores is None else self.scores.expand(m, 1)
        return Rankings(
            ranks, self.strict_pairs(), self.meaning, self.dtype, self.origin, weights=self.weights, scores=scores
        )

    def as_scores(self, dtype: torch.dtype | None = None) -> Tensor:
        """The ranks as scores ``(m, n)``: larger = preferred, NaN = unranked."""
        return self.dense().as_scores(dtype)

    def strict_pairs(self) -> Tensor:
        """``(m,)`` int64 number of pairs of ranked items that each row does not tie."""
        lengths = self.lengths
        sizes, group = self._tie_groups()
        tied = torch.zeros_like(lengths).index_add_(0, self.rows, sizes[group] - 1)
        return (lengths * (lengths - 1) - tied) // 2

    def refuse_ties(self, name: str, remedy: str) -> None:
        """Raise ``ValueError`` naming the first row with tied items, and two of them."""
        rows = self.rows
        tied = ((self.ranks[1:] == self.ranks[:-1]) & (rows[1:] == rows[:-1])).nonzero()
        if len(tied):
            place = int(tied[0])
            first, second = sorted(self.items[place : place + 2].tolist())
            raise ValueError(f"{name} ties items {first} and {second} in row {int(rows[place])}; {remedy}")

    def mid_ranks(self) -> Tensor:
        """``(N,)`` int64 number of ranked items of its row below each item, minus the number above."""
        sizes, group = self._tie_groups()
        below = sizes.cumsum(0)[group] - sizes[group] - self.starts[self.rows]
        return 2 * below + sizes[group] - self.lengths[self.rows]

    def _tie_groups(self) -> tuple[Tensor, Tensor]:
        """Sizes of tie groups, those of a row one after the other from its start, and the group of each place."""
        group = self.starts[self.rows] + self.ranks
        return torch.bincount(group, minlength=len(self.items)), group

    def _checked(self, name: str, legal: tuple[str, ...] = MISSING) -> SparseRankings[Kind]:
        """The same; ``ValueError`` where unranked items are refused and there are some."""
        short = (self.lengths < self.n_items).nonzero()
        if self.missing == "raise" and len(short):
            row = int(short[0])
            words = ", ".join(repr(word) for word in MISSING[1:] if word in legal)
            raise ValueError(
                f"{name} leaves items of row {row} unranked: {int(self.lengths[row])} of {self.n_items} are ranked; "
                f"pass missing=, one of {words} (what a sparse matrix does not store is unranked; if it is 0, pass a "
                "dense one)"
            )
        return self


def from_lists(lengths: Tensor, listed: Tensor, n: int, meaning: Meaning, origin: Origin) -> SparseRankings:
    """Rankings of checked lists of these lengths, most preferred first, their items one list after the other."""
    starts = starts_of(lengths)
    last = (starts[1:] - 1).repeat_interleave(lengths)
    ranks = (last - torch.arange(len(listed), device=listed.device)).to(torch.int32)
    return SparseRankings(starts, listed, ranks, n, meaning, None, origin)


def _meaning_of(missing: Missing, rows: int, name: str, device: torch.device, legal: tuple[str, ...]) -> Meaning:
    meaning = meaning_of(missing, rows, name, device, legal)
    refuse_batches(meaning, name)
    return meaning


def _count(indices: Tensor) -> int:
    return int(indices.max()) + 1 if len(indices) else 0
