import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from sklearn.svm import SVC, LinearSVC

import torchrank.datasets
from torchrank import KendallKernel, MallowsKernel, kendall_features, mallows_gram
from torchrank.estimators import KendallFeatures, LandmarkFeatures

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


def test_landmarks_are_those_of_the_module():
    X = np.random.default_rng(2).normal(size=(30, 5))
    kernel = MallowsKernel(lam=0.3)
    found = LandmarkFeatures(kernel, 8, random_state=0).fit(X)
    module = torchrank.LandmarkFeatures(kernel, 8)
    module.load_state_dict(found.model_.state_dict())
    np.testing.assert_array_equal(found.transform(X), module(X))
    np.testing.assert_array_equal(found.landmarks_, module.landmarks)
    np.testing.assert_allclose(
        found.transform(X) @ found.transform(found.landmarks_).T, mallows_gram(X, found.landmarks_, lam=0.3), atol=1e-12
    )
    assert found.transform(X.astype(np.float32)).dtype == np.float32
    whole = (100 * X).astype(int)
    assert LandmarkFeatures(kernel, 8).fit(whole).transform(whole).dtype == np.float64
    far = whole + 2**60
    np.testing.assert_allclose(
        found.transform(far), found.transform(whole), atol=1e-6
    )  # in float32, as torch's integers


def test_features_of_landmarks_have_names():
    table = LandmarkFeatures(None, 2, random_state=0).set_output(transform="pandas").fit_transform(VOTES)
    assert list(table.columns) == ["landmarkfeatures0", "landmarkfeatures1"]
    np.testing.assert_allclose(table @ table.T, KendallKernel()(VOTES), atol=1e-12)


def test_landmarks_by_weight():
    X = np.random.default_rng(3).normal(size=(30, 5))
    weights = np.arange(30) % 3
    found = LandmarkFeatures(None, 6, random_state=1).fit(X, sample_weight=weights)
    repeated = LandmarkFeatures(None, 6, random_state=1).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(found.landmarks_, repeated.landmarks_)
    data = torchrank.datasets.RankingData(X, tuple("abcde"), weights=weights.astype(float))
    np.testing.assert_array_equal(LandmarkFeatures(None, 6, random_state=1).fit(data).landmarks_, found.landmarks_)


def test_a_linear_model_on_all_landmarks_is_one_with_the_kernel():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 8)), np.arange(40) % 2
    X[:, 0] += 2 * y
    kernel = MallowsKernel(lam=3.0, normalize=True)
    features = LandmarkFeatures(kernel, 40, random_state=0).fit_transform(X)
    linear, whole = SVC(kernel="linear").fit(features, y), SVC(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(linear.decision_function(features), whole.decision_function(kernel(X)), atol=1e-9)
