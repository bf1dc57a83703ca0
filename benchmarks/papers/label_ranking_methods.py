"""The methods of Tables 6 to 8: K = 10 rankings, 100 prototypes, and choices made inside the training rows.

Others go past the tables. "K chosen inside" is one protocol for all that have a K: the same inner folds, the same three
candidates 10, 30 and 100, the same rule. Rivals, which have no clusters, choose among three settings of their own.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from benchmarks.papers.label_ranking_data import LabelRankingSet
from benchmarks.papers.label_ranking_rivals import forest_of_pairs, forest_of_positions, logistic_pairs, neighbors
from torchrank import (
    MMPL,
    EMSettings,
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    pruned_rank_tree,
    rank_clustering_tree,
    rank_tree,
)
from torchrank.metrics import discordant_shares, label_ranking_loss
from torchrank.typing import ClusterMethod, EMInit

K = 10


class Model(Protocol):
    """What every method returns."""

    def predict(self, X: Tensor) -> Tensor:
        """Scores of rankings."""
        ...


Fit = Callable[[Tensor, Tensor, int, int], Model]  # X, Y, number of clusters, seed


def seeded(seed: int) -> torch.Generator:
    """A generator of random numbers."""
    return torch.Generator().manual_seed(seed)


def mm_pl(n_prototypes: int, settings: EMSettings) -> Fit:
    """MM-PL with ``n_prototypes`` for each cluster."""

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> MMPL:
        model = MMPL(X.shape[1], Y.shape[1], n_clusters, n_prototypes, dtype=X.dtype)
        model.fit(X, Y, settings, generator=seeded(seed))
        return model

    return fit


def iterative_tree(min_leaf: int = 5, **options: object) -> Fit:
    """RT_iter."""
    return lambda X, Y, n, seed: rank_tree(X, Y, n, min_leaf=min_leaf, generator=seeded(seed), **options)  # type: ignore[arg-type]


def after_clustering(method: ClusterMethod) -> Fit:
    """A tree with the central rankings of a clustering of rankings."""
    return lambda X, Y, n, seed: rank_clustering_tree(X, Y, n, method=method, generator=seeded(seed))


def chosen(candidates: Sequence[Fit], *, errors: float = 2.0) -> Fit:
    """The first candidate, unless another is better on held-out training rows beyond chance; fitted to all.

    Better means that the mean difference of losses, row by row, is more than ``errors`` of its standard errors; of
    those the best is taken. Few rows with few labels can hardly tell candidates apart, and the least loss is then a
    lottery. 3 folds, and one of the three from 1,000 rows on.
    """

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> Model:
        fold = torch.from_numpy(np.random.default_rng(seed).permutation(np.arange(len(X)) % 3))
        held_out = [fold == number for number in range(1 if len(X) >= 1000 else 3)]
        losses = [
            torch.cat([_losses(candidate(X[~out], Y[~out], n_clusters, seed), X[out], Y[out]) for out in held_out])
            for candidate in candidates
        ]
        differences = torch.stack(losses) - losses[0]
        differences = differences[:, ~differences[0].isnan()]
        mean, error = differences.mean(1), differences.std(1) / differences.shape[1] ** 0.5
        beyond_chance = mean < -errors * error
        return candidates[int(mean.where(beyond_chance, 0.0).argmin())](X, Y, n_clusters, seed)

    return fit


def _losses(model: Model, X: Tensor, Y: Tensor) -> Tensor:
    """Of each row; NaN where it orders no pair of labels."""
    return torch.as_tensor(discordant_shares(Y, model.predict(X).detach()))


def with_clusters(n_clusters: int, method: Fit) -> Fit:
    """A method with another number of clusters than asked for."""
    return lambda X, Y, n, seed: method(X, Y, n_clusters, seed)


_CELLS = EMSettings(n_updates=0)


def _trained(init: EMInit, sigma: float) -> Fit:
    """MM-PL with 30,000 updates below 1,000 rows, 100,000 below 3,000, and 200,000 from there on."""
    settings = [EMSettings(init=init, sigma=sigma, n_updates=n) for n in (30_000, 100_000, 200_000)]
    fits = [mm_pl(10, each) for each in settings]
    return lambda X, Y, n, seed: fits[(len(X) >= 1000) + (len(X) >= 3000)](X, Y, n, seed)


# As many prototypes as the paper at most: trained from a tree, or left as the cells they start from.
_ALTERNATIVES = [_trained("tree", 0.75), mm_pl(10, _CELLS), mm_pl(3, _CELLS), mm_pl(1, _CELLS)]


def _of_any_size(method: Fit) -> Fit:
    """K = 10, or 30 or 100 where they are better inside the training rows."""
    return chosen([method, *(with_clusters(n, method) for n in (30, 100))])


def _kmeans(X: Tensor, Y: Tensor, n: int, seed: int) -> Model:
    return kmeans_then_rank(X, Y, n, generator=seeded(seed))


def _naive_kmeans(X: Tensor, Y: Tensor, n: int, seed: int) -> Model:
    return naive_kmeans(X, Y, n, generator=seeded(seed))


class Together:
    """MM-PL of several members, which predict together."""

    def __init__(self, model: MMPL) -> None:
        self.model = model

    def predict(self, X: Tensor) -> Tensor:
        return self.model.predict(X, method="mixture")


def members(n_clusters: int, n_prototypes: int, metric_weight: float) -> Fit:
    """Ten members with bootstrap samples of their own: 10,000 updates each below 1,000 rows, 50,000 from 3,000 on."""

    def fit(X: Tensor, Y: Tensor, n: int, seed: int) -> Together:
        updates = 10_000 if len(X) < 1000 else 20_000 if len(X) < 3000 else 50_000
        settings = EMSettings(n_updates=updates, metric_weight=metric_weight)
        sizes = X.shape[1], Y.shape[1], n_clusters, n_prototypes
        model = MMPL(*sizes, n_members=10, metric="ridge" if metric_weight else "euclidean", dtype=X.dtype)
        model.fit(X, Y, settings, generator=seeded(seed))
        return Together(model)

    return fit


_CLUSTERERS: dict[str, Fit] = {
    "Km-Mal": _kmeans,
    "Naive-Km": _naive_kmeans,
    "RT-prune": lambda X, Y, n, seed: pruned_rank_tree(X, Y, n),
    "RT-iter": iterative_tree(),
}

FITS: dict[str, Fit] = {
    "1-Rank": lambda X, Y, n, seed: one_rank(X, Y),
    "Km-Mal": _kmeans,
    "Km-PL": lambda X, Y, n, seed: kmeans_then_rank(X, Y, n, center="plackett-luce", generator=seeded(seed)),
    "Naive-Km": _naive_kmeans,
    "Naive-RT": after_clustering("naive"),
    "EBMS-RT": after_clustering("ebms"),
    "K-o'm-RT": after_clustering("k-o-means"),
    "RT-prune": _CLUSTERERS["RT-prune"],
    "RT-iter": iterative_tree(),
    "RT-iter as printed": iterative_tree(lookahead=0.0, init="random", n_init=1),
    "RT-iter, leaf chosen inside": chosen([iterative_tree(leaf) for leaf in (5, 10, 20, 40, 80)]),
    "MM-PL defaults": mm_pl(10, EMSettings()),
    "MM-PL": chosen([mm_pl(10, EMSettings()), *_ALTERNATIVES]),
    "MM-PL as printed": mm_pl(10, EMSettings.paper()),
    **{f"{name}, K chosen inside": _of_any_size(fit) for name, fit in _CLUSTERERS.items()},
    "MM-PL, K chosen inside": chosen(
        [
            mm_pl(10, EMSettings()),
            with_clusters(30, mm_pl(10, EMSettings())),
            with_clusters(100, mm_pl(3, EMSettings())),
        ]
    ),
    "MM-PL of ten members": chosen([members(30, 3, 2.0), members(30, 3, 0.0), members(200, 1, 4.0)]),
    "neighbors": chosen([neighbors(k) for k in (15, 5, 50)]),
    "forest of positions": chosen([forest_of_positions(leaf) for leaf in (5, 1, 20)]),
    "forest of pairs": chosen([forest_of_pairs(leaf) for leaf in (5, 1, 20)]),
    "logistic pairs": chosen([logistic_pairs(C) for C in (1.0, 0.1, 10.0)]),
}


def fit_rows(method: str, rows: LabelRankingSet, n_clusters: int, seed: int) -> Model:
    """A fitted method."""
    return FITS[method](torch.from_numpy(rows.X), torch.from_numpy(rows.Y), n_clusters, seed)


def test_loss(model: Model, rows: LabelRankingSet) -> float:
    """loss_LR on complete rankings."""
    return label_ranking_loss(torch.from_numpy(rows.Y), model.predict(torch.from_numpy(rows.X)).detach())
