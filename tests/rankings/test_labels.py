"""Labels of groups: integers or strings, the same result."""

import numpy as np
import pandas as pd
import pytest
import torch

from torchrank.conditional import conditional_rank_loss
from torchrank.metrics import (
    concordance_index,
    conditional_ranking_error,
    d_feat,
    d_knh,
    delta_rank,
    rand_index,
    silhouette_samples,
)
from torchrank.rankings.labels import as_labels

NUMBERS = np.array([2, 0, 1, 1, 0, 2, 2, 0])
NAMES = np.array(["u", "a", "b10"])[[2, 0, 1]][NUMBERS]  # names in the order of the numbers: a, b10, u
FORMS = [
    NAMES,
    NAMES.tolist(),
    NAMES.astype(object),
    pd.Series(NAMES),
    pd.Series(NAMES, dtype="category"),
    pd.Series(NAMES, dtype="string"),
]


@pytest.mark.parametrize("names", FORMS)
def test_strings_are_numbered_in_their_order(names: object) -> None:
    order = np.array(["u", "a", "b10"])[[2, 0, 1]]
    expected = np.unique(order, return_inverse=True)[1][NUMBERS]
    assert as_labels(names, "labels").tolist() == expected.tolist()


def test_where_labels_are_arguments() -> None:
    rng = np.random.default_rng(0)
    X, y, scores = rng.random((8, 2)), rng.random(8), rng.random(8)
    D = np.abs(X[:, :1] - X[:, 0])
    np.testing.assert_array_equal(silhouette_samples(D, NAMES), silhouette_samples(D, NUMBERS))
    others = [0, 0, 1, 1, 0, 0, 1, 1]
    assert rand_index(NAMES, others, adjusted=True) == rand_index(NUMBERS, others, adjusted=True)
    assert d_feat(X, NAMES) == pytest.approx(d_feat(X, NUMBERS), rel=1e-14)
    assert d_knh(X, NAMES, k=1) == pytest.approx(d_knh(X, NUMBERS, k=1), rel=1e-14)
    by_name, by_number = (conditional_ranking_error(y, scores, groups) for groups in (NAMES, NUMBERS))
    assert by_name.pooled == by_number.pooled
    assert concordance_index(y, scores, NAMES) == concordance_index(y, scores, NUMBERS)
    for kind in (np.asarray, torch.as_tensor):
        loss = conditional_rank_loss(kind(scores), kind(y), NAMES, normalization="pair")
        assert float(loss) == pytest.approx(float(conditional_rank_loss(kind(scores), kind(y), kind(NUMBERS))))


def test_what_is_neither() -> None:
    with pytest.raises(TypeError, match=r"labels have dtype torch\.float64; expected integers, or names as strings"):
        as_labels([0.0, 1.0], "labels")
    with pytest.raises(TypeError, match="labels have strings and 2 among them"):
        as_labels(["a", 2], "labels")
    with pytest.raises(TypeError, match=r"labels have dtype torch\.bool"):
        as_labels([True, False], "labels")
    with pytest.raises(TypeError, match="masked"):
        as_labels(np.ma.masked_array([1, 2], [True, False]), "labels")
    with pytest.raises(TypeError, match="labels are strings; expected integers"):  # they number the centers
        delta_rank([[1, 2], [2, 1]], ["a", "b"], [[1, 2], [2, 1]])
