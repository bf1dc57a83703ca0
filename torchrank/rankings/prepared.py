"""Rankings prepared once: dense ranks, and what is known of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import Origin, is_data_set, to_numpy
from torchrank.rankings.missing import Meaning, Missing
from torchrank.rankings.names import check_same_rows, index_of
from torchrank.rankings.pairs import n_pairs
from torchrank.typing import Array, Kind, MissingWord


class Prepared(ABC, Generic[Kind]):
    """Rankings prepared once, held whole or item by item."""

    meaning: Meaning  # of unranked items
    origin: Origin  # what results come back as

    @property
    def missing(self) -> str:
        """What unranked items mean; "interleaving" where there is a word for each ranking, and not all are "topk"."""
        return self.meaning.word

    @abstractmethod
    def as_scores(self, dtype: torch.dtype | None = None) -> Tensor:
        """The ranks as scores ``(m, n)``: larger = preferred, NaN = unranked."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(to_numpy(self.as_scores(torch.float64)), dtype=dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Rankings(Prepared[Kind]):
    """A set of rankings, ranked once and for all; made by :func:`torchrank.rank`.

    It is accepted wherever scores are, but where differences of scores count. It has the shape of the scores, can be
    cut by rows as an array can, ``rankings[10:20]`` or ``rankings[indices]``, moved by ``to``, and pickled; folds of a
    cross-validation, tiles and processes share its memory, and nothing in this package changes it.
    ``numpy.asarray(rankings)`` gives its ranks as scores, NaN for unranked items.
    """

    # No attribute is called device: some versions of scikit-learn would hand it to NumPy.
    ranks: Tensor  # (..., m, n) int32 dense ranks: 0 for the least preferred items, equal = tied, -1 = unranked
    strict: Tensor  # (..., m) int64, pairs of ranked items that a ranking does not tie
    meaning: Meaning  # of unranked items
    dtype: torch.dtype | None  # of the scores if floating: that of real results
    origin: Origin  # what results come back as
    complete: bool | None = None  # whether all items are ranked; None for not known
    untied: bool | None = None  # whether, moreover, none are tied
    weights: Tensor | None = None  # (m,) float64 of a data set that has some: how often each ranking was observed
    scores: Tensor | None = None  # kept where a derivative in them may be asked for, and then refused

    @property
    def shape(self) -> torch.Size:
        """``(..., m, n)``."""
        return self.ranks.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.ranks.ndim

    def __len__(self) -> int:
        return len(self.ranks)

    def __iter__(self) -> Iterator[Rankings[Kind]]:
        return (self[k : k + 1] for k in range(len(self)))

    def __getitem__(self, rows: Any) -> Rankings[Kind]:
        """Some of the rankings, by a slice, indices or a mask of the first dimension, as NumPy has them.

        Raises:
            IndexError: a row that is not there, or more than one dimension.
        """
        rows = chosen_rows(rows, len(self), self.ranks.device, keep=self.ndim == 2)
        return replace(
            self,
            ranks=self.ranks[rows],
            strict=self.strict[rows],
            meaning=self.meaning.of_rows(rows, self.shape[:-1]),
            complete=self.complete or None,  # where some rows of all are incomplete, others may be complete
            untied=self.untied or None,
            weights=None if self.weights is None else self.weights[rows],
            scores=None if self.scores is None else self.scores[rows],
            origin=self.origin.of_rows(rows if isinstance(rows, slice) else rows.tolist())
            if self.ndim == 2
            else self.origin,
        )

    def __repr__(self) -> str:
        return f"Rankings(shape={tuple(self.shape)}, missing={self.missing!r}, device={str(self.ranks.device)!r})"

    def to(self, device: torch.device | str) -> Rankings[Kind]:
        """The same rankings on another device."""
        return replace(
            self,
            ranks=self.ranks.to(device),
            strict=self.strict.to(device),
            meaning=self.meaning.to(device),
            weights=None if self.weights is None else self.weights.to(device),
        )

    def as_scores(self, dtype: torch.dtype | None = None) -> Tensor:
        """The ranks as scores ``(..., m, n)``: larger = preferred, NaN = unranked.

        In the dtype of the scores, but at least float32, which tells ranks of up to 2^24 items apart.
        """
        dtype = torch.promote_types(dtype or self.result_dtype, torch.float32)
        return self.ranks.to(dtype).masked_fill(self.ranks < 0, torch.nan)

    @property
    def result_dtype(self) -> torch.dtype:
        """The dtype of real results."""
        return self.origin.default_dtype if self.dtype is None else self.dtype

    def in_float64(self) -> Rankings[Tensor]:
        """The same for code within, which takes results as float64 tensors, without derivatives."""
        inside: Any = replace(self, dtype=torch.float64, origin=Origin(numpy=False), scores=None)
        return inside

    def known(self) -> Rankings[Kind]:
        """The same with what can be known of all rows; looks at values, for which a GPU is waited for."""
        if self.complete is not None and self.untied is not None:
            return self
        try:
            complete = bool((self.ranks >= 0).all())
            untied = complete and bool((self.strict == n_pairs(self.shape[-1])).all())
        except RuntimeError:  # of torch.func.vmap, in which there are no values to look at
            return self
        return replace(self, complete=complete, untied=untied)


def chosen_rows(rows: Any, m: int, device: torch.device, keep: bool = True) -> Any:
    """An index of m rankings as torch takes it; with ``keep`` one ranking out of a set stays a set.

    Raises:
        IndexError: a row that is not there, or more than one dimension.
    """
    if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # so scikit-learn cuts arrays
        rows = rows[0]
    if isinstance(rows, tuple):
        raise IndexError(f"rankings are cut by rows alone, not by {rows!r}; rank the scores of fewer items instead")
    if isinstance(rows, slice) and (rows.step or 1) > 0:
        return rows
    rows = rows.cpu().numpy() if isinstance(rows, Tensor) else rows
    if not isinstance(rows, slice):
        rows = np.asarray(rows)
        rows = rows.astype(np.int64) if rows.size == 0 and rows.dtype != bool else rows
    places = np.arange(m)[rows]  # IndexError where there is no such row
    if places.ndim == 0:
        return slice(int(places), int(places) + 1) if keep else int(places)
    return torch.from_numpy(places.copy()).to(device)


def said_of(X: object, missing: Missing, otherwise: MissingWord) -> Missing:
    """``missing`` as it was said; None leaves it to prepared rankings, and is ``otherwise`` for scores."""
    if missing is not None:
        return missing
    return X.meaning if isinstance(X, Prepared) and X.missing != "raise" else otherwise


def weights_said(X: object, weights: Any) -> Any:
    """``weights`` as they were given; None leaves them to a data set, or to rankings made of one, if they have any.

    Raises:
        ValueError: a series whose names are those of other rankings, or of the same in another order.
    """
    if weights is None:
        return getattr(X, "weights", None) if isinstance(X, Prepared) or is_data_set(X) else None
    check_same_rows(_names_of_rows(X), weights)
    return weights


def _names_of_rows(X: Any) -> Any:
    if isinstance(X, Prepared):
        return X.origin.rows
    if is_data_set(X):
        return X.rankers or None
    return index_of(X)


def joined(parts: Sequence[Rankings[Array]]) -> Rankings[Array]:
    """Sets of rankings of the same items one after the other, without names of rows, weights and derivatives.

    Raises:
        ValueError: words of which some are for all rankings of a set alone.
    """
    first, meanings = parts[0], [part.meaning for part in parts]
    meaning = meanings[0]
    if any(other != meaning or other.topk is not None for other in meanings):
        words = sorted({other.word for other in meanings})
        if not all(other.partial for other in meanings):
            raise ValueError(f"rankings were ranked with different words, missing={words}; rank all with one of them")
        flags = [part.meaning.topk_rows(len(part), part.ranks.device) for part in parts]
        meaning = Meaning("interleaving", torch.cat(flags))
    return replace(
        first,
        ranks=torch.cat([part.ranks for part in parts]),
        strict=torch.cat([part.strict for part in parts]),
        meaning=meaning,
        complete=all(part.complete for part in parts) or None,
        untied=all(part.untied for part in parts) or None,
        weights=None,
        scores=None,
        origin=first.origin._replace(rows=None),
    )
