"""Borda's count against enumeration."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from tests.oracles.aggregation import borda_votes
from tests.strategies import random_scores
from torchrank import borda, from_orders

N = np.nan


@pytest.mark.parametrize("variant", ["interleaving", "topk"])
@pytest.mark.parametrize("kind", ["total", "tied"])
def test_partial_votes_are_those_expected_of_agreeing_rankings(variant: str, kind: str) -> None:
    X = random_scores(np.random.default_rng(3), kind, 12, 5, missing=0.4)
    weights = np.random.default_rng(4).random(12)
    expected = np.average([borda_votes(row, variant) for row in X], axis=0, weights=weights)
    np.testing.assert_allclose(borda(X, weights, variant=variant), expected, rtol=0, atol=1e-12)


def test_complete_rankings_vote_alike_in_every_variant() -> None:
    X = random_scores(np.random.default_rng(5), "tied", 9, 6)
    expected = np.mean([borda_votes(row, "topk") for row in X], axis=0)
    for variant in ("ordinary", "interleaving", "topk"):
        np.testing.assert_allclose(borda(X, variant=variant), expected, rtol=0, atol=1e-12)


def test_modified_count_of_the_paper() -> None:
    """(L_n - j + 1)(L + 1)/(L_n + 1) votes for place j, (L + 1)/2 for missing labels; top-2 of 5 gives them 2."""
    X = np.array([[N, 9.0, N, 3.0, N]])
    assert borda(X, variant="interleaving").tolist() == [3.0, 4.0, 3.0, 2.0, 3.0]
    assert borda(X, variant="topk").tolist() == [2.0, 5.0, 2.0, 4.0, 2.0]


def test_cycle_ties_all_items() -> None:
    assert borda(from_orders([[0, 1, 2], [1, 2, 0], [2, 0, 1]])).tolist() == [2.0, 2.0, 2.0]


def test_rounding_does_not_break_ties() -> None:
    """Rankings and their images under the exchange of items 0 and 1, added up in another order."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "total", 40, 11, missing=0.3), rng.random(40)
        shuffled = rng.permutation(40)
        both = np.concatenate([X, X[shuffled][:, [1, 0, *range(2, 11)]]])
        votes = borda(both, np.concatenate([weights, weights[shuffled]]), variant="interleaving")
        assert votes[0] == votes[1]
        assert len(set(votes)) == 10


def test_weight_is_repetition() -> None:
    X = random_scores(np.random.default_rng(0), "tied", 6, 5, missing=0.3)
    counts = np.array([3, 0, 1, 5, 2, 1])
    for variant in ("interleaving", "topk"):
        repeated = borda(np.repeat(X, counts, axis=0), variant=variant)
        np.testing.assert_allclose(borda(X, counts, variant=variant), repeated, rtol=0, atol=1e-14)


def test_batches_of_rankings_and_of_weights() -> None:
    rng = np.random.default_rng(1)
    X, weights = random_scores(rng, "total", 3, 7, 5), rng.random((3, 7))
    batch = borda(X, weights)
    for k in range(3):
        np.testing.assert_allclose(batch[k], borda(X[k], weights[k]), rtol=0, atol=1e-14)
        np.testing.assert_allclose(borda(X[0], weights)[k], borda(X[0], weights[k]), rtol=0, atol=1e-14)


def test_differentiable_in_weights_only() -> None:
    X = torch.from_numpy(random_scores(np.random.default_rng(2), "total", 4, 5))
    weights = torch.rand(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert gradcheck(lambda w: borda(X, w), (weights,))
    with pytest.raises(RuntimeError, match="piecewise constant"):
        borda(X.clone().requires_grad_()).sum().backward()


def test_dtypes() -> None:
    X = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    assert borda(X).dtype == torch.float32
    assert borda(X.double()).dtype == torch.float64
    assert borda(X.int()).dtype == torch.get_default_dtype()
    assert borda(X.int().numpy()).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "weights has -1 for row 1"),
        ([1, N], "weights has nan for row 1"),
        ([1, np.inf], "weights has inf for row 1"),
        ([0, 0], "weights add up to 0"),
        ([1, 1, 1], r"weights has shape \(3,\)"),
        ([[[1, 1]]], None),
    ],
)
def test_weights_are_checked(weights: list, message: str | None) -> None:
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    if message is None:
        assert borda(X, weights).shape == (1, 1, 2)
        return
    with pytest.raises(ValueError, match=message):
        borda(X, weights)


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match=r'X has NaN .* row 0, item 1.*variant="interleaving"'):
        borda(np.array([[1.0, N]]))
    with pytest.raises(ValueError, match="variant='cheng'"):
        borda(np.eye(2), variant="cheng")
    with pytest.raises(ValueError, match="at least one is needed"):
        borda(np.zeros((0, 3)))
    with pytest.raises(TypeError, match="weights has dtype"):
        borda(np.eye(2), [1j, 1])
    with pytest.raises(ValueError, match="do not broadcast"):
        borda(np.zeros((2, 3, 4)), np.ones((5, 3)))
