"""Nearest centers and class sums of pair signs, from the signs themselves."""

import numpy as np
import pytest
import torch

import torchrank as tr
from torchrank.clustering import center_sums as rooms
from torchrank.clustering.center_sums import Costs, center_sums, nearest_centers

RNG = np.random.default_rng(0)


def signs_of(ranks):
    """Of all pairs i < j in order; 0 where tied, or where one is unranked."""
    n = ranks.shape[1]
    pairs = [(ranks[:, i], ranks[:, j]) for i in range(n) for j in range(i + 1, n)]
    return np.stack([np.sign(a - b) * (a >= 0) * (b >= 0) for a, b in pairs], 1)


def rankings_of(kind, m, n):
    if kind == "untied":
        return tr.rank(RNG.normal(size=(m, n)))
    scores = RNG.integers(0, max(2, n // 2), (m, n)).astype(float)
    if kind == "partial":
        scores[RNG.random((m, n)) < 0.3] = np.nan
    return tr.rank(scores, "pairwise")


@pytest.fixture(params=["compiled", "torch"])
def engine(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setattr(rooms, "_MOST_TABLE", -1)
        monkeypatch.setattr(rooms, "_BLOCK_BYTES", 5000)
    return request.param


@pytest.mark.parametrize("kind", ["untied", "tied", "partial"])
@pytest.mark.parametrize(("m", "n", "c"), [(0, 4, 2), (1, 2, 1), (70, 5, 3), (300, 9, 17), (1100, 12, 4)])
def test_they_are_what_signs_say(engine, kind, m, n, c):
    rankings = rankings_of(kind, m, n)
    signs = signs_of(rankings.ranks.numpy())
    centers = torch.from_numpy(RNG.integers(-8, 9, (c, n * (n - 1) // 2)) / 8)
    lean = torch.from_numpy(RNG.integers(1, 5, m) / 4)
    offset = torch.from_numpy(RNG.integers(0, 5, c).astype(float))
    if c > 2:
        offset[1] = torch.inf
    own = torch.from_numpy(RNG.integers(100, 200, m).astype(float))
    costs = own[:, None] + offset - 2 * lean[:, None] * torch.from_numpy(signs @ centers.numpy().T).view(m, c)
    found = center_sums(centers, n)
    assert type(found).__name__ == ("_InTorch" if engine == "torch" else "_Compiled")
    labels, cost = nearest_centers(found, rankings, Costs(own, lean, offset), 0.0)
    assert torch.equal(labels, costs.argmin(-1) if m else labels)
    assert torch.equal(cost, costs.amin(-1).clamp(min=0))
    load = torch.from_numpy(RNG.integers(0, 4, m).astype(float))
    sums = np.array([(signs * load.numpy()[:, None])[labels.numpy() == j].sum(0) for j in range(c)])
    np.testing.assert_array_equal(found.sums(rankings, labels, load).numpy(), sums)
    shares = torch.from_numpy(RNG.integers(0, 5, (m, c)) / 4)
    np.testing.assert_array_equal(found.weighted_sums(rankings, shares).numpy(), shares.numpy().T @ signs)
    np.testing.assert_array_equal(found.products(rankings).numpy(), signs @ centers.numpy().T)


def test_costs_within_the_tolerance_are_equal(engine):
    rankings = tr.rank([[1.0, 2.0]])
    centers = torch.tensor([[-0.5], [-0.5 - 1e-9]], dtype=torch.float64)
    costs = Costs(torch.ones(1).double(), torch.ones(1).double(), torch.zeros(2).double())
    assert nearest_centers(center_sums(centers, 2), rankings, costs, 0.0)[0].item() == 1
    assert nearest_centers(center_sums(centers, 2), rankings, costs, 1e-8)[0].item() == 0


def test_sums_have_the_same_bits_for_any_number_of_threads():
    rankings, load = rankings_of("tied", 3000, 7), torch.from_numpy(RNG.random(3000))
    labels, threads = torch.from_numpy(RNG.integers(0, 3, 3000)), torch.get_num_threads()
    engine = center_sums(torch.zeros(3, 21, dtype=torch.float64), 7)
    try:
        found = []
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            found.append(engine.sums(rankings, labels, load))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
