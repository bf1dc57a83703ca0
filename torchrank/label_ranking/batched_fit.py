"""Training of MM-PL on rows that come in batches, by mini-batches of expectation-maximization."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank._warnings import quietly
from torchrank.distributions.choices import ChoiceStatistics, mm_update
from torchrank.label_ranking.em import ChoosingRows, Plan, end_pass, run_updates
from torchrank.label_ranking.evidence import NOTHING_TAUGHT, MMPLFit
from torchrank.label_ranking.features import check_features, warn_of_features
from torchrank.label_ranking.fit import BATCH, start_of
from torchrank.label_ranking.gates import PrototypeMixture, nearest
from torchrank.label_ranking.losses import Losses
from torchrank.label_ranking.rankings import untied_label_ranks
from torchrank.label_ranking.recenter import CellSums, in_order, reassigned
from torchrank.label_ranking.schedule import Schedule
from torchrank.label_ranking.settings import EMSettings
from torchrank.label_ranking.start import PL_STEPS, centered_logits, cluster_statistics
from torchrank.label_ranking.training import TrainingRows
from torchrank.ops.rank import as_rankings
from torchrank.processes import Group, stacked, told
from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.batches import Batches
from torchrank.rankings.draws import seed_of
from torchrank.rankings.features import check_distances
from torchrank.rankings.missing import PARTIAL, Missing
from torchrank.rankings.prepared import said_of
from torchrank.rankings.validate import check_generator
from torchrank.stream.passes import Chunk, Passes
from torchrank.stream.sums import Sums

_SAMPLE = 16_384  # rows that a start is made from


@dataclass(frozen=True)
class FeatureSums(Sums):
    """What is known of all features, about an origin."""

    rows: Tensor  # ()
    taught: Tensor  # () rows that make a choice
    first: Tensor  # (d,) sums
    second: Tensor  # (d,) sums of squares

    @classmethod
    def of(cls, rows: ChoosingRows) -> "FeatureSums":
        """Those of a batch."""
        X, count = rows.X.double(), torch.tensor([len(rows.X), len(rows.taught)], device=rows.X.device)
        return cls(count[0], count[1], X.sum(0), X.square().sum(0))

    @property
    def mean(self) -> Tensor:
        """``(d,)``, about the origin."""
        return self.first / self.rows

    @property
    def variance(self) -> float:
        """Of all features together."""
        return float((self.second / self.rows - self.mean.square()).sum())


@dataclass(frozen=True)
class State:
    """Where training stands; all that a checkpoint keeps."""

    mixture: PrototypeMixture
    schedule: Schedule
    seed: int  # of all shuffles
    trace: tuple[float, ...] = ()  # mean log-likelihood of every pass
    objective: float = math.inf  # what the last pass was judged by
    reason: str = ""  # why it ended; "" as long as it goes on

    def as_dict(self) -> dict[str, Any]:
        """What :func:`torch.save` keeps."""
        schedule = {name: value for name, value in vars(self.schedule).items() if name != "settings"}
        return {**vars(self), "mixture": self.mixture._asdict(), "schedule": schedule, "trace": list(self.trace)}

    @classmethod
    def of_dict(cls, kept: dict[str, Any], settings: EMSettings, device: torch.device) -> "State":
        """The inverse of :meth:`as_dict`."""
        mixture = PrototypeMixture(**{name: part.to(device) for name, part in kept["mixture"].items()})
        schedule = Schedule(settings, **kept["schedule"])
        return cls(mixture, schedule, kept["seed"], tuple(kept["trace"]), kept["objective"], kept["reason"])


class BatchedTraining:
    """Training of one start; see :meth:`torchrank.MMPL.fit`.

    A pass goes through the batches in the order in which they come, and through the rows of each in random order. The
    processes of a group read all batches, and each does its share of the rows of an update; sums over all rows, as of
    votes and losses, are shared by batches.
    """

    def __init__(self, passes: Passes, settings: EMSettings, judges: TrainingRows | None) -> None:
        self.passes, self.settings, self.judges = passes, settings, judges
        self.origin: Tensor | float = 0.0

    def rows(self, chunk: Chunk) -> ChoosingRows:
        """The rows of a batch, with the mean of all features as the origin."""
        assert chunk.features is not None
        ranks, meaning = chunk.rankings.ranks, chunk.rankings.meaning
        return ChoosingRows.of_ranks(chunk.features - self.origin, ranks, meaning)

    def fit(
        self,
        n_clusters: int,
        n_prototypes: int,
        generator: torch.Generator | None,
        checkpoint: Any,
        plan: dict[str, Any],
    ) -> tuple[PrototypeMixture, MMPLFit]:
        """The mixture, with the features' own origin, and how it went."""
        passes, settings = self.passes, self.settings
        plan = plan | {"settings": asdict(settings)}
        facts, keeper, kept = passes.begin(plan, checkpoint, settings.n_updates, generator, _SAMPLE, in_order=True)
        sample = facts.sample
        assert sample.features is not None
        near = sample.features.mean(0) if kept is None else kept["origin"].to(sample.features)
        self.origin = near  # near the mean, sums of squares keep their digits
        features = passes.total(lambda chunk: FeatureSums.of(self.rows(chunk)))
        n_taught = int(features.taught)
        if n_taught == 0:
            raise ValueError(NOTHING_TAUGHT)
        warn_of_features(sample.features, n_prototypes)
        if kept is None:
            self.origin = near + features.mean.to(near)
        n_passes = math.ceil(settings.n_updates / n_taught)
        if kept is not None:
            state = State.of_dict(kept, settings, sample.features.device)
        else:
            with quietly():  # the sample may lack what all rows have
                start = start_of(self.rows(sample), n_clusters, n_prototypes, settings, generator)
            start = PrototypeMixture(*(stacked(part, passes.group)[0] for part in start))
            schedule = Schedule.of(settings, start.prototypes, n_passes * n_taught, n_taught, features.variance)
            if n_passes == 0:
                start = start._replace(sigma=start.sigma.new_tensor(schedule.scale * settings.sigma_end))
            state = State(start, schedule, told(seed_of(generator), passes.group)[0])
            keeper.save(self._kept(state), generator)
        while not state.reason and len(state.trace) < n_passes:
            state = self._pass(state)
            keeper.save(self._kept(state), generator)
        reason = state.reason or ("schedule" if settings.stop == "never" else "n_updates")
        mixture = self._recentered(state.mixture) if settings.recenter else state.mixture
        evidence = MMPLFit.of(state.trace, (self._loss(mixture, self.judges),), reason, n_taught, settings)
        return mixture._replace(prototypes=mixture.prototypes + self.origin), evidence

    def _kept(self, state: State) -> dict[str, Any]:
        return state.as_dict() | {"origin": self.origin}

    def _pass(self, state: State) -> State:
        settings, schedule, number = self.settings, state.schedule, len(state.trace)
        mixture, summed_up, mm = state.mixture, None, settings.scores == "mm"
        done = number * schedule.n_taught
        self.passes.show(reading=number + 1, log_likelihood=f"{state.trace[-1]:.5g}" if state.trace else "")
        for place, chunk in enumerate(self.passes.all_chunks()):
            rows = self.rows(chunk)
            n = len(rows.taught)
            if n == 0:
                continue
            size = self._size(n)
            order = np.random.default_rng([state.seed, number, place]).permutation(rows.taught)
            updates = schedule.updates(order, done + np.arange(0, n, size))
            group = self.passes.group
            mixture, part = run_updates(rows, mixture, Plan(updates, size, mm, settings.prior), group)
            summed_up = part if summed_up is None else summed_up + part
            done += n
        assert summed_up is not None  # some rows are taught
        mixture = end_pass(mixture, summed_up, mm, settings.prior)
        log_likelihood = float(summed_up.log_likelihood) / schedule.n_taught
        objective, reason = state.objective, ""
        if settings.stop != "never":
            objective = self._loss(mixture, None) if settings.stop == "loss" else -log_likelihood
            reason = "tolerance" if state.objective - objective < settings.tol else ""
        trace = (*state.trace, log_likelihood)
        return State(mixture, schedule, state.seed, trace, objective, reason)

    def _size(self, n: int) -> int:
        """Rows of an update, in a batch of n."""
        size = self.settings.batch_size
        if size is None:
            alone = self.passes.first.ranks.device.type == "cpu" and self.passes.group is None
            size = 1 if alone else BATCH
        return n if size == 0 else min(size, n)

    def _recentered(self, mixture: PrototypeMixture) -> PrototypeMixture:
        M, K = len(mixture.prototypes), len(mixture.logits)

        def cells(chunk: Chunk) -> CellSums:
            rows = self.rows(chunk)
            return CellSums.of(rows, nearest(rows.X, mixture.prototypes), M)

        membership, centers = reassigned(self.passes.total(cells), mixture)
        worths = centers.new_full((K, centers.shape[1]), 1 / centers.shape[1])
        for _ in range(PL_STEPS):

            def choices(chunk: Chunk, worths: Tensor = worths) -> ChoiceStatistics:
                rows = self.rows(chunk)
                return cluster_statistics(rows.choices, membership[nearest(rows.X, mixture.prototypes)], worths)

            worths = mm_update(self.passes.total(choices), worths, self.settings.prior)
        return in_order(mixture, membership, centers, centered_logits(worths))

    def _loss(self, mixture: PrototypeMixture, judges: TrainingRows | None) -> float:
        """loss_LR on other rows, or else on all rows."""
        if judges is not None:
            X = judges.X - self.origin
            return Losses.of(TrainingRows(X, judges.ranks, judges.pairs, judges.votes), mixture).mean()
        return self.passes.total(lambda chunk: Losses.of(self.rows(chunk), mixture)).mean()


def fit_in_batches(
    batches: Batches,
    sizes: tuple[int, int],
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    *,
    missing: Missing,
    validation: tuple[Tensor, Tensor] | None,
    generator: torch.Generator | None,
    progress: bool,
    checkpoint: Any,
    group: Group,
) -> tuple[PrototypeMixture, MMPLFit]:
    """Fit a mixture of ``n_clusters`` with ``n_prototypes`` altogether to d features and L labels, ``sizes``."""
    if settings.n_init != 1:
        raise ValueError(
            f"n_init={settings.n_init} starts; rows in batches take one, and fits with other generators can be compared"
        )
    check_generator(generator)
    with Passes(batches, Reader(sizes, missing), group=group, title="MM-PL", progress=progress) as passes:
        training = BatchedTraining(passes, settings, None if validation is None else _judges(validation, sizes))
        plan = {"model": "MMPL", "n_clusters": n_clusters, "n_prototypes": n_prototypes, "missing": repr(missing)}
        return training.fit(n_clusters, n_prototypes, generator, checkpoint, plan)


@dataclass(frozen=True)
class Reader:
    """Makes a checked chunk of a batch of features and label rankings."""

    sizes: tuple[int, int]  # d, L
    missing: Missing

    def __call__(self, X: Any, Y: Any) -> Chunk:
        """A batch, checked.

        Raises:
            ValueError: features without rankings, other numbers of columns, features that are not finite, ties.
            TypeError: features or scores that are not real numbers.
        """
        if Y is None:
            raise ValueError("it has one part; expected features and label rankings")
        X = as_tensor(X, "X")[0]
        rankings = as_rankings(Y, "Y", missing=said_of(Y, self.missing, "interleaving"), legal=PARTIAL)
        if rankings.weights is not None:
            raise ValueError("Y are rankings of a data set with weights, which this model does not take; repeat rows")
        if len(X):
            check_features(X, rankings)
        check_distances(X)
        untied_label_ranks(rankings)
        for name, shape, size in zip("XY", (X.shape, rankings.shape), self.sizes, strict=True):
            if len(shape) != 2 or shape[1] != size:
                raise ValueError(f"{name} has shape {tuple(shape)}; expected (N, {size})")
        kind = torch.promote_types(X.dtype, torch.float32)
        ones = torch.ones(len(X), dtype=torch.float64, device=X.device)
        return Chunk(rankings.known(), ones, X.detach().to(kind))


def _judges(validation: tuple[Tensor, Tensor], sizes: tuple[int, int]) -> TrainingRows:
    chunk = Reader(sizes, "interleaving")(*validation)
    assert chunk.features is not None
    return TrainingRows.of(chunk.features, chunk.rankings, "validation Y")
