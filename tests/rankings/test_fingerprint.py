"""A fingerprint of rows, whatever their order and batches."""

import numpy as np
import pytest
import torch

import torchrank as tr
from torchrank.rankings.fingerprint import Fingerprint

RNG = np.random.default_rng(0)
RANKINGS = {
    "dense": tr.rank(np.where(RNG.random((60, 5)) < 0.2, np.nan, RNG.random((60, 5))), "pairwise"),
    "sparse": tr.SparseRankings.from_orders([RNG.permutation(9)[: RNG.integers(0, 5)].tolist() for _ in range(60)], 9),
}
WEIGHTS = torch.from_numpy(RNG.random(60))
FEATURES = torch.from_numpy(RNG.random((60, 2)))


def text_of(rankings, weights, features, order, size):
    found = Fingerprint()
    for start in range(0, 60, size):
        some = order[start : start + size]
        found.add(rankings[some], weights[some], None if features is None else features[some])
    return found.text()


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("kind", RANKINGS)
def test_it_is_that_of_the_rows_alone(kind, features):
    rankings, order = RANKINGS[kind], np.arange(60)
    expected = text_of(rankings, WEIGHTS, features, order, 60)
    assert expected.startswith("60 rows ")
    for size in (1, 7, 60):
        assert text_of(rankings, WEIGHTS, features, RNG.permutation(60), size) == expected
    for place in range(60):  # each number counts
        other = WEIGHTS.clone()
        other[place] += 1e-15
        assert text_of(rankings, other, features, order, 60) != expected
    swapped = order.copy()
    lengths = np.arange(60)
    swapped[:2] = swapped[1::-1]
    assert text_of(rankings[swapped], WEIGHTS, features, lengths, 60) != expected  # weights of other rows
    assert text_of(rankings, WEIGHTS, None if features is None else features + 0, order, 60) == expected


def test_dense_rankings_are_told_apart():
    ranks = RANKINGS["dense"]
    for row in range(60):
        other = np.asarray(ranks)
        other[row] = -other[row]
        found, its = Fingerprint(), Fingerprint()
        found.add(tr.rank(other, "pairwise"))
        its.add(ranks)
        assert (found.text() == its.text()) == (np.unique(other[row][~np.isnan(other[row])]).size < 2)
