"""How well clusters of features predict label rankings, and how compact they are.

Grbovic, Djuric, Guo and Vucetic, Machine Learning 93 (2013), Section 2.2. Rankings are scores ``(N, L)``, larger =
preferred, NaN = not ranked. Only pairs of labels that the true ranking orders are counted, so that losses do not shrink
with missing labels; rows that order no pair are left out of averages.
"""

from __future__ import annotations

from typing import TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from torchrank.metrics.numbers import double_of
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import Origin
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.features import check_finite_features
from torchrank.rankings.isolation import isolated
from torchrank.rankings.labels import as_labels
from torchrank.rankings.names import check_same_items
from torchrank.rankings.unmapped import COUNTS, MANY, NUMBER, unmapped
from torchrank.rankings.validate import Scores, as_scores, check_choice, check_count
from torchrank.typing import RankingScale

Array: TypeAlias = Tensor | np.ndarray
SCALES = get_args(RankingScale)
_BLOCK = 2**22  # entries of a block's largest array


@isolated
def discordant_shares(Y: Scores[Array], predicted: Scores) -> Array:
    """For each row, the share of its ordered pairs of labels that a prediction orders the other way.

    A pair that the prediction ties counts one half.

    Args:
        Y: ``(N, L)`` true scores.
        predicted: ``(N, L)`` predicted scores, without NaN.

    Returns:
        ``(N,)`` float64 shares from 0 to 1, NaN for rows that order no pair.

    Raises:
        ValueError: shapes that differ, or NaN among the predictions.
    """
    ranks, predicted_ranks, given, origin = _row_pairs(Y, predicted)
    wrong, pairs = _wrong_pairs(ranks, predicted_ranks)
    return origin.wrap(without_gradient(wrong / pairs, *given, what="shares of discordant pairs are"))


@isolated
@unmapped(NUMBER)
def label_ranking_loss(Y: Scores[Array], predicted: Scores) -> float:
    """Mean share of a row's ordered pairs of labels that the prediction gets wrong: loss_LR, equation 6.

    For complete rankings as printed there; for partial ones the denominator has a row's own pairs.

    Args:
        Y: ``(N, L)`` true scores.
        predicted: ``(N, L)`` predicted scores, without NaN.

    Returns:
        0 is perfect, 1/2 is chance, 1 is the reverse; NaN if no row orders a pair.

    Raises:
        ValueError: shapes that differ, or NaN among the predictions.
    """
    shares = discordant_shares(Y, predicted)
    known = shares[~(shares.isnan() if isinstance(shares, Tensor) else np.isnan(shares))]
    return float(known.mean()) if len(known) else float("nan")


@isolated
@unmapped(NUMBER)
def label_ranking_tau(Y: Scores[Array], predicted: Scores) -> float:
    """Mean Kendall tau between true and predicted rankings, 1 - 2 loss_LR: equation 7.

    Args:
        Y: ``(N, L)`` true scores.
        predicted: ``(N, L)`` predicted scores, without NaN.

    Returns:
        1 is perfect, 0 is chance, -1 is the reverse; NaN if no row orders a pair.

    Raises:
        ValueError: shapes that differ, or NaN among the predictions.
    """
    return 1 - 2 * label_ranking_loss(Y, predicted)


@isolated
@unmapped(COUNTS)
def delta_rank(Y: Scores[Array], labels: Array, centers: Scores, *, scale: RankingScale = "tau") -> float:
    """How far the rankings of a cluster are from its center: mean over clusters of their mean distance, equation 2.

    Args:
        Y: ``(N, L)`` scores.
        labels: ``(N,)`` integers, the row of its center for each row.
        centers: ``(K, L)`` scores of the central rankings.
        scale: what a distance is. "tau", 1 - tau from 0 to 2, is what the published tables seem to hold; "share" half
            of it, a share of pairs; "count" the number of discordant pairs, as equation 2 is printed.

    Returns:
        A number of at least 0; clusters without a row that orders a pair are left out of the outer mean.

    Raises:
        ValueError: shapes that do not fit, or labels that number no center.
    """
    check_choice(scale, "scale", SCALES)
    scores, origin = as_scores(Y, "Y")
    cluster = _cluster_labels(labels, len(scores), named=False)
    central, own = as_scores(centers, "centers")
    check_same_items(origin.items, own.items, "Y", "centers")
    if len(cluster) and not 0 <= int(cluster.min()) <= int(cluster.max()) < len(central):
        raise ValueError(
            f"labels run from {int(cluster.min())} to {int(cluster.max())}; there are {len(central)} centers"
        )
    ranks, predicted, *_ = _row_pairs(scores, central[cluster.to(central.device)])
    wrong, pairs = _wrong_pairs(ranks, predicted)
    distance = wrong if scale == "count" else wrong / pairs * (2 if scale == "tau" else 1)
    known = pairs > 0
    cluster = cluster.to(ranks.device)[known]
    return _mean_over_clusters(distance[known], cluster)


@isolated
@unmapped(COUNTS)
def d_feat(X: Array, labels: Array) -> float:
    """Sum of squared distances to the mean of a cluster, mean over non-empty clusters: equation 3.

    Args:
        X: ``(N, d)`` features.
        labels: ``(N,)`` integers or strings, the cluster of each row.

    Returns:
        A number of at least 0, in squared units of the features; it grows with the rows of a cluster. NaN for no rows.

    Raises:
        ValueError, TypeError: shapes that do not fit, features that are not finite real numbers, labels that are
            neither integers nor strings.
    """
    cluster, x = _cluster_labels(labels, len(X)), _features(X)
    values = [float((x[cluster == k] - x[cluster == k].mean(0)).square().sum()) for k in cluster.unique()]
    return float(np.mean(values)) if values else float("nan")


@isolated
@unmapped(MANY)
def d_knh(X: Array, labels: Array, *, k: int = 3, squared: bool = True) -> float:
    """Mean distance of a row to its k nearest neighbors in the same cluster, mean over clusters: equations 4 and 5.

    A cluster of k rows or fewer takes all neighbors that there are; one of a single row counts 0. (The sum of
    equation 5 runs over neighbors in the row's own cluster; S_m is a misprint there.)

    Args:
        X: ``(N, d)`` features.
        labels: ``(N,)`` integers or strings, the cluster of each row.
        k: how many neighbors.
        squared: squared Euclidean distances, as printed; False takes the distances themselves, as Kremer et al. (2011).

    Returns:
        A number of at least 0, in (squared) units of the features; NaN for no rows.

    Raises:
        ValueError, TypeError: shapes that do not fit, features that are not finite real numbers, labels that are not
            integers or strings, ``k`` below 1.
    """
    check_count(k, "k", least=1)
    cluster, x = _cluster_labels(labels, len(X)), _features(X)
    values = [_neighbor_distance(x[cluster == c], k, squared) for c in cluster.unique()]
    return float(np.mean(values)) if values else float("nan")


def _neighbor_distance(x: Tensor, k: int, squared: bool) -> float:
    k = min(k, len(x) - 1)
    if k == 0:
        return 0.0
    total = 0.0
    for block in x.split(max(1, _BLOCK // len(x))):
        # By differences: products of matrices, cdist's choice beyond 25 rows, lose the digits far from the origin.
        distances = torch.cdist(block, x, compute_mode="donot_use_mm_for_euclid_dist")
        nearest = distances.topk(k + 1, largest=False).values[:, 1:]  # the first is the row itself
        total += float((nearest.square() if squared else nearest).mean(1).sum())
    return total / len(x)


def _row_pairs(Y: Scores, predicted: Scores) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor], Origin]:
    scores, origin = as_scores(Y, "Y")
    guess, guess_origin = as_scores(predicted, "predicted")
    if scores.ndim != 2 or scores.shape != guess.shape:
        raise ValueError(f"Y has shape {tuple(scores.shape)} and predicted {tuple(guess.shape)}; expected both (N, L)")
    ranks, _ = dense_ranks(scores, "allow", "Y")
    guessed, _ = dense_ranks(guess.to(scores.device), "predictions rank every label", "predicted")
    return ranks, guessed, (scores, guess), origin.joint(guess_origin, "Y", "predicted")


def _wrong_pairs(ranks: Tensor, predicted: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of labels that a row orders and the prediction does not, and all that the row orders; (N,) float64."""
    wrong, pairs = ranks.new_zeros((2, len(ranks)), dtype=torch.float64)
    for i in range(ranks.shape[1] - 1):  # label i against all later ones
        both = (ranks[:, i : i + 1] >= 0) & (ranks[:, i + 1 :] >= 0)
        true = (ranks[:, i : i + 1] - ranks[:, i + 1 :]).sign() * both
        guess = (predicted[:, i : i + 1] - predicted[:, i + 1 :]).sign()
        pairs += true.abs().sum(1)
        wrong += (true.abs() - true * guess).sum(1) / 2
    return wrong, pairs


def _mean_over_clusters(values: Tensor, cluster: Tensor) -> float:
    if not len(values):
        return float("nan")
    clusters, place = cluster.unique(return_inverse=True)
    sums = values.new_zeros(len(clusters)).index_add_(0, place, values)
    return float((sums / place.bincount(minlength=len(clusters))).mean())


def _features(X: Array) -> Tensor:
    x = double_of(X, "X")
    if x.ndim != 2:
        raise ValueError(f"X has shape {tuple(x.shape)}; expected (N, d) features")
    check_finite_features(x)
    return x


def _cluster_labels(labels: Array, n: int, *, named: bool = True) -> Tensor:
    cluster = as_labels(labels, "labels", named=named)
    if cluster.shape != (n,):
        raise ValueError(f"labels has shape {tuple(cluster.shape)}; expected one cluster for each of {n} rows")
    return cluster
