"""The one type of data sets."""

import pickle

import numpy as np
import pytest

from torchrank.datasets.data import RankingData

SCORES = np.array([[2.0, 1, 3], [np.nan, 2, 1]])
ITEMS = ("a", "b", "c")


def test_features_and_scores_are_also_x_and_y():
    features = np.array([[0.5], [1.5]])
    data = RankingData(SCORES, ITEMS, np.ones(2), features=features, feature_names=("age",), title="lunch")
    assert data.X is features
    assert data.Y is SCORES
    assert repr(data) == "RankingData('lunch': 2 rankings of 3 items, 1 feature)"
    assert not hasattr(RankingData(SCORES, ITEMS, np.ones(2)), "X")


def test_rows_are_repeated_as_often_as_they_were_observed():
    data = RankingData(SCORES, ITEMS, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(data.expanded(), SCORES[[0, 1, 1]])
    assert repr(data) == "RankingData(2 rankings of 3 items, total weight 3)"


def test_pickles():
    data = pickle.loads(pickle.dumps(RankingData(SCORES, ITEMS, np.ones(2), notes={"seed": 3})))
    np.testing.assert_array_equal(data.scores, SCORES)
    assert data.notes == {"seed": 3}


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"scores": SCORES[0]}, r"scores has shape \(3,\)"),
        ({"items": ("a", "b")}, "items has 2 names"),
        ({"weights": np.ones(3)}, "weights has 3 entries"),
        ({"rankers": ("ann",)}, "rankers has 1 entries"),
        ({"features": np.ones((3, 1))}, "features has 3 entries"),
        ({"features": np.ones(2)}, r"features has shape \(2,\)"),
        ({"classes": np.arange(3)}, "classes has 3 entries"),
        ({"feature_names": ("age",)}, "feature_names has 1 names"),
    ],
)
def test_parts_have_to_fit(about, message):
    with pytest.raises(ValueError, match=message):
        RankingData(**{"scores": SCORES, "items": ITEMS, "weights": np.ones(2)} | about)
