import itertools
import warnings

import numpy as np
import pytest
import torch

from tests.oracles import clustering as oracle
from tests.strategies import random_scores
from torchrank import ConvergenceWarning
from torchrank.aggregation import borda, copeland
from torchrank.clustering import RankingKMeans
from torchrank.clustering.centers import CENTERS, centers_of_margins
from torchrank.rankings.pairs import pair_signs


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def cost(X, center, weights) -> float:
    return sum(w * oracle.discordant(x, center) for x, w in zip(X, weights, strict=True))


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_centers_are_those_of_the_three_rules(kind):
    rng = np.random.default_rng(0)
    X, weights = random_scores(rng, kind, 9, 5), rng.integers(0, 4, (6, 9)).astype(float)
    ranks = torch.from_numpy(X).int()
    sums, totals = torch.from_numpy(weights) @ pair_signs(ranks), torch.from_numpy(weights).sum(-1)
    found = {method: centers_of_margins(sums, totals, 5, method).numpy() for method in CENTERS}
    for row, center in enumerate(found["kemeny"]):
        best = min(cost(X, total, weights[row]) for total in itertools.permutations(range(5)))
        assert cost(X, center, weights[row]) == best
        assert sorted(center) == list(range(5))
    for method, rule in (("borda", borda), ("copeland", copeland)):
        scores = rule(X, weights)
        expected = [sorted(range(5), key=lambda item, row=row: (-row[item], item)) for row in scores]
        assert (-found[method]).argsort(1).tolist() == expected


@pytest.mark.parametrize("seed", range(2))
def test_many_starts_find_the_best_centers(seed):
    rng = np.random.default_rng(seed)
    X, weights = random_scores(rng, "total", 10, 4), rng.integers(1, 5, 10)
    fit = RankingKMeans(2, n_init=80).fit(X, weights, generator=seeded(seed))
    assert fit.objective[-1] == oracle.best_centers(X, weights, 2)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("center", CENTERS)
def test_objective_never_rises_and_belongs_to_labels_and_centers(center, init):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "tied", 20, 5), rng.integers(1, 4, 20)
        model = RankingKMeans(4, center=center, init=init, n_init=1)
        fit = model.fit(X, weights, generator=seeded(seed))
        assert fit.converged
        assert (np.diff(fit.objective) <= 0).all()
        costs = np.array([[oracle.discordant(x, y) for y in model.centers.tolist()] for x in X])
        assert (model(X) == costs).all()
        assert fit.labels.tolist() == costs.argmin(axis=1).tolist() == model.predict(X).tolist()
        assert fit.objective[-1] == (weights * costs.min(axis=1)).sum()
        if center == "kemeny":
            for j, own in enumerate(model.centers.tolist()):
                members = fit.labels == j
                best = min(cost(X[members], y, weights[members]) for y in itertools.permutations(range(5)))
                assert cost(X[members], own, weights[members]) == best


def test_weights_count_as_copies_and_zero_as_none():
    rng = np.random.default_rng(1)
    X, weights = random_scores(rng, "total", 20, 5), rng.integers(0, 4, 20)
    one = RankingKMeans(3).fit(X, weights, generator=seeded(0))
    copies = np.repeat(np.arange(20), weights)
    many = RankingKMeans(3, n_init=30).fit(X[copies], generator=seeded(0))
    best = RankingKMeans(3, n_init=30).fit(X, weights, generator=seeded(0))
    assert many.objective[-1] == best.objective[-1] <= one.objective[-1]


def test_unranked_items_cost_nothing_on_request():
    rng = np.random.default_rng(2)
    X = random_scores(rng, "total", 15, 6, missing=0.3)
    with pytest.raises(ValueError, match='missing="pairwise"'):
        RankingKMeans(2).fit(X)
    model = RankingKMeans(2, missing="pairwise")
    fit = model.fit(X, generator=seeded(0))
    costs = np.array([[oracle.discordant(x, y) for y in model.centers.tolist()] for x in X])
    assert fit.objective[-1] == costs.min(axis=1).sum()


@pytest.mark.parametrize("center", CENTERS)
def test_fewer_different_rankings_than_clusters(center):
    X = np.array([[3.0, 2.0, 1.0]] * 4 + [[1.0, 2.0, 3.0]] * 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankingKMeans(3, center=center)
        fit = model.fit(X, generator=seeded(0))
    assert [str(w.message)[:37] for w in caught] == ["1 of n_clusters=3 clusters stay empty"]
    assert fit.objective[-1] == 0
    assert sorted(np.bincount(fit.labels, minlength=3)) == [0, 2, 4]
    assert (model.predict(X) == fit.labels).all()


def test_state_dict_kind_and_dtype(tmp_path):
    X = torch.from_numpy(random_scores(np.random.default_rng(3), "total", 12, 5)).float()
    model = RankingKMeans(3)
    labels = model.fit(X, generator=seeded(0)).labels
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = RankingKMeans(3)
    other.load_state_dict(torch.load(tmp_path / "model.pt"))
    assert torch.equal(other.predict(X), labels)
    assert other(X).dtype == torch.float32
    assert isinstance(model.predict(X.numpy()), np.ndarray)


def test_not_converged_warns():
    X = random_scores(np.random.default_rng(9), "total", 60, 6)
    with pytest.warns(ConvergenceWarning, match=r"in 1 iterations.* objective to \d"):
        RankingKMeans(4, max_iter=1, n_init=1, init="random").fit(X, generator=seeded(2))


def test_bad_input_is_named():
    X = np.eye(4)
    with pytest.raises(ValueError, match="center='mean'"):
        RankingKMeans(2, center="mean")
    with pytest.raises(ValueError, match=r"missing='topk' is not for central rankings.*KernelKMeans\(2"):
        RankingKMeans(2, missing="topk")
    with pytest.raises(ValueError, match="call fit first"):
        RankingKMeans(2).predict(X)
    with pytest.raises(ValueError, match="add up to 0"):
        RankingKMeans(2).fit(X, np.zeros(4))
    with pytest.raises(ValueError, match=r"expected one matrix"):
        RankingKMeans(2).fit(X[None])
    model = RankingKMeans(2)
    model.fit(X, generator=seeded(0))
    with pytest.raises(ValueError, match=r"expected \(rankings, 4\), the items fitted"):
        model.predict(X[:, :3])


@pytest.mark.parametrize("center", CENTERS)
def test_labels_to_start_from_are_those_of_all_rows(center):
    rng = np.random.default_rng(4)
    X, start = random_scores(rng, "total", 40, 4), rng.integers(0, 3, 40)
    once, first, inverse, counts = np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)
    assert len(once) < 40
    fit = RankingKMeans(3, center=center, init=start).fit(X)
    alone = RankingKMeans(3, center=center, init=torch.from_numpy(start[first])).fit(once, counts)
    assert fit.labels.tolist() == alone.labels[inverse].tolist()
    assert fit.objective == alone.objective


@pytest.mark.data
def test_apa_has_one_center(data_folder):
    table = np.genfromtxt(data_folder / "apa" / "apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    for center in CENTERS:
        model = RankingKMeans(1, center=center)
        fit = model.fit(-table[:, :5], table[:, 5])
        assert fit.objective[-1] == 26_967
        assert (-model.centers[0]).argsort().tolist() == [0, 2, 4, 3, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("center", CENTERS)
def test_cuda_gives_the_same_clusters(center):
    rng = np.random.default_rng(4)
    X, start = torch.from_numpy(random_scores(rng, "total", 40, 4)), torch.from_numpy(rng.integers(0, 3, 40))
    expected = RankingKMeans(3, center=center, init=start).fit(X)
    fit = RankingKMeans(3, center=center, init=start).cuda().fit(X.cuda())
    assert torch.equal(fit.labels.cpu(), expected.labels)
    assert fit.objective[-1] == expected.objective[-1]
