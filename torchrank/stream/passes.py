"""Passes over rankings that come in batches, of which every process of a group does its share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.rank import as_rankings
from torchrank.processes import Group, check_group, rank_of, refuse_different, together, told, world_of
from torchrank.rankings.batches import Batches
from torchrank.rankings.draws import seed_of
from torchrank.rankings.fingerprint import Fingerprint, Tally
from torchrank.rankings.missing import Missing
from torchrank.rankings.names import check_same_items
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.prepared import Rankings, joined, weights_said
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.validate import as_weights
from torchrank.storage.checkpoint import Checkpoint
from torchrank.stream.sums import Additive

Statistics = TypeVar("Statistics", bound=Additive)

_MOST_SIGNS = 2**26  # pair signs of a sample
_ORDER = "order of rows in batches"


@dataclass(frozen=True)
class Chunk:
    """The rows of a batch, checked."""

    rankings: Any  # (r, n), Rankings, or SparseRankings where a fit asks for them
    weights: Tensor  # (r,) float64
    features: Tensor | None = None  # (r, d), of rows that have some

    def take(self, rows: Tensor) -> "Chunk":
        """Some of the rows."""
        own = rows.to(self.weights.device)
        return Chunk(self.rankings[rows], self.weights[own], None if self.features is None else self.features[own])

    def and_also(self, other: "Chunk") -> "Chunk":
        """The rows of both."""
        features = None
        if self.features is not None and other.features is not None:
            features = torch.cat([self.features, other.features])
        weights = torch.cat([self.weights, other.weights])
        return Chunk(joined([self.rankings, other.rankings]), weights, features)


@dataclass(frozen=True)
class Facts:
    """What the first pass finds out about all rows."""

    n_rows: int
    weight: float  # sum over rows
    fingerprint: str  # of the rows, whatever their order and batches
    order: str  # a digest of these
    _sample: "_Sample"

    @property
    def sample(self) -> Chunk:
        """Some of the rows that count."""
        return self._sample.rows()


class _Sample:
    """Some of the rows that count, each as likely as any other: those of the smallest of drawn numbers.

    As many as asked for, or fewer whose pair signs in float64 fit in half a GiB.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.draw = size, np.random.default_rng(seed)
        self.keys, self.kept = torch.zeros(0, dtype=torch.float64), None

    def add(self, chunk: Chunk) -> None:
        """Let the rows of a batch in."""
        if self.size == 0:
            return
        size = min(self.size, max(1, _MOST_SIGNS // n_pairs(chunk.rankings.shape[1])))
        drawn = torch.from_numpy(self.draw.random(len(chunk.weights)))
        drawn = torch.cat([self.keys, torch.where(chunk.weights.cpu() > 0, drawn, torch.inf)])
        best = drawn.argsort(stable=True)[:size]
        best = best[drawn[best].isfinite()]
        old, new = best[best < len(self.keys)], best[best >= len(self.keys)]
        rows = chunk.take(new - len(self.keys))
        self.kept = rows if self.kept is None else self.kept.take(old).and_also(rows)
        self.keys = drawn[torch.cat([old, new])]

    def rows(self) -> Chunk:
        """In an order that batches do not change."""
        assert self.kept is not None
        return self.kept.take(self.keys.argsort(stable=True))


class Passes:
    """All rows, batch by batch, as often as a fit asks for them.

    Args:
        batches: where they come from.
        read: makes a checked :class:`Chunk` of a batch.
        group: processes, each of which takes every so many-th batch; None is this one alone.
        title: what the progress bar, which counts rows, calls it.
        progress: whether there is one.
    """

    def __init__(
        self, batches: Batches, read: Callable[[Any, Any], Chunk], *, group: Group, title: str, progress: bool
    ) -> None:
        check_group(group)
        self.batches, self.read, self.group = batches, read, group
        self.bar = progress_bar(title, "row", unit_scale=True, progress=progress)
        self._first: Any = None
        self._rows: Tally | None = None  # of the first pass
        self._order: str | None = None  # in which rows have to come again, where that matters

    @property
    def first(self) -> Any:
        """The first batch that was read, for what all have in common."""
        assert self._first is not None, "nothing was read yet"
        return self._first

    def total(self, work: Callable[[Chunk], Statistics], **shown: Any) -> Statistics:
        """What ``work`` makes of every batch, added up, over all processes; ``shown`` stands beside the bar.

        Raises:
            ValueError: fewer batches than processes, other rows than those of the first pass, and what ``read`` and
                ``work`` raise, with the batch.
        """
        self.show(**shown)
        found: Any = None
        seen = Tally()
        with together(self.group):
            for chunk in self._chunks(rank_of(self.group), world_of(self.group), seen):
                part = work(chunk)
                found = part if found is None else found + part
            if found is None:
                raise ValueError("there is no batch for this process; pass smaller batches, or use fewer processes")
        shares = told((seen.n_rows, seen.total), self.group)
        self._refuse_other_rows(Tally(sum(rows for rows, _ in shares), sum(part for _, part in shares) % 2**64))
        return found.over(self.group)

    def facts(self, generator: torch.Generator | None = None, size: int = 0) -> Facts:
        """The first pass, in which every process reads all batches: what there is, and a sample of rows that count.

        Raises:
            ValueError: no rows, or none that counts; processes that read different rows; and as :meth:`total`.
        """
        sample = _Sample(size, told(seed_of(generator) if size else 0, self.group)[0])
        n_rows, weight, fingerprint, seen = 0, 0.0, Fingerprint(), Tally()
        with together(self.group):
            for chunk in self._chunks(0, 1, seen):
                n_rows, weight = n_rows + len(chunk.weights), weight + float(chunk.weights.sum())
                fingerprint.add(chunk.rankings, chunk.weights, chunk.features)
                sample.add(chunk)
            if n_rows == 0:
                raise ValueError("the batches have no rows; at least one is needed")
            if weight == 0:
                raise ValueError("weights add up to 0; at least one ranking needs a positive weight")
        alike = {"rows": fingerprint.text(), "items": self.first.shape[1], _ORDER: fingerprint.order()}
        refuse_different(alike, self.group)
        self._rows = seen
        return Facts(n_rows, weight, fingerprint.text(), fingerprint.order(), sample)

    def show(self, **values: Any) -> None:
        """Let values stand beside the progress bar."""
        self.bar.set_postfix(**values, refresh=False)

    def begin(
        self,
        plan: dict[str, Any],
        checkpoint: Any,
        max_iter: int,
        generator: torch.Generator | None = None,
        size: int = 0,
        in_order: bool = False,
        labeled: bool = False,
    ) -> tuple[Facts, Checkpoint, dict[str, Any] | None]:
        """The first pass, and what a fit of the same rows by the same ``plan`` has left in a checkpoint, if anything.

        With ``in_order`` the fit depends on the order of rows, which have to come in the same one if it is to be kept;
        where they are ``labeled`` in any case.

        Raises:
            ValueError, TypeError: as :meth:`facts` and :class:`torchrank.storage.checkpoint.Checkpoint`; processes with
                other arguments.
        """
        refuse_different({**plan, "max_iter": max_iter, "checkpoint": checkpoint and str(checkpoint)}, self.group)
        seed = told(None if generator is None else generator.initial_seed(), self.group)[0]
        facts = self.facts(generator, size)
        plan = plan | {"rows": facts.fingerprint, "seed": seed}
        if labeled or (in_order and checkpoint is not None):
            self._order = facts.order
            plan[_ORDER] = facts.order
        keeper = Checkpoint(checkpoint, plan, self.group)
        return facts, keeper, keeper.load(generator, max_iter)

    def all_chunks(self) -> Iterator[Chunk]:
        """All batches, in every process, but for empty ones.

        Raises:
            ValueError: other rows than those of the first pass, or in another order where that matters.
        """
        seen, fingerprint = Tally(), Fingerprint()
        for chunk in self._chunks(0, 1, seen):
            if self._order is not None:
                fingerprint.add(chunk.rankings, chunk.weights, chunk.features)
            yield chunk
        self._refuse_other_rows(seen)
        if self._order is not None and fingerprint.order() != self._order:
            raise ValueError(
                "the batches came in another order than in the first pass, and this fit depends on it: labels in init= "
                "would go to other rows, and one that was killed would not end with the same result; let the "
                "DataLoader not shuffle, or leave out such labels and checkpoint="
            )

    def with_labels(self, labels: Tensor) -> Iterator[tuple[Chunk, Tensor]]:
        """All batches, in every process, each with its part of numbers ``(m,)`` in the order in which rows come."""
        done = 0
        for chunk in self.all_chunks():
            yield chunk, labels[done : done + len(chunk.weights)].to(chunk.weights.device)
            done += len(chunk.weights)

    def __enter__(self) -> "Passes":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def _refuse_other_rows(self, seen: Tally) -> None:
        if self._rows is not None and seen != self._rows:
            how = "as many" if seen.n_rows == self._rows.n_rows else f"{seen.n_rows} and not {self._rows.n_rows}"
            raise ValueError(
                f"the batches have other rows than in the first pass, {how}: a fit reads the same rows again and "
                "again, in any order; let no DataLoader drop rows (drop_last), draw with replacement, or change rows"
            )

    def _chunks(self, first: int, step: int, seen: Tally) -> Iterator[Chunk]:
        for number, (rows, other) in enumerate(self.batches):
            if number % step != first:
                continue
            with _located(number):
                chunk = self.read(rows, other)
                self._check_alike(chunk.rankings)
            if len(chunk.weights):
                seen.add(chunk.rankings, chunk.weights, chunk.features)
                yield chunk
            self.bar.update(len(chunk.weights))

    def _check_alike(self, rankings: Any) -> None:
        if self._first is None:
            self._first = rankings
        check_same_items(self._first.origin.items, rankings.origin.items, "the first batch", "this one")
        if rankings.shape[1] != self._first.shape[1]:
            raise ValueError(f"it has {rankings.shape[1]} items; the first batch has {self._first.shape[1]}")


def read_rankings(X: Any, weights: Any, *, missing: Missing, remedy: str, legal: tuple[str, ...]) -> Chunk:
    """A batch of rankings and maybe weights, which may all be 0.

    Raises:
        ValueError, TypeError: as :func:`torchrank.ops.rank.as_rankings`; more than one matrix; weights that are
            negative or not finite.
    """
    rankings = as_rankings(X, missing=missing, remedy=remedy, legal=legal)
    if rankings.ndim != 2:
        raise ValueError(f"X has shape {tuple(rankings.shape)}; expected one matrix")
    return Chunk(rankings.known(), weights_of(X, weights, rankings))


def weights_of(X: Any, weights: Any, rankings: Rankings | SparseRankings) -> Tensor:
    """The weights ``(r,)`` of a batch ``X``, which may all be 0; ones where there are none.

    Raises:
        ValueError, TypeError: as :func:`read_rankings`.
    """
    said = weights_said(X, weights)
    if said is None or not len(rankings):
        return rankings.ranks.new_ones(len(rankings), dtype=torch.float64)
    own = as_weights(said, rankings, all_may_be_zero=True)
    if own.ndim != 1:
        raise ValueError(f"weights has shape {tuple(own.shape)}; expected ({len(rankings)},)")
    return own


@contextmanager
def _located(number: int) -> Iterator[None]:
    """Say in which batch something is wrong."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # some kinds of errors are not made of a text
        raise kind(f"batch {number}: {error}") from error
