"""Baselines of supervised clustering by label rankings: Grbovic et al. (2013), Section 3.2."""

from dataclasses import dataclass, replace
from typing import get_args

import torch
from torch import Tensor

from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.clustering.kmeans import Cells, kmeans
from torchrank.distributions.fit_plackett_luce import fit_plackett_luce
from torchrank.evidence import Evidence
from torchrank.label_ranking.features import warn_of_scales
from torchrank.label_ranking.gates import nearest
from torchrank.label_ranking.rank_clusters import ebms, k_o_means, most_frequent
from torchrank.label_ranking.rank_tree import LOOKAHEAD, Growth, RankTree, closed_form, tree_with_centers
from torchrank.label_ranking.rankings import untied_label_ranks
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.derivatives import given_scores, without_gradient
from torchrank.rankings.features import check_distances, check_finite_features, check_n_features
from torchrank.rankings.isolation import isolated
from torchrank.rankings.orders import total_scores
from torchrank.rankings.unmapped import COUNTS, SEARCHES, unmapped
from torchrank.rankings.validate import check_choice, check_count
from torchrank.typing import ClusterMethod, FeatureCenter

CENTERS = get_args(FeatureCenter)
RANK_CLUSTERINGS = {"naive": most_frequent, "ebms": ebms, "k-o-means": k_o_means}
_PRIOR = 0.1  # of Plackett-Luce scores, so that they exist
_MOVING = 1e-3  # share of rows that still change clusters when K-means ends


@dataclass(frozen=True)
class FeatureClusters:
    """Clusters that are the cells of their means in feature space, each with a central ranking."""

    means: Tensor  # (K, d)
    centers: Tensor  # (K, L) scores, larger = preferred
    evidence: Evidence  # of K-means, whose objective is the sum of squared distances; of one cluster its loss alone

    __repr__ = short_repr

    @property
    def central_orders(self) -> Tensor:
        """Central rankings ``(K, L)`` as orders, most preferred label first; ties go to the lower label."""
        return self.centers.argsort(dim=-1, descending=True, stable=True)

    def predict_cluster(self, X: Tensor) -> Tensor:
        """Clusters ``(N,)`` of the nearest means, int64."""
        check_n_features(X, self.means.shape[1])
        if len(self.means) > 1:
            check_distances(X)
        check_finite_features(X)
        return nearest(X, self.means.to(X))

    def predict(self, X: Tensor) -> Tensor:
        """Scores ``(N, L)`` of the predicted rankings."""
        return self.centers[self.predict_cluster(X)]


@isolated
@unmapped(COUNTS)
def one_rank(X: Tensor, Y: Tensor) -> FeatureClusters:
    """1-Rank: the Borda ranking of all rows for everyone (Grbovic et al., 2013, Section 3.2).

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.

    Returns:
        A single cluster, whose ``predict`` gives that ranking for any features.

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels.
    """
    rows = TrainingRows.on_cpu(X, Y)
    center = total_scores(rows.votes.sum(0, keepdim=True))
    center = without_gradient(center, given_scores(Y), what="central rankings are")
    loss = rows.loss(torch.zeros(len(X), dtype=torch.int64), center)
    return FeatureClusters(X.mean(0, keepdim=True), center.to(X.device), closed_form(loss))


@isolated
@unmapped(SEARCHES)
def kmeans_then_rank(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    center: FeatureCenter = "mallows",
    n_init: int = 3,
    max_iter: int = 300,
    generator: torch.Generator | None = None,
) -> FeatureClusters:
    """K-means on the features, then a central ranking for each cluster.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        center: "mallows", Borda votes as the usual stand-in for its maximum likelihood; or "plackett-luce", which
            refuses ties.
        n_init: starts of K-means, of which the best is kept.
        max_iter: most iterations of a start.
        generator: source of the random starts.

    Returns:
        The means of features, and a central ranking for each: a new row gets the ranking of the nearest mean (Grbovic
        et al., 2013, Section 3.2).

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels; numbers below 1,
            an unknown ``center``, tied labels for "plackett-luce".

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough.
        UserWarning: features on very different scales, or below 1e-6 all of them.
    """
    check_choice(center, "center", CENTERS)
    rows = _checked_rows(X, Y, n_clusters)
    if center == "plackett-luce":
        untied_label_ranks(Y)
    cells = _feature_cells(X, n_clusters, n_init, max_iter, generator)
    everyone = rows.votes.mean(0).expand(n_clusters, -1)
    scores = rows.central_scores(cells.labels.cpu(), everyone)
    if center == "plackett-luce":
        for k in cells.labels.unique().tolist():
            fit = fit_plackett_luce(Y[cells.labels == k], missing="interleaving", prior=_PRIOR)
            scores[k] = torch.as_tensor(fit.logits)
    centers = without_gradient(total_scores(scores).to(X.device), given_scores(Y), what="central rankings are")
    return FeatureClusters(cells.centers, centers, cells.evidence)


@isolated
@unmapped(SEARCHES)
def naive_kmeans(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    n_init: int = 3,
    max_iter: int = 300,
    generator: torch.Generator | None = None,
) -> FeatureClusters:
    """K-means on features and label positions together; new rows go to the nearest mean by their features alone.

    Unranked labels stand at the mean position (L + 1)/2; the paper says L/2.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        n_init: starts of K-means, of which the best is kept.
        max_iter: most iterations of a start.
        generator: source of the random starts.

    Returns:
        The means of features, and for each the labels in the order of their mean positions (Grbovic et al., 2013,
        Section 3.2).

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels; numbers below 1.

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough.
        UserWarning: features on very different scales, or below 1e-6 all of them.
    """
    rows = _checked_rows(X, Y, n_clusters)
    both = torch.cat([X, _positions(rows).to(X)], dim=1)
    means, _, evidence = _feature_cells(both, n_clusters, n_init, max_iter, generator)
    d = X.shape[1]
    return FeatureClusters(means[:, :d].contiguous(), total_scores(-means[:, d:]), evidence)


def _checked_rows(X: Tensor, Y: Tensor, n_clusters: int) -> TrainingRows:
    check_count(n_clusters, "n_clusters", least=1)
    rows = TrainingRows.on_cpu(X, Y)
    check_distances(X)
    warn_of_scales(X)
    return rows


def _feature_cells(X: Tensor, n_clusters: int, n_init: int, max_iter: int, generator: torch.Generator | None) -> Cells:
    """Cells of features; a warning where K-means was cut short."""
    check_count(n_init, "n_init", least=1)
    check_count(max_iter, "max_iter", least=1)
    cells = kmeans(X, n_clusters, n_init=n_init, max_iter=max_iter, moving=_MOVING, generator=generator)
    if not cells.evidence.converged:
        warn_not_converged(
            f"K-means did not converge in {max_iter} iterations: in the last one more than {_MOVING:.1%} of the rows "
            "changed clusters; raise max_iter"
        )
    return cells


def _positions(rows: TrainingRows) -> Tensor:
    """Positions of labels among the ranked ones, 1 for the best; the mean position for unranked labels."""
    top = rows.ranks.amax(1, keepdim=True)
    return torch.where(rows.ranks >= 0, 1.0 + top - rows.ranks, (1 + rows.ranks.shape[1]) / 2)


@isolated
@unmapped(SEARCHES)
def rank_clustering_tree(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    method: ClusterMethod = "k-o-means",
    min_leaf: int = 5,
    lookahead: float = LOOKAHEAD,
    validation: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
    progress: bool = False,
) -> RankTree:
    """Cluster the rankings without looking at features, then grow a decision tree with the central rankings found.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        method: "naive", the most frequent rankings; "ebms", blurring mean-shift (Meilă and Bao, 2010); "k-o-means",
            K-means with Kendall distances and Borda centers (Kamishima and Akaho, 2009).
        min_leaf: fewest rows of a leaf.
        lookahead: how many times the variance that chance would a split has to explain where none lowers the loss; 0
            for no such splits.
        validation: other features and scores, to prune by.
        generator: source of the start of K-o'means, and of the rankings that blurring looks at.
        progress: show a progress bar of what the clustering tries.

    Returns:
        The tree, whose ``predict`` gives the central ranking of a row's leaf (Grbovic et al., 2013, Section 3.2).

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels; numbers below 1,
            an unknown ``method``.

    Warns:
        ConvergenceWarning: "k-o-means" did not end within 100 iterations.
    """
    check_choice(method, "method", tuple(RANK_CLUSTERINGS))
    check_count(n_clusters, "n_clusters", least=1)
    rows, growth = TrainingRows.on_cpu(X, Y), Growth.checked(X, Y, min_leaf, lookahead, validation)
    found = RANK_CLUSTERINGS[method](rows, n_clusters, generator, progress)
    tree = tree_with_centers(rows, found.centers, growth)
    evidence = replace(tree.evidence, n_iter=found.n_iter, converged=found.converged)
    if not found.converged:
        evidence = replace(evidence, reason="max_iter")
        warn_not_converged(
            f"method={method!r} did not converge in {found.n_iter} iterations: rows still change clusters, and the "
            "central rankings are those of the last one; choose another n_clusters or method"
        )
    return replace(tree, evidence=evidence).to(X.device)
