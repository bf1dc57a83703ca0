"""Estimators just beyond what they take, and what they say of a fit that did not end."""

import re

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from torchrank.estimators import (
    AllPairsMajorityVote,
    KendallFeatures,
    KernelKMeans,
    KroneckerRLS,
    LandmarkFeatures,
    MallowsMixture,
    RankTree,
)


@pytest.mark.parametrize(("edge", "message"), [((0, 3), r"X\[1, 1\] is 3"), ((3, 0), r"X\[1, 0\] is 3")])
def test_the_number_after_the_last_node(edge, message):
    with pytest.raises(ValueError, match=message + "; nodes are numbered 0 to 2"):
        KroneckerRLS(nodes=np.eye(3)).fit([(0, 2), edge], [1.0, 2.0])


def test_predictions_of_many_edges_come_in_parts():
    rng = np.random.default_rng(0)
    nodes, edges = rng.normal(size=(30, 2)), rng.integers(0, 30, (60, 2))
    model = KroneckerRLS(nodes=nodes).fit(edges, rng.normal(size=60))
    many = np.tile(edges, (2**22 // 30 // 60 + 2, 1))  # more than a block
    np.testing.assert_allclose(
        model.predict(many).reshape(-1, 60), model.predict(edges)[None].repeat(len(many) // 60, 0)
    )


@pytest.mark.parametrize("max_iter", [1, 3])
def test_a_tree_says_by_how_much_its_loss_fell_last(max_iter):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.permuted(np.tile(np.arange(4.0), (60, 1)), axis=1)
    model = RankTree(3, max_iter=max_iter, tol=0.0, n_init=1, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    said = float(re.search(r"by (\S+), tol", str(caught[0].message)).group(1))
    expected = np.inf if max_iter == 1 else model.objective_[-2] - model.objective_[-1]
    assert (model.n_iter_, model.converged_) == (max_iter, False)
    assert said == pytest.approx(expected, rel=1e-2)


def rankings(m, n):
    rng = np.random.default_rng(n)
    return rng.permuted(np.tile(np.arange(float(n)), (m, 1)), axis=1)


@pytest.mark.parametrize(
    ("model", "methods"),
    [
        (KendallFeatures(), ("transform", "get_feature_names_out")),
        (LandmarkFeatures(n_landmarks=5, random_state=0), ("transform", "get_feature_names_out")),
        (MallowsMixture(2, random_state=0), ("predict", "predict_proba", "score_samples", "score", "bic")),
        (KernelKMeans(2, random_state=0), ("predict",)),
        (AllPairsMajorityVote(), ("predict", "decision_function")),
    ],
)
def test_methods_before_a_fit_and_with_other_items(model, methods):
    for name in methods:
        with pytest.raises(NotFittedError):
            getattr(clone(model), name)(rankings(6, 4))
    fitted = clone(model).fit(rankings(12, 4), np.arange(12) % 2)
    for name in methods:
        if name == "get_feature_names_out":
            continue
        with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 4 features"):
            getattr(fitted, name)(rankings(6, 5))
        assert fitted.n_features_in_ == 4


def test_rankings_of_labels_of_too_many_dimensions_are_named():
    with pytest.raises(ValueError, match=r"Y has shape \(6, 2, 2\); expected \(N, L\)"):
        RankTree(2).fit(np.zeros((6, 2)), np.zeros((6, 2, 2)))
