"""Where expectation-maximisation for MM-PL starts: cells of the feature space, grouped by how they vote."""

import torch
from torch import Tensor

from torchrank.distributions.choices import Choices, choice_statistics, mm_update
from torchrank.label_ranking.gates import Mixture, nearest, nearest_about_origin, squared_distances
from torchrank.label_ranking.rank_tree import rank_tree

_PL_STEPS = 10
_ROWS_PER_CELL = 100  # that K-means looks at; it divides the features well enough by a part of many rows
_LLOYD_STEPS = 30
_LEAF = 5
_TREE_STARTS = 3
_VOTE_STARTS = 10
_MOVING = 1e-3  # share of rows that still change cells when K-means ends


def kmeans(
    X: Tensor,
    k: int,
    generator: torch.Generator,
    *,
    weights: Tensor | None = None,
    n_starts: int = 1,
    max_iter: int = 100,
) -> tuple[Tensor, Tensor]:
    """K-means by Lloyd's iterations from k-means++ starts: centres ``(k, d)`` and the centre ``(N,)`` of each row.

    A centre that loses all its rows stays where it is. The best of ``n_starts`` results is returned, by the weighted
    sum of squared distances.
    """
    mass = X.new_ones(len(X)) if weights is None else weights.to(X)
    best: tuple[float, Tensor, Tensor] | None = None
    for _ in range(n_starts):
        centers = _spread_rows(X, k, mass, generator)
        labels = nearest_about_origin(X, centers)
        for _ in range(max_iter):
            centers = _weighted_means(X, labels, mass, centers)
            previous, labels = labels, nearest_about_origin(X, centers)
            if int((previous != labels).sum()) <= _MOVING * len(X):
                break
        cost = float(((X - centers[labels]).square().sum(-1) * mass).sum())
        if best is None or cost < best[0]:
            best = cost, centers, labels
    assert best is not None
    return best[1], best[2]


def feature_cells(X: Tensor, k: int, generator: torch.Generator, *, n_starts: int) -> tuple[Tensor, Tensor]:
    """:func:`kmeans` of features, with the origin moved to their mean for precision."""
    origin = X.mean(0)
    centers, labels = kmeans(X - origin, k, generator, n_starts=n_starts)
    return centers + origin, labels


def _spread_rows(X: Tensor, k: int, mass: Tensor, generator: torch.Generator) -> Tensor:
    """Draw k rows, each with chance proportional to its squared distance to those before: k-means++."""
    chosen = [int(torch.multinomial(mass, 1, generator=generator))]
    distance = squared_distances(X, X[chosen]).amin(-1).clamp(min=0)
    for _ in range(k - 1):
        chances = distance * mass
        total = chances.sum()
        if not total > 1e-12 * mass.sum():  # no more distinct rows: the rest repeats
            chances = mass
        chosen.append(int(torch.multinomial(chances, 1, generator=generator)))
        distance = torch.minimum(distance, (X - X[chosen[-1]]).square().sum(-1))
    return X[chosen]


def _weighted_means(X: Tensor, labels: Tensor, mass: Tensor, otherwise: Tensor) -> Tensor:
    total = mass.new_zeros(len(otherwise)).index_add_(0, labels, mass)
    sums = torch.zeros_like(otherwise).index_add_(0, labels, X * mass[:, None])
    return torch.where(total[:, None] > 0, sums / total[:, None].clamp(min=1e-300), otherwise)


def spacing(prototypes: Tensor) -> float:
    """Median distance of a prototype to the nearest other one that is not in the same place."""
    # By differences: products of matrices, cdist's choice beyond 25 rows, leave a prototype apart from itself.
    distances = torch.cdist(prototypes, prototypes, compute_mode="donot_use_mm_for_euclid_dist")
    apart = distances.masked_fill(distances <= 1e-9 * distances.amax(), torch.inf).amin(-1)
    apart = apart[apart.isfinite()]
    return float(apart.median()) if len(apart) else 1.0


def mm_logits(choices: Choices, cluster: Tensor, n_clusters: int, prior: float, n_steps: int = _PL_STEPS) -> Tensor:
    """Logits ``(K, L)`` fitted to the rows of each cluster by Hunter's MM steps, from equal scores on.

    The steps of :func:`torchrank.distributions.choices.mm_update` (equations 31 to 33 with its statistics), in which a
    label that a ranking lacks counts neither as chosen nor as passed over.
    """
    n_labels = choices.order.shape[1]
    logits = torch.zeros(n_clusters, n_labels, dtype=torch.float64, device=cluster.device)
    for k in cluster.unique():
        own = cluster == k
        part, weights = Choices(*(table[own] for table in choices)), logits.new_ones(int(own.sum()))
        worths = logits.new_full((n_labels,), 1 / n_labels)
        for _ in range(n_steps):
            worths = mm_update(choice_statistics(part, worths, weights), worths, prior)
        logits[k] = worths.log() - worths.log().mean()
    return logits


def start_from_cells(
    X: Tensor,
    votes: Tensor,  # (N, L) expected Borda votes
    choices: Choices,
    n_clusters: int,
    n_prototypes: int,
    prior: float,
    generator: torch.Generator,
) -> Mixture:
    """Prototypes from K-means with one cell each; clusters from K-means on the cells' mean votes."""
    some = torch.randperm(len(X), generator=generator, device=X.device)[: _ROWS_PER_CELL * n_prototypes]
    prototypes, _ = kmeans(X[some], n_prototypes, generator, max_iter=_LLOYD_STEPS)
    cell = nearest_about_origin(X, prototypes)
    rows = torch.bincount(cell, minlength=n_prototypes).to(X)
    votes_nearby, empty = votes.new_zeros(n_prototypes, votes.shape[1]), rows == 0
    votes_nearby[empty] = votes[nearest(prototypes[empty], X)]
    mean_votes = _weighted_means(votes, cell, torch.ones_like(votes[:, 0]), votes_nearby)
    _, membership = kmeans(mean_votes, n_clusters, generator, weights=rows.clamp(min=1e-3), n_starts=_VOTE_STARTS)
    logits = mm_logits(choices, membership[cell], n_clusters, prior).to(X)
    return Mixture(prototypes, membership, logits, X.new_ones(()))


def start_from_tree(
    X: Tensor,
    ranks: Tensor,  # (N, L) dense ranks
    choices: Choices,
    n_clusters: int,
    n_prototypes: int,
    prior: float,
    generator: torch.Generator,
) -> Mixture:
    """Prototypes at the means of the leaves of a RankTree, which looks at rankings; the rest at random rows.

    A leaf's rows spread over features that do not matter, so the means differ little there, unlike those of K-means.
    """
    scores = ranks.to(X).masked_fill(ranks < 0, torch.nan)
    seed = int(torch.randint(2**31, (1,), generator=generator, device=X.device))
    min_leaf = max(_LEAF, -(-len(X) // n_prototypes))  # so that there are no more leaves than prototypes
    tree = rank_tree(X, scores, n_clusters, min_leaf=min_leaf, n_starts=_TREE_STARTS, seed=seed)
    leaf, place = tree.leaves(X).unique(return_inverse=True)
    means = _weighted_means(X, place, X.new_ones(len(X)), X.new_zeros(len(leaf), X.shape[1]))
    drawn = torch.randperm(len(X), generator=generator, device=X.device)
    rows = drawn[torch.arange(n_prototypes - len(leaf), device=X.device) % len(X)]
    prototypes = torch.cat([means, X[rows]])
    membership = torch.cat([tree.cluster[leaf], tree.cluster[leaf][place[rows]]])
    logits = mm_logits(choices, tree.cluster[leaf][place], n_clusters, prior).to(X)
    return Mixture(prototypes, membership, logits, X.new_ones(()))


def start_at_random(
    X: Tensor, n_clusters: int, n_prototypes: int, n_labels: int, generator: torch.Generator
) -> Mixture:
    """Prototypes from distinct rows, repeated where there are too few, and scores from N(1, 0.1): Algorithm 2."""
    distinct = torch.unique(X, dim=0)
    drawn = torch.randperm(len(distinct), generator=generator, device=X.device)[:n_prototypes]
    prototypes = distinct[drawn].repeat(-(-n_prototypes // len(drawn)), 1)[:n_prototypes]
    membership = torch.arange(n_clusters, device=X.device).repeat_interleave(n_prototypes // n_clusters)
    noise = torch.randn(n_clusters, n_labels, generator=generator, device=X.device, dtype=X.dtype)
    return Mixture(prototypes, membership, (1 + 0.1 * noise).clamp(min=0.1).log(), X.new_ones(()))
