"""The oracles agree with each other and with examples counted by hand."""

import numpy as np
import pytest

from tests.oracles.kernels import distance, kendall
from tests.oracles.pair_counts import pair_classes, score_and_strict, score_and_strict_of_many_items
from tests.strategies import dense_ranks, random_scores


def test_pairs_counted_by_hand():
    assert pair_classes([1, 1, 2, 2, 3], [1, 2, 2, 3, 3]) == (6, 0, 2, 2, 0)
    assert pair_classes([1, 2, float("nan"), 3], [3, 3, 1, 1]) == (0, 2, 0, 1, 0)
    assert pair_classes([True, False], [7, 7]) == (0, 0, 0, 1, 0)
    assert kendall([1, 1, 2, 2, 3], [1, 2, 2, 3, 3], "a") == 0.6
    assert distance([1, 1, 2], [1, 2, 2], tie_penalty=0.5) == 1.0


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["total", "tied", "constant"])
def test_sorted_insertion_counts_the_same_pairs(kind, missing):
    rng = np.random.default_rng(3)
    x, y = (dense_ranks(random_scores(rng, kind, 1, 40, missing=missing))[0].tolist() for _ in range(2))
    assert score_and_strict_of_many_items(x, y) == score_and_strict(x, y)
