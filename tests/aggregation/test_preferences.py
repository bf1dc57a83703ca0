"""Pair preferences and Copeland's rule against counting pairs one by one."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from tests.oracles.aggregation import copeland_scores, preferences
from tests.strategies import random_scores
from torchrank import copeland, from_orders
from torchrank.aggregation import pair_preferences
from torchrank.aggregation import preferences as module


@pytest.mark.parametrize("missing", ["pairwise", "interleaving", "topk"])
@pytest.mark.parametrize("kind", ["total", "tied"])
def test_counts(missing: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    X, weights = random_scores(rng, kind, 10, 5, missing=0.4), rng.integers(0, 4, 10)
    expected = preferences(X, weights, missing)
    np.testing.assert_allclose(pair_preferences(X, weights, missing=missing), expected, rtol=0, atol=1e-12)
    if missing == "pairwise":
        np.testing.assert_array_equal(pair_preferences(X, weights, missing=missing), expected)


def test_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X, weights = random_scores(rng, "tied", 3, 20, 7), rng.integers(0, 9, (2, 1, 20))
    whole = pair_preferences(X, weights)
    assert whole.shape == (2, 3, 7, 7)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 9 * 3 * 20 * 7 * 2)  # two items a block
    np.testing.assert_array_equal(pair_preferences(X, weights), whole)
    np.testing.assert_array_equal(whole[1, 2], preferences(X[2], weights[1, 0], "pairwise"))


@pytest.mark.parametrize("missing", ["pairwise", "interleaving"])
def test_differentiable_in_weights(missing: str) -> None:
    X = torch.from_numpy(random_scores(np.random.default_rng(2), "tied", 4, 4, missing=0.2))
    weights = torch.tensor([0.5, 1.0, 2.0, 0.1], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda w: pair_preferences(X, w, missing=missing), (weights,))


@pytest.mark.parametrize("missing", ["pairwise", "interleaving", "topk"])
def test_copeland_counts_majorities(missing: str) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "tied", 9, 5, missing=0.3), rng.random(9)
        expected = copeland_scores(np.round(preferences(X, weights, missing), 12))
        assert copeland(X, weights, missing=missing).tolist() == expected


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e12])
def test_copeland_knows_no_scale(scale: float) -> None:
    X = from_orders([[0, 1, 2], [1, 0, 2]])
    assert copeland(X, np.array([0.4, 0.6]) * scale).tolist() == [0, 2, -2]
    tied = copeland(from_orders([[0, 1], [0, 1], [1, 0]]), np.array([0.1, 0.2, 0.3]) * scale)
    assert tied.tolist() == [0, 0]


def test_copeland_of_a_cycle_and_tolerance() -> None:
    assert copeland(from_orders([[0, 1, 2], [1, 2, 0], [2, 0, 1]])).tolist() == [0, 0, 0]
    X = from_orders([[0, 1], [1, 0]])
    assert copeland(X, [52, 48]).tolist() == [1, -1]
    assert copeland(X, [52, 48], tolerance=0.05).tolist() == [0, 0]
    with pytest.raises(ValueError, match="tolerance"):
        copeland(X, tolerance=-1)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r'row 0, item 1.*missing="pairwise"'):
        pair_preferences(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="missing='median'"):
        copeland(np.eye(2), missing="median")
