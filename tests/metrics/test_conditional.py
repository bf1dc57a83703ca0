import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.conditional import ranking_error
from torchrank.metrics import concordance_index, conditional_ranking_error
from torchrank.metrics.conditional import _inversions

edges = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3), st.integers(-3, 3)), max_size=40)


@settings(deadline=None)
@given(edges)
def test_counts_pairs_as_the_definition_does(rows):
    groups, labels, scores = ([float(row[k]) for row in rows] for k in (1, 1, 2))
    groups = [row[0] for row in rows]
    count, pairs, by_group = ranking_error(labels, scores, groups)
    result = conditional_ranking_error(np.array(labels), np.array(scores), np.array(groups, dtype=np.int64))
    assert (result.count, result.pairs) == (count, pairs)
    assert isinstance(result.by_node, np.ndarray)
    assert len(result.by_node) == max(groups, default=-1) + 1
    expected = [by_group[g][0] / by_group[g][1] if g in by_group else math.nan for g in range(len(result.by_node))]
    np.testing.assert_allclose(result.by_node, expected, rtol=1e-15)
    if pairs:
        assert result.pooled == count / pairs
        assert result.per_node == pytest.approx(np.nanmean(expected), rel=1e-14)
        assert concordance_index(labels, scores, groups) == 1 - count / pairs
    else:
        assert math.isnan(result.pooled)
        assert math.isnan(result.per_node)


@pytest.mark.parametrize("q", [0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 100, 129])
def test_inversions_value_by_value(q):
    for seed in range(5):
        p = torch.randperm(q, generator=torch.Generator().manual_seed(seed))
        expected = [int((p[: int((p == v).nonzero())] > v).sum()) for v in range(q)]
        assert _inversions(p).tolist() == expected


def test_large_inputs_are_counted_exactly():
    q = 100_000
    assert conditional_ranking_error(torch.arange(q), -torch.arange(q)).count == q * (q - 1) // 2
    alternating = conditional_ranking_error(torch.arange(q), torch.arange(q) % 2)
    assert alternating.count == (q // 2) * (q // 2 - 1) // 2 + 2 * (q // 2) * (q // 2 - 1) / 2 / 2


def test_rows_of_a_matrix_are_queries_and_nan_labels_are_left_out():
    labels = [[1.0, 2, math.nan], [3, 3, 3], [2, 1, 0]]
    scores = [[0.5, 0.5, math.nan], [1, 2, 3], [0, 1, 1]]
    result = conditional_ranking_error(torch.tensor(labels), torch.tensor(scores))
    assert (result.count, result.pairs) == (0.5 + 2.5, 4)
    torch.testing.assert_close(result.by_node, torch.tensor([0.5, math.nan, 2.5 / 3]).double(), equal_nan=True)
    assert result.per_node == pytest.approx((0.5 + 2.5 / 3) / 2)


def test_concordance_of_a_matrix_compares_all_edges():
    labels, scores = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0, 2], [0, 3]])
    assert conditional_ranking_error(labels, scores).count == 0
    assert concordance_index(labels, scores) == 1 - 2 / 6
    assert concordance_index(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [0, 3]])) == 1 - 2 / 6
    assert math.isnan(concordance_index([1, 1], [1, 2]))


def test_infinite_scores_and_integer_labels_beyond_doubles():
    big = 2**53
    assert conditional_ranking_error(torch.tensor([big, big + 1]), torch.tensor([math.inf, -math.inf])).count == 1
    assert conditional_ranking_error([0.0, -0.0], [1, 2]).pairs == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], [1, 2, 3]), ValueError, r"labels have shape \(2,\) and scores \(3,\)"),
        (([[[1]]], [[[1]]]), ValueError, r"labels have shape \(1, 1, 1\)"),
        (([1, 2], [math.nan, 1]), ValueError, "scores have NaN at edge 0"),
        (([1, math.nan], [1, 1]), ValueError, "labels have NaN at edge 1"),
        (([1, 2], [1, 2], [0, -1]), ValueError, r"groups\[1\] is -1"),
        (([1, 2], [1, 2], [0]), ValueError, r"groups have shape \(1,\)"),
        (([1, 2], [1, 2], [0.0, 1]), TypeError, "groups have dtype torch.float64"),
        (([1, 2j], [1, 2]), TypeError, "labels has dtype complex128"),
        (([[1, 2]], [[1, 2]], [0]), ValueError, "groups belong to a vector"),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        conditional_ranking_error(*arguments)
