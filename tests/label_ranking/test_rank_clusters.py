"""Central rankings of the baselines against their definitions: repeated rankings, missing labels, majority ties."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import seeded
from tests.oracles.aggregation import borda_votes, copeland_scores, preferences
from tests.oracles.clustering import discordant
from tests.strategies import dense_ranks, random_scores
from torchrank import RankingKMeans
from torchrank.label_ranking import rank_clusters as label_ranking_clusters
from torchrank.label_ranking.baselines import kmeans_then_rank, naive_kmeans, rank_clustering_tree
from torchrank.label_ranking.rank_clusters import _blurred, ebms
from torchrank.label_ranking.training import TrainingRows

NAN = math.nan


def training(*rankings: tuple[list[float], int]) -> TrainingRows:
    Y = torch.tensor([row for row, times in rankings for _ in range(times)], dtype=torch.float64)
    return TrainingRows.on_cpu(torch.zeros(len(Y), 1, dtype=torch.float64), Y)


def untied(votes: np.ndarray) -> list[float]:
    """Scores L to 1 in the order of votes, ties to the lower label."""
    order = sorted(range(len(votes)), key=lambda label: (-round(votes[label], 9), label))
    scores = [0.0] * len(votes)
    for place, label in enumerate(order):
        scores[label] = float(len(votes) - place)
    return scores


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_blurring_ends_in_the_borda_ranking_of_rows_not_of_different_rankings(seed, missing):
    rng = np.random.default_rng(seed)
    Y = random_scores(rng, "total", 6, 4, missing=missing)
    Y[0] = [1, 2, 3, 4]
    times = rng.integers(1, 9, 6)
    found = ebms(training(*zip(Y.tolist(), times.tolist(), strict=True)), 1).centers
    votes = sum(t * borda_votes(y, "interleaving") for y, t in zip(Y, times, strict=True))
    assert found.tolist() == [untied(votes)]


def test_blurring_weighs_repeated_rankings_in_each_place_and_counts_their_rows():
    up, swapped, down = [6.0, 5, 4, 3, 2, 1], [5.0, 6, 4, 3, 2, 1], [1.0, 2, 3, 4, 5, 6]
    rows = training((up, 1), (swapped, 5), (down, 4))
    assert ebms(rows, 2).centers.tolist() == [swapped, down]  # as often as each other, up and swapped would tie
    # Three turns of one ranking, as far from each other; the third has more rankings but fewer rows.
    one, two = [6.0, 5, 4, 3, 2, 1], [2.0, 1, 6, 5, 4, 3]
    third = [[4.0, 3, 2, 1, 6, 5], [3.0, 4, 2, 1, 6, 5], [4.0, 3, 1, 2, 6, 5]]
    rows = training((one, 4), (two, 4), *((ranking, 1) for ranking in third))
    assert {tuple(center) for center in ebms(rows, 2).centers.tolist()} == {tuple(one), tuple(two)}


def test_the_smallest_bandwidth_that_leaves_enough_places_is_searched_for(monkeypatch):
    tried = []

    def places(points, votes, weights, lam):
        tried.append(lam)
        return torch.arange(3) % (1 if lam < 0.7 else 2 if lam < 3 else 3)

    monkeypatch.setattr(label_ranking_clusters, "_blurred", places)
    rows = training(([1.0, 2, 3], 3), ([2.0, 1, 3], 2), ([3.0, 2, 1], 1))
    centers = ebms(rows, 2).centers
    assert len(centers) == 2
    assert all(0 < lam < 8 for lam in tried)
    assert 0 <= min(lam for lam in tried if lam >= 0.7) - 0.7 < 8 / 2**10
    assert len(ebms(rows, 3).centers) == 3
    assert min(abs(lam - 3) for lam in tried) < 8 / 2**10


def test_more_rankings_than_can_be_blurred_are_drawn_by_how_often_they_occur(monkeypatch):
    monkeypatch.setattr(label_ranking_clusters, "_DISTINCT", 2)
    heavy = ([1.0, 3, 2, 4], 3000), ([1.0, 2, 3, 4], 2000)
    light = [(list(map(float, order)), 1) for order in itertools.permutations((1, 2, 3, 4)) if order[3] == 1]
    for seed in range(5):
        assert ebms(training(*heavy, *light), 1, seeded(seed)).centers.tolist() == [[1, 3, 2, 4]]


@pytest.mark.parametrize("K", [1, 2, 3])
def test_features_too_large_for_distances_matter_where_there_is_a_choice(K):
    X, Y = torch.arange(6.0, dtype=torch.float64)[:, None], torch.tensor([[2.0, 1.0]]).double().repeat(6, 1)
    model, far = kmeans_then_rank(X, Y, K, generator=seeded(0)), torch.full((1, 1), 1e200, dtype=torch.float64)
    if K == 1:
        assert model.predict(far).tolist() == [[2, 1]]
    else:
        with pytest.raises(ValueError, match="squared distances overflow"):
            model.predict(far)


@pytest.mark.parametrize("fit", [kmeans_then_rank, naive_kmeans, rank_clustering_tree])
def test_no_clusters_at_all(fit):
    with pytest.raises(ValueError, match="n_clusters=0"):
        fit(torch.zeros(2, 1), torch.tensor([[1.0, 2.0], [2.0, 1.0]]), 0)


def blurred(Y: np.ndarray, lam: float) -> list[int]:
    """The mean-shift of rankings row by row: which rows end at the same place."""
    n = Y.shape[1]
    places, votes = [tuple(y) for y in Y], [borda_votes(y, "interleaving") for y in Y]
    for _ in range(50):
        moved = []
        for x in places:
            pull = [math.exp(-lam * discordant(x, y)) for y in places]
            moved.append(tuple(untied(sum(p * v for p, v in zip(pull, votes, strict=True)) / sum(pull))))
        if moved == places:
            break
        places, votes = moved, [np.array(place) for place in moved]
    assert all(sorted(place) == list(range(1, n + 1)) for place in places)
    return [places.index(place) for place in places]


@pytest.mark.parametrize("lam", [0.05, 0.3, 0.8, 2.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_blurring_moves_rows_as_the_definition_does(missing, lam):
    partitions = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        distinct, times = random_scores(rng, "total", 7, 5, missing=missing), rng.integers(1, 6, 7)
        ranks = dense_ranks(distinct)
        scores = ranks.double().masked_fill(ranks < 0, torch.nan)
        votes = torch.from_numpy(np.stack([borda_votes(y, "interleaving") for y in distinct]))
        found = _blurred(scores, votes, torch.from_numpy(times).double(), lam)[np.repeat(np.arange(7), times)]
        expected = blurred(np.repeat(distinct, times, axis=0), lam)
        assert [found.tolist().index(place) for place in found.tolist()] == expected
        partitions.add(len(set(expected)))
    assert lam < 0.8 or max(partitions) > 1


def test_a_cluster_without_rows_keeps_its_ranking():
    rows, before = training(([3.0, 2, 1], 2), ([1.0, 3, 2], 1)), torch.tensor([[1.0, 2, 3], [2.0, 1, 3], [1.0, 3, 2]])
    after = rows.central_scores(torch.tensor([0, 0, 2]), before.double())
    assert after.tolist() == [[3, 2, 1], [2, 1, 3], [1, 3, 2]]


def test_orders_and_seeds_of_feature_clusters():
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.standard_normal((80, 2)))
    Y = torch.from_numpy(rng.permuted(np.tile(np.arange(4.0), (80, 1)), axis=1))
    for fit in (kmeans_then_rank, naive_kmeans):
        model, again, other = (fit(X, Y, 6, n_init=1, generator=seeded(seed)) for seed in (1, 1, 2))
        expected = [sorted(range(4), key=lambda label, row=row: -row[label]) for row in model.centers.tolist()]
        assert model.central_orders.tolist() == expected
        assert torch.equal(model.means, again.means)
        assert not torch.equal(model.means, other.means)


def middle_positions(Y: np.ndarray, middle: float) -> list[float]:
    """Labels by their mean positions among the ranked ones, ``middle`` where they are not ranked."""
    places = []
    for y in Y:
        ranked = sorted((label for label in range(len(y)) if not np.isnan(y[label])), key=lambda label: -y[label])
        places.append([1 + ranked.index(label) if label in ranked else middle for label in range(len(y))])
    return untied(-np.mean(places, axis=0))


@pytest.mark.parametrize("L", [3, 4, 5])
def test_unranked_labels_stand_at_the_mean_position(L):
    told_apart = 0
    for seed in range(20):
        Y = random_scores(np.random.default_rng(seed), "total", 9, L, missing=0.5)
        Y[0] = np.arange(L)
        center = naive_kmeans(
            torch.zeros(9, 1, dtype=torch.float64), torch.from_numpy(Y), 1, generator=seeded(0)
        ).centers
        assert center.tolist() == [middle_positions(Y, (L + 1) / 2)]
        told_apart += center.tolist() != [middle_positions(Y, L / 2)]
    assert told_apart > 3  # the paper's L/2 gives other rankings


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_copeland_centers_with_majority_ties(kind):
    ties = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, kind, 6, 5), 2 * rng.integers(1, 3, 6)
        model = RankingKMeans(1, center="copeland")
        model.fit(X, weights, generator=torch.Generator().manual_seed(0))
        P = preferences(X, weights, "pairwise")
        ties += int((P == P.T).sum()) > 5  # beside the diagonal
        scores = copeland_scores(P)
        order = sorted(range(5), key=lambda item: (-scores[item], item))
        assert np.argsort(-model.centers[0].numpy()).tolist() == order
    assert ties > 5
