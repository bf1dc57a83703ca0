"""Starts of MM-PL against their definitions, and what they give far from zero."""

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import seeded
from tests.oracles.aggregation import borda_votes
from torchrank import MMPL
from torchrank.label_ranking.baselines import kmeans_then_rank, naive_kmeans
from torchrank.label_ranking.gates import nearest, squared_distances
from torchrank.label_ranking.rankings import label_votes, untied_label_ranks
from torchrank.label_ranking.settings import EMSettings
from torchrank.label_ranking.start import start_at_random


def rows(seed, N=60, d=2, L=4, missing=0.3):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1000, 1000, (N, d)) / 256  # so that moving them rounds nothing
    Y = rng.permuted(np.tile(np.arange(1.0, L + 1), (N, 1)), axis=1)
    Y[rng.random(Y.shape) < missing] = np.nan
    Y[0] = np.arange(L)
    return torch.from_numpy(X), torch.from_numpy(Y)


def test_random_starts_have_scores_around_1_and_distinct_rows():
    X = torch.arange(30.0, dtype=torch.float64)[:, None].repeat(2, 1)
    start = start_at_random(X, 3, 12, 4000, torch.Generator().manual_seed(0))
    worths = start.logits.exp()
    assert float(worths.mean()) == pytest.approx(1, abs=0.01)
    assert float(worths.std()) == pytest.approx(0.1, abs=0.01)
    assert len(start.prototypes.unique()) == 12
    assert start.membership.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(ValueError, match="n_updates=-1"):
        EMSettings(n_updates=-1)


@pytest.mark.parametrize("missing", ["interleaving", "topk", "mixed"])
def test_votes_are_those_expected_of_each_kind_of_row(missing):
    _, Y = rows(1, N=12)
    words = ["topk", "interleaving", "interleaving"] * 4 if missing == "mixed" else [missing] * 12
    votes = label_votes(untied_label_ranks(Y), words if missing == "mixed" else missing)
    expected = [borda_votes(y, word) for y, word in zip(Y.tolist(), words, strict=True)]
    np.testing.assert_allclose(votes, np.stack(expected), atol=1e-13)


@pytest.mark.parametrize("shift", [2.0**20, 2.0**30])
def test_rows_far_from_zero_are_treated_alike(shift):
    X, Y = rows(2)
    prototypes = X[:6] + 0.25
    exact = ((X[:, None] - prototypes) ** 2).sum(-1)
    torch.testing.assert_close(squared_distances(X + shift, prototypes + shift), exact, rtol=0, atol=1e-10)
    assert torch.equal(nearest(X + shift, prototypes + shift), nearest(X, prototypes))
    for fit in (kmeans_then_rank, naive_kmeans):
        near, far = fit(X, Y, 3, generator=seeded(0)), fit(X + shift, Y, 3, generator=seeded(0))
        assert torch.equal(near.predict_cluster(X), far.predict_cluster(X + shift))
        assert torch.equal(near.centers, far.centers)
    near = MMPL(2, 4, 2, 3, sigma=0.5, dtype=torch.float64)
    far = MMPL(2, 4, 2, 3, dtype=torch.float64)
    far.load_state_dict(near.state_dict())
    with torch.no_grad():
        near.prototypes.copy_(prototypes)
        far.prototypes.copy_(prototypes + shift)
        torch.testing.assert_close(far.log_prob(X + shift, Y), near.log_prob(X, Y), rtol=0, atol=1e-9)
