"""Training of MM-PL by expectation-maximization: starts, annealing, early stopping, central rankings at the end."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._warnings import warn, warn_not_converged
from torchrank.evidence import Evidence
from torchrank.label_ranking.em import ChoosingRows, Plan, Updates, run_pass
from torchrank.label_ranking.features import check_features, check_validation, warn_of_scales
from torchrank.label_ranking.gates import PrototypeMixture, nearest
from torchrank.label_ranking.rankings import label_choices, label_votes, untied_label_ranks
from torchrank.label_ranking.settings import SIGMA, EMSettings
from torchrank.label_ranking.start import mm_logits, spacing, start_at_random, start_from_cells, start_from_tree
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.draws import numpy_generator
from torchrank.rankings.missing import Missing
from torchrank.rankings.orders import total_scores

_BATCH = 256  # rows per update on devices other than the CPU
_REASSIGNMENTS = 10
_TIE = 1e-4  # least difference of logits of a central ranking


@dataclass(frozen=True, kw_only=True, repr=False)
class MMPLFit(Evidence):
    """How a fit of MM-PL went.

    The objective is the mean log-likelihood over rows with a choice in each pass, each row before its update; it rises.
    Losses are loss_LR, on the validation rows if there are any. The reason is "tolerance", the last pass changed the
    objective by less; "schedule", all updates were made, as planned; or "n_updates", they were too few for the
    tolerance.
    """

    n_updates: int  # single-row updates of the start that was kept


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
    rows = _training_rows(X, Y, n_prototypes, missing)
    origin = rows.X.mean(0)  # far from zero, squares of distances would lose their digits
    rows, judges = replace(rows, X=rows.X - origin), rows
    if validation is not None:
        features, scores = check_validation(X, Y, validation)
        judges = TrainingRows.of(features.to(rows.X), scores.to(rows.ranks.device), "validation Y")
    judges = replace(judges, X=judges.X - origin)
    fits = []
    n_passes = math.ceil(settings.n_updates / len(rows.taught))
    with tqdm(total=settings.n_init * n_passes, desc="MM-PL", unit="pass", disable=not progress) as bar:
        for number in range(settings.n_init):
            mixture = _start(rows, n_clusters, n_prototypes, settings, generator)
            mixture, trace, reason = _train(rows, mixture, settings, numpy_generator(generator), n_passes, bar)
            if settings.recenter:
                mixture = recenter(rows, mixture, settings.prior)
            fits.append((nearest_loss(judges, mixture), mixture, trace, reason))
            bar.update((number + 1) * n_passes - bar.n)
    _, mixture, trace, reason = min(fits, key=lambda fit: fit[0])
    evidence = MMPLFit(
        objective=tuple(trace),
        losses=tuple(fit[0] for fit in fits),
        n_iter=len(trace),
        converged=reason != "n_updates",
        reason=reason,
        n_updates=len(trace) * len(rows.taught),
    )
    if not evidence.converged:
        last = abs(trace[-1] - trace[-2]) if len(trace) > 1 else math.inf
        warn_not_converged(
            f"MM-PL did not converge in {evidence.n_updates} updates: the last pass changed the mean log-likelihood by "
            f"{last:.3g}, tol is {settings.tol:.3g} (of stop={settings.stop!r}); raise n_updates or tol"
        )
    return mixture._replace(prototypes=mixture.prototypes + origin), evidence


def _training_rows(X: Tensor, Y: Tensor, n_prototypes: int, missing: Missing) -> ChoosingRows:
    check_features(X, Y)
    ranks = untied_label_ranks(Y)
    choices = label_choices(ranks, missing)
    n_made = choices.made.sum(-1)
    taught = n_made.nonzero()[:, 0].cpu().numpy()
    if len(taught) == 0:
        raise ValueError("Y has no row that ranks two labels; there is nothing to learn from")
    warn_of_scales(X)
    distinct = len(torch.unique(X, dim=0))
    if distinct < n_prototypes:
        warn(
            f"X has {distinct} distinct rows for {n_prototypes} prototypes, so some prototypes coincide; lower "
            "n_prototypes or n_clusters"
        )
    n_ranked = (ranks >= 0).sum(-1)
    pairs = n_ranked * (n_ranked - 1) // 2
    votes = label_votes(ranks, missing)
    return ChoosingRows(X.detach(), ranks, pairs, votes, choices, n_made, choices.offered.sum(-1), taught)


def _start(
    rows: ChoosingRows,
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    generator: torch.Generator | None,
) -> PrototypeMixture:
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
    bar: "tqdm[Any]",
) -> tuple[PrototypeMixture, list[float], str]:
    """The mixture at the end of one start, the mean log-likelihood of each pass, and why it ended."""
    X = rows.X
    scale = spacing(mixture.prototypes) if settings.schedule == "geometric" else 1.0
    size = settings.batch_size if settings.batch_size is not None else 1 if X.device.type == "cpu" else _BATCH
    size = len(rows.taught) if size == 0 else min(size, len(rows.taught))
    trace: list[float] = []
    objective = math.inf
    if n_passes == 0:
        mixture = mixture._replace(sigma=X.new_tensor(scale * settings.sigma_end))
    for number in range(n_passes):
        sigma, rate, score_rate = _schedule(settings, rows, scale, number, n_passes, size)
        mm = settings.scores == "mm"
        updates = Updates(shuffle.permutation(rows.taught), sigma, rate, np.zeros_like(rate) if mm else score_rate)
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


def _schedule(
    settings: EMSettings, rows: ChoosingRows, scale: float, number: int, n_passes: int, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Widths and steps of the updates in one pass."""
    N = len(rows.taught)
    done = number * N + np.arange(0, N, size, dtype=np.float64)
    if settings.schedule == "paper":
        decay = 8 * N / (8 * N + done)
        sigma0 = float(rows.X.var(0, correction=0).sum()) if settings.sigma is None else settings.sigma
        sigma, rate = sigma0 * decay, settings.rate * decay
    else:
        share = done / (n_passes * N)
        first = SIGMA if settings.sigma is None else settings.sigma
        sigma = scale * first * (settings.sigma_end / first) ** share
        rate = settings.rate * (settings.rate_end / settings.rate) ** share
    sigma = np.maximum(sigma, 1e-12)
    return sigma, rate / sigma**2 if settings.step == "gradient" else rate, settings.score_rate * rate


def recenter(rows: ChoosingRows, mixture: PrototypeMixture, prior: float) -> PrototypeMixture:
    """Central rankings by the Borda votes of the rows that a cluster wins, and prototypes to the clusters they fit.

    By turns, as long as the loss falls. Then scores are fitted to the same rows and sorted into the order of the votes.
    """
    K = len(mixture.logits)
    cell = nearest(rows.X, mixture.prototypes)
    filled = torch.bincount(cell, minlength=len(mixture.prototypes)) > 0
    membership, centers = mixture.membership, total_scores(mixture.logits)
    best, least = (membership, centers), math.inf
    for _ in range(_REASSIGNMENTS):
        cluster = membership[cell]
        centers = rows.central_scores(cluster, centers)
        shares = rows.shares(centers)
        loss = float(shares.gather(1, cluster[:, None]).mean())
        if loss >= least:
            break
        best, least = (membership, centers), loss
        by_cell = shares.new_zeros(len(membership), K).index_add_(0, cell, shares)
        membership = torch.where(filled, by_cell.argmin(1), membership)
    membership, centers = best
    fitted = mm_logits(rows.choices, membership[cell], K, prior)
    # Logits that are equal would forget the order.
    apart = _TIE * torch.arange(centers.shape[1], dtype=torch.float64, device=centers.device)
    order = centers.argsort(dim=-1, descending=True, stable=True)
    logits = torch.empty_like(fitted).scatter_(1, order, fitted.sort(-1, descending=True).values - apart)
    return mixture._replace(membership=membership, logits=logits.to(mixture.logits))


def nearest_loss(rows: TrainingRows, mixture: PrototypeMixture) -> float:
    """loss_LR of the nearest prototype's cluster, over rows that order a pair."""
    cluster = mixture.membership[nearest(rows.X, mixture.prototypes)]
    shares = rows.shares(total_scores(mixture.logits)).gather(1, cluster[:, None])[:, 0]
    return float(shares[rows.pairs > 0].mean())
