import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from sklearn.svm import SVC, LinearSVC

from torchrank import KendallKernel, kendall_features
from torchrank.estimators import KendallFeatures

VOTES = pd.DataFrame([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]], columns=["soup", "salad", "cake"])


@pytest.mark.parametrize("variant", ["a", "b"])
def test_the_features_of_the_function(variant):
    X = np.random.default_rng(0).normal(size=(4, 5))
    found = KendallFeatures(variant=variant).fit(X).transform(X)
    np.testing.assert_array_equal(found, kendall_features(X, variant=variant))


def test_names_say_who_is_preferred():
    model = KendallFeatures().set_output(transform="pandas").fit(VOTES)
    table = model.transform(VOTES)
    assert list(table.columns) == ["soup>salad", "soup>cake", "salad>cake"]
    assert np.sign(table).to_numpy().tolist() == [[1, 1, -1], [0, -1, -1]]
    unnamed = KendallFeatures().fit(VOTES.to_numpy())
    assert unnamed.get_feature_names_out().tolist() == ["x0>x1", "x0>x2", "x1>x2"]
    assert unnamed.get_feature_names_out(["a", "b", "c"]).tolist() == ["a>b", "a>c", "b>c"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(ValueError, match="input_features should have length equal to number of features"):
        unnamed.get_feature_names_out(["a"])


def test_a_linear_model_on_them_is_one_with_the_kernel():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    X[:, 0] += 3 * y
    features = KendallFeatures(variant="b").fit_transform(X)
    linear, kernel = SVC(kernel="linear").fit(features, y), SVC(kernel=KendallKernel()).fit(X, y)
    np.testing.assert_allclose(linear.decision_function(features), kernel.decision_function(X), atol=1e-9)
    weights = LinearSVC().fit(features, y).coef_[0]
    assert (weights[:5] > 0).all()  # item 0 over the others


def test_refuses():
    with pytest.raises(ValueError, match="variant='c'"):
        KendallFeatures(variant="c").fit_transform(VOTES)
    with pytest.raises(ValueError, match=r"1 feature\(s\) .* while a minimum of 2 is required"):
        KendallFeatures().fit(VOTES[["soup"]])
    with pytest.raises(ValueError, match=r"X has NaN .* at row 0, item 1"):
        KendallFeatures().fit(VOTES.where(VOTES > 1))
