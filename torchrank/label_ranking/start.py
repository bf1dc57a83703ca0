"""Where expectation-maximization for MM-PL starts: cells of the feature space, grouped by how they vote."""

import torch
from torch import Tensor

from torchrank.clustering.kmeans import kmeans
from torchrank.distributions.choices import Choices, ChoiceStatistics, choice_statistics, mm_update
from torchrank.label_ranking.em import ChoosingRows
from torchrank.label_ranking.gates import PrototypeMixture, nearest, nearest_about_origin
from torchrank.label_ranking.rank_tree import Growth, best_tree
from torchrank.rankings.draws import normal, numpy_generator, permutation

PL_STEPS = 10  # of Hunter's MM, towards scores of given clusters
_ROWS_PER_CELL = 100  # that K-means looks at; it divides the features well enough by a part of many rows
_LLOYD_STEPS = 30
_LEAF = 5
_TREE_STARTS = 3
_VOTE_STARTS = 10
_MOVING = 1e-3  # share of rows that still change cells when K-means ends


def spacing(prototypes: Tensor) -> float:
    """Median distance of a prototype to the nearest other one that is not in the same place."""
    # By differences: products of matrices, cdist's choice beyond 25 rows, leave a prototype apart from itself.
    distances = torch.cdist(prototypes, prototypes, compute_mode="donot_use_mm_for_euclid_dist")
    apart = distances.masked_fill(distances <= 1e-9 * distances.amax(), torch.inf).amin(-1)
    apart = apart[apart.isfinite()]
    return float(apart.median()) if len(apart) else 1.0


def mm_logits(choices: Choices, cluster: Tensor, n_clusters: int, prior: float, n_steps: int = PL_STEPS) -> Tensor:
    """Logits ``(K, L)`` fitted to the rows of each cluster by Hunter's MM steps, from equal scores on.

    The steps of :func:`torchrank.distributions.choices.mm_update` (equations 31 to 33 with its statistics), in which a
    label that a ranking lacks counts neither as chosen nor as passed over.
    """
    worths = torch.full((n_clusters, choices.order.shape[1]), 1 / choices.order.shape[1], dtype=torch.float64)
    worths = worths.to(cluster.device)
    for _ in range(n_steps):
        worths = mm_update(cluster_statistics(choices, cluster, worths), worths, prior)
    return centered_logits(worths)


def centered_logits(worths: Tensor) -> Tensor:
    """Logarithms of worths ``(K, L)`` that add up to 0 in each cluster."""
    return worths.log() - worths.log().mean(-1, keepdim=True)


def cluster_statistics(choices: Choices, cluster: Tensor, worths: Tensor) -> ChoiceStatistics:
    """What the MM step needs of rows of clusters ``(N,)`` under the worths ``(K, L)`` of their own one."""
    found = ChoiceStatistics(torch.zeros_like(worths), torch.zeros_like(worths), worths.new_zeros(len(worths)))
    for k in cluster.unique().tolist():
        own = cluster == k
        part, weights = Choices(*(table[own] for table in choices)), worths.new_ones(int(own.sum()))
        statistics = choice_statistics(part, worths[k], weights)
        for table, row in zip(vars(found).values(), vars(statistics).values(), strict=True):
            table[k] = row
    return found


def start_from_cells(
    rows: ChoosingRows,  # features with a mean of about 0
    n_clusters: int,
    n_prototypes: int,
    prior: float,
    generator: torch.Generator | None,
) -> PrototypeMixture:
    """Prototypes from K-means with one cell each; clusters from K-means on the cells' mean votes."""
    X, votes = rows.X, rows.votes
    some = permutation(len(X), generator, X.device)[: _ROWS_PER_CELL * n_prototypes]
    prototypes = kmeans(X[some], n_prototypes, max_iter=_LLOYD_STEPS, moving=_MOVING, generator=generator).centers
    cell = nearest_about_origin(X, prototypes)
    size = torch.bincount(cell, minlength=n_prototypes).double()
    votes_nearby, empty = votes.new_zeros(n_prototypes, votes.shape[1]), size == 0
    votes_nearby[empty] = votes[nearest(prototypes[empty], X)]
    membership = kmeans(
        _means(votes, cell, votes_nearby),
        n_clusters,
        weights=size.clamp(min=1e-3),
        n_init=_VOTE_STARTS,
        moving=_MOVING,
        generator=generator,
    ).labels
    logits = mm_logits(rows.choices, membership[cell], n_clusters, prior).to(X)
    return PrototypeMixture(prototypes, membership, logits, X.new_ones(()))


def start_from_tree(
    rows: ChoosingRows,
    n_clusters: int,
    n_prototypes: int,
    prior: float,
    generator: torch.Generator | None,
) -> PrototypeMixture:
    """Prototypes at the means of the leaves of a RankTree, which looks at rankings; the rest at random rows.

    A leaf's rows spread over features that do not matter, so the means differ little there, unlike those of K-means.
    """
    X = rows.X
    min_leaf = max(_LEAF, -(-len(X) // n_prototypes))  # so that there are no more leaves than prototypes
    rng = numpy_generator(generator)
    tree = best_tree(rows.for_trees(), n_clusters, Growth(min_leaf), n_init=_TREE_STARTS, rng=rng).to(X.device)
    leaf, place = tree.leaves(X).unique(return_inverse=True)
    means = _means(X, place, X.new_zeros(len(leaf), X.shape[1]))
    drawn = permutation(len(X), generator, X.device)
    others = drawn[torch.arange(n_prototypes - len(leaf), device=X.device) % len(X)]
    prototypes = torch.cat([means, X[others]])
    membership = torch.cat([tree.cluster[leaf], tree.cluster[leaf][place[others]]])
    logits = mm_logits(rows.choices, tree.cluster[leaf][place], n_clusters, prior).to(X)
    return PrototypeMixture(prototypes, membership, logits, X.new_ones(()))


def start_at_random(
    X: Tensor, n_clusters: int, n_prototypes: int, n_labels: int, generator: torch.Generator | None
) -> PrototypeMixture:
    """Prototypes from distinct rows, repeated where there are too few, and scores from N(1, 0.1): Algorithm 2."""
    distinct = torch.unique(X, dim=0)
    drawn = permutation(len(distinct), generator, X.device)[:n_prototypes]
    prototypes = distinct[drawn].repeat(-(-n_prototypes // len(drawn)), 1)[:n_prototypes]
    membership = torch.arange(n_clusters, device=X.device).repeat_interleave(n_prototypes // n_clusters)
    noise = normal((n_clusters, n_labels), generator, X)
    return PrototypeMixture(prototypes, membership, (1 + 0.1 * noise).clamp(min=0.1).log(), X.new_ones(()))


def _means(rows: Tensor, cell: Tensor, otherwise: Tensor) -> Tensor:
    """Means of the rows of each cell; those of ``otherwise`` for a cell without rows."""
    sums = torch.zeros_like(otherwise).index_add_(0, cell, rows)
    size = torch.bincount(cell, minlength=len(otherwise)).to(sums)[:, None]
    return torch.where(size > 0, sums / size.clamp(min=1), otherwise)
