"""k-means of vectors: means of their rows, distinct rows drawn first, starts, ends, and vectors far from zero."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch

from torchrank.clustering import geometries
from torchrank.clustering.geometries import FeatureGeometry
from torchrank.clustering.kmeans import kmeans
from torchrank.clustering.lloyd import Clusters, Geometry, masses, nearest_centers
from torchrank.cpu import nearest_centers as nearest_centers_of_cpu


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def rows(seed, N=200, d=2):
    return torch.from_numpy(np.random.default_rng(seed).integers(-1000, 1000, (N, d)) / 256)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("seed", range(5))
def test_cells_end_at_the_means_of_their_rows(seed, dtype):
    X = rows(seed).to(dtype)
    weights = torch.from_numpy(np.random.default_rng(seed).integers(1, 5, 200))
    centers, labels, evidence = kmeans(X, 5, weights=weights, generator=seeded(seed))
    assert (centers.dtype, evidence.converged, evidence.reason) == (dtype, True, "tolerance")
    for k in range(5):
        own = labels == k
        torch.testing.assert_close(centers[k], (X[own] * weights[own, None]).sum(0) / weights[own].sum())
    squared = ((X[:, None] - centers) ** 2).sum(-1)
    assert torch.equal(labels, squared.argmin(1))
    cost = float((weights * squared.amin(1)).sum())
    assert evidence.losses == (evidence.objective[-1],) == (pytest.approx(cost, rel=1e-5),)
    assert all(later <= earlier for earlier, later in itertools.pairwise(evidence.objective))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_no_row_is_drawn_again_while_others_are_left(scale):
    X = scale * torch.arange(8.0, dtype=torch.float64)[:, None]
    for seed in range(20):
        centers, labels, _ = kmeans(X, 8, max_iter=1, generator=seeded(seed))
        assert len(labels.unique()) == 8
        torch.testing.assert_close(centers[labels], X)


def test_centers_that_are_left_over_coincide_with_others():
    X = torch.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=torch.float64).repeat(4, 1)
    centers, labels, evidence = kmeans(X, 5, generator=seeded(0))
    assert torch.equal(centers[labels], X)
    assert {tuple(center) for center in centers.tolist()} == {(0.0, 1.0), (2.0, 3.0)}
    assert evidence.losses == (0.0,)


def test_the_best_of_several_starts_is_kept():
    """Rows on a line, where the best three cells are runs of rows; single starts end elsewhere now and then."""
    X = torch.tensor([1.0, 2, 8, 11, 13, 14, 16, 19, 27, 29], dtype=torch.float64)[:, None]
    runs = ((X[:i], X[i:j], X[j:]) for i, j in itertools.combinations(range(1, 10), 2))
    least = min(sum(float(((run - run.mean()) ** 2).sum()) for run in three) for three in runs)
    costs = []
    for n_init in (1, 30):
        found = [kmeans(X, 3, n_init=n_init, generator=seeded(s)) for s in range(20)]
        assert {len(cells.evidence.losses) for cells in found} == {n_init}
        costs.append([min(cells.evidence.losses) for cells in found])
    assert max(costs[1]) == pytest.approx(least)
    assert max(costs[0]) > 1.05 * least


def test_an_end_while_a_share_of_the_rows_still_moves():
    X = torch.rand(3000, 2, generator=seeded(0), dtype=torch.float64)
    steps = {moving: kmeans(X, 30, moving=moving, generator=seeded(1)).evidence for moving in (0.0, 1e-2, 1.0)}
    assert steps[1.0].n_iter == 1 < steps[1e-2].n_iter < steps[0.0].n_iter
    assert all(evidence.converged for evidence in steps.values())
    short = kmeans(X, 30, max_iter=2, generator=seeded(1)).evidence
    assert (short.n_iter, short.converged, short.reason) == (2, False, "max_iter")


@pytest.mark.parametrize("shift", [2.0**20, 2.0**30])
def test_rows_far_from_zero_are_divided_alike(shift):
    X = rows(3)
    near, far = kmeans(X, 6, generator=seeded(0)), kmeans(X + shift, 6, generator=seeded(0))
    assert torch.equal(near.labels, far.labels)
    torch.testing.assert_close(far.centers - shift, near.centers, rtol=0, atol=1e-6)


@pytest.mark.parametrize("block", [1, 50, 2**17])
def test_the_first_of_equally_near_centers_is_the_nearest_in_blocks_too(monkeypatch, block):
    monkeypatch.setattr(geometries, "_BLOCK", block)
    monkeypatch.setattr(geometries, "_FEW_CLUSTERS", 1)
    X = torch.from_numpy(np.random.default_rng(0).integers(0, 3, (40, 2))).double()
    geometry = FeatureGeometry(X, torch.ones(40, dtype=torch.float64))
    centers = torch.from_numpy(np.random.default_rng(1).integers(0, 3, (3, 7, 2))).double()
    filled = torch.ones(3, 7, dtype=torch.bool)
    filled[1, :3] = False
    before = torch.zeros((3, 40), dtype=torch.int64)
    labels, cost, *_ = geometry.nearest(centers, filled, before)
    table = geometry.distances(centers).masked_fill(~filled[..., None], torch.inf)
    expected = nearest_centers(table, geometry.tolerance)
    assert torch.equal(labels, expected[0])
    torch.testing.assert_close(cost, expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("heavy", [1.0, 1e9, 1e15])  # one that leaves takes no digits of what stays
@pytest.mark.parametrize("columns", [1, 16])
@pytest.mark.parametrize("compiled", [True, False])
def test_means_follow_the_points_that_moved(columns, compiled, heavy, monkeypatch):
    monkeypatch.setattr(nearest_centers_of_cpu, "_TILE_NUMBERS", 0)
    monkeypatch.setattr(nearest_centers_of_cpu, "_LEAST_COLUMNS", columns)
    generator, n_clusters = seeded(2), 4
    X, weights = rows(5).double(), torch.rand(200, generator=generator, dtype=torch.float64)
    geometry = FeatureGeometry(X, weights)
    geometry.compiled = compiled
    before, after = torch.randint(n_clusters - 1, (2, 3, 200), generator=generator)
    weights[3], before[0, 3], after[0, 3] = heavy, 0, 1
    after[2] = before[2]  # a start in which no point moves
    after[0, 7] = n_clusters - 1  # where none was before
    clusters = None
    for labels in (before, after):
        mass = masses(labels, n_clusters, weights)
        clusters = Clusters(labels, mass, mass, geometry.centers(labels, mass, clusters))
        for start, own in enumerate(labels):
            for cluster in own.unique():
                share = weights * (own == cluster)
                expected = (share[:, None] * X).sum(0) / share.sum()
                torch.testing.assert_close(clusters.centers[start, cluster], expected, rtol=0, atol=1e-14)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_finds_the_same_cells():
    X = rows(6)
    here, there = (kmeans(x, 5, generator=seeded(0)) for x in (X, X.cuda()))
    assert torch.equal(there.labels.cpu(), here.labels)
    torch.testing.assert_close(there.centers.cpu(), here.centers)


@pytest.mark.parametrize("m", [0, 1, 40, 1300])
@pytest.mark.parametrize(("products", "costs"), [(7, 1), (2**21, 1), (2**21, 500_000)])
def test_one_pass_finds_what_a_table_of_distances_does(m, products, costs, monkeypatch):
    monkeypatch.setattr(geometries, "_PRODUCTS", products)
    monkeypatch.setattr(nearest_centers_of_cpu, "_TILE_COSTS", costs)
    generator = torch.Generator().manual_seed(m)
    X = torch.randint(0, 3, (m, 4), generator=generator).double()  # equal distances are many
    geometry = FeatureGeometry(
        X, torch.randint(0, 9, (m,), generator=generator).double()
    )  # whole numbers add up exactly
    centers = torch.randint(0, 3, (3, 5, 4), generator=generator).double()
    before = torch.randint(0, 5, (3, m), generator=generator)
    filled = torch.tensor([[True] * 5, [False, True, True, False, True], [False] * 4 + [True]])
    found, expected = (of(centers, filled, before) for of in (geometry.nearest, partial(Geometry.nearest, geometry)))
    for part, other in zip(found, expected, strict=True):
        assert torch.equal(part, other)


def test_features_of_a_graph_are_clustered_as_numbers():
    X = torch.randn(50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    labels = [kmeans(x, 3, generator=seeded(0)).labels for x in (X, X.clone().requires_grad_())]
    assert torch.equal(*labels)
