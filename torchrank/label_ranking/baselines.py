"""Baselines of supervised clustering by label rankings: Grbovic et al. (2013), Section 3.2."""

from dataclasses import dataclass

import torch
from torch import Tensor

from torchrank._repr import short_repr
from torchrank.distributions.fit_plackett_luce import fit_plackett_luce
from torchrank.label_ranking.features import check_distances, check_finite_features, check_n_features, warn_of_scales
from torchrank.label_ranking.gates import nearest
from torchrank.label_ranking.rank_clusters import ebms, k_o_means, most_frequent
from torchrank.label_ranking.rank_tree import LOOKAHEAD, RankTree, tree_with_centers
from torchrank.label_ranking.rankings import strict_scores, untied_ranks
from torchrank.label_ranking.start import feature_cells
from torchrank.label_ranking.training import Training
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_choice, check_count

CENTERS = ("mallows", "plackett-luce")
RANK_CLUSTERINGS = {"naive": most_frequent, "ebms": ebms, "k-o-means": k_o_means}
_PRIOR = 0.1  # of Plackett-Luce scores, so that they exist


@dataclass(frozen=True)
class FeatureClusters:
    """Clusters that are the cells of their means in feature space, each with a central ranking."""

    means: Tensor  # (K, d)
    centers: Tensor  # (K, L) scores, larger = preferred

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


@in_plain_surroundings
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
    rows = Training(X, Y)
    return FeatureClusters(X.mean(0, keepdim=True), strict_scores(rows.votes.sum(0, keepdim=True)).to(X.device))


@in_plain_surroundings
def kmeans_then_rank(
    X: Tensor, Y: Tensor, n_clusters: int, *, center: str = "mallows", n_starts: int = 3, seed: int | None = None
) -> FeatureClusters:
    """K-means on the features, then a central ranking for each cluster.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        center: "mallows", Borda votes as the usual stand-in for its maximum likelihood; or "plackett-luce", which
            refuses ties.
        n_starts: starts of K-means.
        seed: of the starts.

    Returns:
        The means of features, and a central ranking for each: a new row gets the ranking of the nearest mean (Grbovic
        et al., 2013, Section 3.2).

    Raises:
        ValueError: as :func:`one_rank`; ``n_clusters`` below 1, an unknown ``center``, tied labels for "plackett-luce".

    Warns:
        UserWarning: features on very different scales, or below 1e-6 all of them.
    """
    check_choice(center, "center", CENTERS)
    check_count(n_clusters, "n_clusters", least=1)
    check_count(n_starts, "n_starts", least=1)
    rows = Training(X, Y)
    check_distances(X)
    warn_of_scales(X)
    if center == "plackett-luce":
        untied_ranks(Y, "Y")
    means, cluster = feature_cells(X, n_clusters, _generator(X, seed), n_starts=n_starts)
    everyone = rows.votes.mean(0).expand(n_clusters, -1)
    scores = rows.central_scores(cluster.cpu(), everyone)
    if center == "plackett-luce":
        fits = [fit_plackett_luce(Y[cluster == k], missing="interleaving", prior=_PRIOR) for k in cluster.unique()]
        for k, fit in zip(cluster.unique().tolist(), fits, strict=True):
            scores[k] = torch.as_tensor(fit.logits)
    return FeatureClusters(means, strict_scores(scores).to(X.device))


@in_plain_surroundings
def naive_kmeans(
    X: Tensor, Y: Tensor, n_clusters: int, *, n_starts: int = 3, seed: int | None = None
) -> FeatureClusters:
    """K-means on features and label positions together; new rows go to the nearest mean by their features alone.

    Unranked labels stand at the mean position (L + 1)/2; the paper says L/2.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        n_starts: starts of K-means.
        seed: of the starts.

    Returns:
        The means of features, and for each the labels in the order of their mean positions (Grbovic et al., 2013,
        Section 3.2).

    Raises:
        ValueError: as :func:`one_rank`; ``n_clusters`` below 1.

    Warns:
        UserWarning: features on very different scales, or below 1e-6 all of them.
    """
    check_count(n_clusters, "n_clusters", least=1)
    check_count(n_starts, "n_starts", least=1)
    rows = Training(X, Y)
    check_distances(X)
    warn_of_scales(X)
    both = torch.cat([X, _positions(rows).to(X)], dim=1)
    means, _ = feature_cells(both, n_clusters, _generator(X, seed), n_starts=n_starts)
    d = X.shape[1]
    return FeatureClusters(means[:, :d].contiguous(), strict_scores(-means[:, d:]))


def _positions(rows: Training) -> Tensor:
    """Positions of labels among the ranked ones, 1 for the best; the mean position for unranked labels."""
    top = rows.ranks.amax(1, keepdim=True)
    return torch.where(rows.ranks >= 0, 1.0 + top - rows.ranks, (1 + rows.ranks.shape[1]) / 2)


@in_plain_surroundings
def rank_clustering_tree(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    method: str = "k-o-means",
    min_leaf: int = 5,
    lookahead: float = LOOKAHEAD,
    validation: tuple[Tensor, Tensor] | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> RankTree:
    """Cluster the rankings without looking at features, then grow a decision tree with the central rankings found.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, NaN = not ranked.
        n_clusters: K.
        method: "naive", the most frequent rankings; "ebms", blurring mean-shift (Meilă and Bao, 2010); "k-o-means",
            K-means with Kendall distances and Borda centres (Kamishima and Akaho, 2009).
        min_leaf: fewest rows of a leaf.
        lookahead: see :func:`torchrank.label_ranking.rank_tree.rank_tree`.
        validation: other features and scores, to prune by.
        seed: of K-o'means.
        progress: show a progress bar of what the clustering tries.

    Returns:
        The tree, whose ``predict`` gives the central ranking of a row's leaf (Grbovic et al., 2013, Section 3.2).

    Raises:
        ValueError: as :func:`one_rank`; ``n_clusters`` below 1, an unknown ``method``.
    """
    check_choice(method, "method", tuple(RANK_CLUSTERINGS))
    check_count(n_clusters, "n_clusters", least=1)
    centers = RANK_CLUSTERINGS[method](Training(X, Y), n_clusters, seed, progress)
    return tree_with_centers(X, Y, centers, min_leaf=min_leaf, lookahead=lookahead, validation=validation)


def _generator(X: Tensor, seed: int | None) -> torch.Generator:
    generator = torch.Generator(device=X.device)
    generator.manual_seed(int(torch.randint(2**31, ())) if seed is None else seed)
    return generator
