import math

import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torchrank import EMSettings, pruned_rank_tree
from torchrank.datasets import circles
from torchrank.estimators import (
    MMPL,
    KMeansRank,
    NaiveKMeans,
    OneRank,
    RankClusteringTree,
    RankTree,
)
from torchrank.metrics import label_ranking_tau

NAN = math.nan
QUICK = EMSettings(n_updates=2000)
ESTIMATORS = [
    MMPL(2, 3, settings=QUICK, random_state=0),
    RankTree(2, random_state=0),
    RankTree(2, method="pruned"),
    OneRank(),
    KMeansRank(2, random_state=0),
    NaiveKMeans(2, random_state=0),
    RankClusteringTree(2, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_learns_predicts_and_scores(estimator):
    data = circles(600, missing=0.2, seed=0)
    model = clone(estimator).fit(data.X, data.Y)
    clusters, predicted = model.predict_cluster(data.X), model.predict(data.X)
    assert clusters.shape == (600,)
    np.testing.assert_array_equal(clusters, model.labels_)
    np.testing.assert_array_equal(predicted, model.central_rankings_[clusters])
    assert model.score(data.X, data.Y) == label_ranking_tau(data.Y, predicted) > 0.1
    assert model.converged_
    assert model.n_iter_ >= 1
    assert len(model.objective_) in (0, model.n_iter_)
    assert len(model.losses_) == estimator.get_params().get("n_init", 1) or estimator.get_params()["method"] == "pruned"
    assert model.reason_ in ("tolerance", "schedule", "closed form")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_integers_that_no_float_tells_apart_stay_apart(estimator):
    data = circles(200, seed=4)
    small = np.argsort(np.argsort(data.Y, axis=1), axis=1)
    large = small + 2**53
    expected, model = clone(estimator).fit(data.X, small), clone(estimator).fit(data.X, large)
    np.testing.assert_array_equal(model.central_rankings_, expected.central_rankings_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.score(data.X, large) == expected.score(data.X, small)


def test_module_and_evidence_of_the_mixture():
    data = circles(500, seed=1)
    model = MMPL(3, 8, settings=QUICK, prediction="mixture", random_state=0).fit(data.X, data.Y)
    X = torch.from_numpy(data.X)
    np.testing.assert_array_equal(model.predict(data.X), model.model_.predict(X, method="mixture").detach())
    assert model.converged_
    assert model.n_iter_ == len(model.objective_) == 4
    assert (len(model.losses_), model.reason_) == (1, "schedule")
    gates = model.predict_cluster_proba(data.X)
    assert gates.shape == (500, 3)
    np.testing.assert_array_equal(gates, model.model_(X).exp().detach())
    np.testing.assert_allclose(gates.sum(1), 1, rtol=1e-12)
    assert (gates.argmax(1) == model.predict_cluster(data.X)).mean() > 0.9
    settings = EMSettings(stop="likelihood", n_updates=500)  # one pass, and none before to be compared with
    with pytest.warns(ConvergenceWarning, match="MM-PL did not converge in 500 updates"):
        assert not MMPL(3, 8, settings=settings, random_state=1).fit(data.X, data.Y).converged_


def test_evidence_of_the_tree():
    data = circles(500, seed=1)
    model = RankTree(3, random_state=0).fit(data.X, data.Y)
    assert model.converged_
    assert model.n_iter_ == len(model.objective_) > 1
    assert min(model.losses_) == min(model.objective_)
    with pytest.warns(ConvergenceWarning, match="RankTree did not converge in 1 iterations"):
        RankTree(3, max_iter=1, random_state=0).fit(data.X, data.Y)
    pruned = RankTree(3, validation_fraction=0.3, random_state=0).fit(data.X, data.Y)
    assert pruned.model_.n_leaves < model.model_.n_leaves


def test_cap_of_the_pruned_tree():
    data = circles(300, seed=1)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    leaves = set()
    for cap in (0.1, 10.0):
        model = RankTree(100, method="pruned", max_lam=cap).fit(data.X, data.Y)
        expected = pruned_rank_tree(X, Y, 100, max_lam=cap)
        np.testing.assert_array_equal(model.model_.threshold, expected.threshold)
        leaves.add(expected.n_leaves)
    assert len(leaves) == 2
    with pytest.raises(ValueError, match="max_lam=0"):
        RankTree(3, method="pruned", max_lam=0).fit(data.X, data.Y)


def test_pipelines_and_searches():
    data = circles(300, seed=2)
    pipeline = make_pipeline(StandardScaler(), MMPL(3, settings=QUICK, random_state=0))
    search = GridSearchCV(pipeline, {"mmpl__n_prototypes": [1, 8]}, cv=3).fit(data.X, data.Y)
    assert search.best_params_ == {"mmpl__n_prototypes": 8}
    best = search.best_estimator_
    np.testing.assert_array_equal(best.predict(data.X), best[-1].predict(best[:-1].transform(data.X)))
    assert best.score(data.X, data.Y) == label_ranking_tau(data.Y, best.predict(data.X)) > 0.3


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_searches_need_no_scorer_where_labels_are_missing(estimator):
    data = circles(300, missing=0.4, seed=2)
    Y = data.Y.copy()
    Y[:5] = NAN  # rows that rank nothing
    assert cross_val_score(estimator, data.X, Y, cv=3, error_score="raise").mean() > 0.1


def test_names_of_labels():
    pd = pytest.importorskip("pandas")
    data = circles(60, seed=3)
    tracks = list("abcdef")
    X, Y = pd.DataFrame(data.X, columns=["age", "income"]), pd.DataFrame(data.Y, columns=tracks)
    model = OneRank().fit(X, Y)
    assert model.feature_names_in_.tolist() == ["age", "income"]
    assert model.label_names_in_.tolist() == tracks
    assert model.score(X, Y) == model.score(X, data.Y)
    for wrong in (Y[tracks[::-1]], Y.rename(columns={"a": "g"}), Y[tracks[:5]]):
        with pytest.raises(ValueError, match=r"expected those of fit in the same order: a, b, c, d, e, f\. Y\[model"):
            model.score(X, wrong)
    with pytest.raises(ValueError, match="Y has 5 labels, but OneRank is expecting 6 labels"):
        model.score(X, data.Y[:, :5])
    assert not hasattr(model.fit(X, Y.rename(columns=tracks.index)), "label_names_in_")


def test_bad_input():
    data = circles(50, seed=3)
    for Y, message in (
        (data.Y[:, :1], r"Y has shape \(50, 1\); expected \(N, L\): scores of at least two labels"),
        (data.classes, r"Y has shape \(50,\); expected \(N, L\)"),
        (data.Y[:-1], "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            OneRank().fit(data.X, Y)
    with pytest.raises(TypeError, match="Y is a masked array, whose mask would be lost"):
        OneRank().fit(data.X, np.ma.masked_equal(data.Y, 6))
    with pytest.raises(ValueError, match="contains NaN"):
        OneRank().fit(np.where(data.X > 2, NAN, data.X), data.Y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        OneRank().fit(data.X, None)
    with pytest.raises(ValueError, match="method='x'"):
        RankTree(method="x").fit(data.X, data.Y)
    with pytest.raises(ValueError, match=r"validation_fraction=1.0"):
        RankTree(validation_fraction=1.0).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="prediction='x'"):
        MMPL(2, prediction="x").fit(data.X, data.Y)
    with pytest.raises(ValueError, match=r"missing=\['topk'\]"):
        MMPL(2, missing=["topk"]).fit(data.X, data.Y)
    tied = data.Y.copy()
    tied[4, :2] = 3.5
    with pytest.raises(ValueError, match="Plackett-Luce has no ties: break them"):
        MMPL(2).fit(data.X, tied)
    RankTree(2, random_state=0).fit(data.X, tied)
