"""Training of MM-PL by expectation-maximisation: starts, annealing, early stopping, central rankings at the end."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._repr import short_repr
from torchrank._warnings import warn, warn_not_converged
from torchrank.label_ranking.em import Plan, Rows, run_pass
from torchrank.label_ranking.features import check_features, check_validation, warn_of_scales
from torchrank.label_ranking.gates import Mixture, nearest
from torchrank.label_ranking.rankings import (
    Missing,
    discordant_pairs,
    label_choices,
    label_votes,
    strict_scores,
    untied_ranks,
)
from torchrank.label_ranking.settings import SIGMA, EMSettings
from torchrank.label_ranking.start import mm_logits, spacing, start_at_random, start_from_cells, start_from_tree
from torchrank.ops.dense_ranks import dense_ranks

_BATCH = 256  # rows per update on devices other than the CPU
_REASSIGNMENTS = 10
_TIE = 1e-4  # least difference of logits of a central ranking


@dataclass(frozen=True)
class MMPLFit:
    """Evidence of a fit; traces are those of the start that was kept."""

    log_likelihood: tuple[float, ...]  # mean over rows with a choice in each pass, each row before its update
    losses: tuple[float, ...]  # loss_LR of each start, on the validation rows if there are any
    n_updates: int  # single-row updates of the start that was kept
    converged: bool  # the last pass changed the objective by less than the tolerance, or the schedule came to its end
    reason: str  # "tolerance", "schedule" or "n_updates"

    __repr__ = short_repr


def fit_mixture(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    *,
    missing: Missing = "interleaving",
    validation: tuple[Tensor, Tensor] | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> tuple[Mixture, MMPLFit]:
    """Fit a mixture of ``n_clusters`` with ``n_prototypes`` altogether; see :meth:`torchrank.MMPL.fit`."""
    rows = _training_rows(X, Y, n_prototypes, missing)
    origin = rows.X.mean(0)  # far from zero, squares of distances would lose their digits
    rows = replace(rows, X=rows.X - origin)
    held_out = rows.X, rows.ranks
    if validation is not None:
        features, scores = check_validation(X, Y, validation)
        held_out = features.to(rows.X) - origin, dense_ranks(scores.to(Y.device), "allow", "validation Y")[0]
    generator = torch.Generator(device=X.device)
    generator.seed() if seed is None else generator.manual_seed(seed)
    fits = []
    n_passes = math.ceil(settings.n_updates / len(rows.taught))
    with tqdm(total=settings.n_starts * n_passes, desc="MM-PL", unit="pass", disable=not progress) as bar:
        for start in range(settings.n_starts):
            mixture, trace, reason = _train(rows, n_clusters, n_prototypes, settings, generator, n_passes, bar)
            if settings.recenter:
                mixture = recenter(rows, mixture, settings.prior)
            fits.append((nearest_loss(*held_out, mixture), mixture, trace, reason))
            bar.update((start + 1) * n_passes - bar.n)
    _, mixture, trace, reason = min(fits, key=lambda fit: fit[0])
    losses = tuple(fit[0] for fit in fits)
    evidence = MMPLFit(tuple(trace), losses, len(trace) * len(rows.taught), reason != "n_updates", reason)
    if not evidence.converged:
        last = abs(trace[-1] - trace[-2]) if len(trace) > 1 else math.inf
        warn_not_converged(
            f"MM-PL did not converge in {evidence.n_updates} updates: the last pass changed the mean log-likelihood by "
            f"{last:.3g}, tol is {settings.tol:.3g} (of stop={settings.stop!r}); raise n_updates or tol"
        )
    return mixture._replace(prototypes=mixture.prototypes + origin), evidence


def _training_rows(X: Tensor, Y: Tensor, n_prototypes: int, missing: Missing) -> Rows:
    check_features(X, Y)
    ranks = untied_ranks(Y, "Y")
    choices = label_choices(ranks, missing)
    made = choices.made.sum(-1)
    taught = made.nonzero()[:, 0].cpu().numpy()
    if len(taught) == 0:
        raise ValueError("Y has no row that ranks two labels; there is nothing to learn from")
    warn_of_scales(X)
    distinct = len(torch.unique(X, dim=0))
    if distinct < n_prototypes:
        warn(
            f"X has {distinct} distinct rows for {n_prototypes} prototypes, so some prototypes coincide; lower "
            "n_prototypes or n_clusters"
        )
    X = X.detach()
    votes = label_votes(ranks, missing).to(X)
    return Rows(X, ranks, votes, choices, made, choices.offered.sum(-1), taught)


def _train(
    rows: Rows,
    n_clusters: int,
    n_prototypes: int,
    settings: EMSettings,
    generator: torch.Generator,
    n_passes: int,
    bar: "tqdm[Any]",
) -> tuple[Mixture, list[float], str]:
    """The mixture at the end of one start, the mean log-likelihood of each pass, and why it ended."""
    X, n_labels = rows.X, rows.ranks.shape[1]
    if settings.start == "cells":
        mixture = start_from_cells(X, rows.votes, rows.choices, n_clusters, n_prototypes, settings.prior, generator)
    elif settings.start == "tree":
        mixture = start_from_tree(X, rows.ranks, rows.choices, n_clusters, n_prototypes, settings.prior, generator)
    else:
        mixture = start_at_random(X, n_clusters, n_prototypes, n_labels, generator)
    scale = spacing(mixture.prototypes) if settings.schedule == "geometric" else 1.0
    size = settings.batch_size if settings.batch_size is not None else 1 if X.device.type == "cpu" else _BATCH
    size = len(rows.taught) if size == 0 else min(size, len(rows.taught))
    shuffle = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator, device=X.device)))
    trace: list[float] = []
    objective = math.inf
    if n_passes == 0:
        mixture = mixture._replace(sigma=X.new_tensor(scale * settings.sigma_end))
    for number in range(n_passes):
        sigma, rate, score_rate = _schedule(settings, rows, scale, number, n_passes, size)
        mm = settings.scores == "mm"
        plan = Plan(
            shuffle.permutation(rows.taught),
            size,
            sigma,
            rate,
            np.zeros_like(rate) if mm else score_rate,
            mm,
            settings.prior,
        )
        mixture, log_likelihood = run_pass(rows, mixture, plan)
        trace.append(log_likelihood)
        bar.set_postfix(log_likelihood=f"{log_likelihood:.5g}", refresh=False)
        bar.update()
        if settings.stop != "never":
            previous = objective
            objective = nearest_loss(X, rows.ranks, mixture) if settings.stop == "loss" else -log_likelihood
            if previous - objective < settings.tol:
                return mixture, trace, "tolerance"
    return mixture, trace, "schedule" if settings.stop == "never" else "n_updates"


def _schedule(
    settings: EMSettings, rows: Rows, scale: float, number: int, n_passes: int, size: int
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


def recenter(rows: Rows, mixture: Mixture, prior: float) -> Mixture:
    """Central rankings by the Borda votes of the rows that a cluster wins, and prototypes to the clusters they fit.

    By turns, as long as the loss falls. Then scores are fitted to the same rows and sorted into the order of the votes.
    """
    K = len(mixture.logits)
    cell = nearest(rows.X, mixture.prototypes)
    filled = torch.bincount(cell, minlength=len(mixture.prototypes)) > 0
    membership, centers = mixture.membership, mixture.logits.double()
    best, least = (membership, centers), math.inf
    for _ in range(_REASSIGNMENTS):
        cluster = membership[cell]
        won = torch.bincount(cluster, minlength=K)[:, None] > 0
        votes = torch.zeros_like(centers).index_add_(0, cluster, rows.votes.double())
        centers = torch.where(won, votes, centers)
        distances = center_distances(rows.ranks, centers)
        loss = float(distances.gather(1, cluster[:, None]).mean())
        if loss >= least:
            break
        best, least = (membership, centers), loss
        by_cell = distances.new_zeros(len(membership), K).index_add_(0, cell, distances)
        membership = torch.where(filled, by_cell.argmin(1), membership)
    membership, centers = best
    fitted = mm_logits(rows.choices, membership[cell], K, prior)
    # Logits that are equal would forget the order.
    apart = _TIE * torch.arange(centers.shape[1], dtype=torch.float64, device=centers.device)
    order = centers.argsort(dim=-1, descending=True, stable=True)
    logits = torch.empty_like(fitted).scatter_(1, order, fitted.sort(-1, descending=True).values - apart)
    return mixture._replace(membership=membership, logits=logits.to(mixture.logits))


def center_distances(ranks: Tensor, logits: Tensor) -> Tensor:
    """For each row and each central ranking, the share of the row's pairs of labels that it orders the other way."""
    ranked = (ranks >= 0).sum(1, keepdim=True)
    return discordant_pairs(ranks, strict_scores(logits)) / (ranked * (ranked - 1) // 2).clamp(min=1)


def nearest_loss(X: Tensor, ranks: Tensor, mixture: Mixture) -> float:
    """loss_LR of the nearest prototype's cluster, over rows that order a pair."""
    cluster = mixture.membership[nearest(X, mixture.prototypes)]
    distances = center_distances(ranks, mixture.logits).gather(1, cluster[:, None])[:, 0]
    return float(distances[(ranks >= 0).sum(1) > 1].mean())
