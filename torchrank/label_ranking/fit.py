"""Training of MM-PL by expectation-maximization: starts, annealing, early stopping, central rankings at the end."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._progress import NoBar, progress_bar
from torchrank.label_ranking.em import ChoosingRows, Plan, run_pass
from torchrank.label_ranking.evidence import NOTHING_TAUGHT, MMPLFit
from torchrank.label_ranking.features import check_features, check_validation, warn_of_features
from torchrank.label_ranking.gates import PrototypeMixture
from torchrank.label_ranking.losses import nearest_loss
from torchrank.label_ranking.rankings import untied_label_ranks
from torchrank.label_ranking.recenter import recenter
from torchrank.label_ranking.schedule import Schedule
from torchrank.label_ranking.settings import EMSettings
from torchrank.label_ranking.start import start_at_random, start_from_cells, start_from_tree
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.draws import numpy_generator
from torchrank.rankings.missing import Missing

BATCH = 256  # rows per update on devices other than the CPU


def fit_mixture(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    *,
    missing: Missing = "interleaving",
    validation: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
    progress: bool = False,
) -> tuple[PrototypeMixture, MMPLFit]:
    """Fit a mixture of ``n_clusters`` with ``n_prototypes`` altogether; see :meth:`torchrank.MMPL.fit`."""
    rows = training_rows(X, Y, n_prototypes, missing)
    origin = rows.X.mean(0)  # far from zero, squares of distances would lose their digits
    rows, judges = replace(rows, X=rows.X - origin), rows
    if validation is not None:
        features, scores = check_validation(X, Y, validation)
        judges = TrainingRows.of(features.to(rows.X), scores.to(rows.ranks.device), "validation Y")
    judges = replace(judges, X=judges.X - origin)
    fits = []
    n_passes = math.ceil(settings.n_updates / len(rows.taught))
    with progress_bar("MM-PL", "pass", total=settings.n_init * n_passes, progress=progress) as bar:
        for number in range(settings.n_init):
            mixture = start_of(rows, n_clusters, n_prototypes, settings, generator)
            mixture, trace, reason = _train(rows, mixture, settings, numpy_generator(generator), n_passes, bar)
            if settings.recenter:
                mixture = recenter(rows, mixture, settings.prior)
            fits.append((nearest_loss(judges, mixture), mixture, trace, reason))
            bar.update((number + 1) * n_passes - bar.n)
    _, mixture, trace, reason = min(fits, key=lambda fit: fit[0])
    evidence = MMPLFit.of(trace, tuple(fit[0] for fit in fits), reason, len(rows.taught), settings)
    return mixture._replace(prototypes=mixture.prototypes + origin), evidence


def training_rows(X: Tensor, Y: Tensor, n_prototypes: int, missing: Missing) -> ChoosingRows:
    """Checked rows, with warnings of features that suit no distances.

    Raises:
        ValueError, TypeError: as :meth:`torchrank.MMPL.fit`.
    """
    check_features(X, Y)
    ranks = untied_label_ranks(Y)
    rows = ChoosingRows.of_ranks(X, ranks, missing)
    if len(rows.taught) == 0:
        raise ValueError(NOTHING_TAUGHT)
    warn_of_features(X, n_prototypes)
    return rows


def start_of(
    rows: ChoosingRows,
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    generator: torch.Generator | None,
) -> PrototypeMixture:
    """The mixture that training starts from, as ``settings.init`` says."""
    if settings.init == "cells":
        return start_from_cells(rows, n_clusters, n_prototypes, settings.prior, generator)
    if settings.init == "tree":
        return start_from_tree(rows, n_clusters, n_prototypes, settings.prior, generator)
    return start_at_random(rows.X, n_clusters, n_prototypes, rows.ranks.shape[1], generator)


def _train(
    rows: ChoosingRows,
    mixture: PrototypeMixture,
    settings: EMSettings,
    shuffle: np.random.Generator,
    n_passes: int,
    bar: "tqdm[Any] | NoBar[Any]",
) -> tuple[PrototypeMixture, list[float], str]:
    """The mixture at the end of one start, the mean log-likelihood of each pass, and why it ended."""
    X = rows.X
    variance = float(X.var(0, correction=0).sum())
    schedule = Schedule.of(settings, mixture.prototypes, n_passes * len(rows.taught), len(rows.taught), variance)
    mm = settings.scores == "mm"
    size = settings.batch_size if settings.batch_size is not None else 1 if X.device.type == "cpu" else BATCH
    size = len(rows.taught) if size == 0 else min(size, len(rows.taught))
    trace: list[float] = []
    objective = math.inf
    if n_passes == 0:
        mixture = mixture._replace(sigma=X.new_tensor(schedule.scale * settings.sigma_end))
    for number in range(n_passes):
        done = number * len(rows.taught) + np.arange(0, len(rows.taught), size)
        updates = schedule.updates(shuffle.permutation(rows.taught), done)
        mixture, log_likelihood = run_pass(rows, mixture, Plan(updates, size, mm, settings.prior))
        trace.append(log_likelihood)
        bar.set_postfix(log_likelihood=f"{log_likelihood:.5g}", refresh=False)
        bar.update()
        if settings.stop != "never":
            previous = objective
            objective = nearest_loss(rows, mixture) if settings.stop == "loss" else -log_likelihood
            if previous - objective < settings.tol:
                return mixture, trace, "tolerance"
    return mixture, trace, "schedule" if settings.stop == "never" else "n_updates"
