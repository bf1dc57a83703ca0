"""Data sets of rankings go into estimators as they are: with names of items, weights and classes."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from sklearn.base import clone

from tests.estimators.cases import CASES, classes, labels, outputs, rankings
from torchrank import KendallKernel, SparseRankings, estimators, rank
from torchrank.datasets import RankingData

ITEMS = tuple("abcde")
WEIGHTS = np.arange(30.0) % 4
SETTINGS = {"n_init": 2, "random_state": 0}
CLUSTERERS = [
    estimators.KernelKMeans(2, **SETTINGS),
    estimators.RankingKMeans(2, **SETTINGS),
    estimators.MallowsMixture(2, **SETTINGS),
    estimators.KernelMallowsMixture(2, **SETTINGS),
    estimators.KernelGaussianMixture(2, **SETTINGS),
]
MIXTURES = CLUSTERERS[2:]
CLASSIFIERS = [
    estimators.TopScoringPairs(2),
    estimators.AllPairsMajorityVote(),
    estimators.KernelFisherDiscriminant(),
    estimators.KernelFisherDiscriminant(kernel=KendallKernel()),
]
RANKERS = [case.estimator for case in CASES if case.data is labels]


def by_name(models):
    return pytest.mark.parametrize("model", models, ids=lambda model: type(model).__name__)


def votes(weights=WEIGHTS):
    return RankingData(rankings()[0], ITEMS, np.ones(30) if weights is None else weights)


def samples(weights=None):
    X, y = classes()
    names = tuple(f"gene{i}" for i in range(6))
    numbers = (y == "yes").astype(int)
    weights = np.ones(24) if weights is None else weights
    return RankingData(X, names, weights, classes=numbers, class_names=("no", "yes"))


def people():
    X, Y = labels()
    return RankingData(Y, tuple("wxyz"), np.ones(60), features=X, feature_names=("age", "income", "size"))


def frame(data):
    return pd.DataFrame(data.scores, columns=list(data.items))


def other_order(data):
    return replace(data, scores=data.scores[:, ::-1], items=data.items[::-1])


def assert_same(one, other):
    assert one.keys() == other.keys() != set()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


@by_name(CLUSTERERS)
def test_clusters_of_a_data_set_count_its_weights(model):
    data = votes()
    expected = clone(model).fit(frame(data), sample_weight=WEIGHTS)
    for given in (data, rank(data)):
        found = clone(model).fit(given)
        np.testing.assert_array_equal(found.objective_, expected.objective_)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
    found = clone(model).fit(data)
    assert found.feature_names_in_.tolist() == list(ITEMS)
    assert_same(outputs(found, data), outputs(expected, frame(data)))
    assert_same(outputs(found, frame(data)), outputs(expected, frame(data)))
    unweighted = clone(model).fit(frame(data))
    assert unweighted.objective_[-1] != expected.objective_[-1]
    for given, weights in ((data, np.ones(30)), (votes(None), None)):  # what is said counts
        np.testing.assert_array_equal(clone(model).fit(given, None, weights).objective_, unweighted.objective_)


@by_name(MIXTURES)
def test_scores_and_criteria_count_weights(model):
    data, X = votes(), rankings()[0]
    found = clone(model).fit(data.scores)
    for name in ("score", "bic", "aic", "criterion"):
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            value = getattr(found, name)(data)
        assert value == getattr(found, name)(X, sample_weight=WEIGHTS) != getattr(found, name)(X)


@by_name([*CLUSTERERS, *CLASSIFIERS])
def test_items_in_another_order_are_refused(model):
    data = samples() if model in CLASSIFIERS else votes()
    for given in (data, frame(data)):
        found = clone(model).fit(given, samples().classes if model in CLASSIFIERS else None)
        for wrong in (other_order(data), replace(data, items=(*data.items[1:], "other"))):
            with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
                found.predict(wrong)
    found = clone(model).fit(data)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found.predict(data.scores)


@by_name(CLASSIFIERS)
def test_classes_of_a_data_set(model):
    data, (X, y) = samples(), classes()
    expected, found = clone(model).fit(X, y), clone(model).fit(data)
    assert found.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found.decision_function(data), expected.decision_function(X))
    assert clone(model).fit(replace(data, class_names=())).classes_.tolist() == [0, 1]
    other = np.where(y == "no", "yes", "no")  # what is said counts
    np.testing.assert_array_equal(clone(model).fit(data, other).predict(data), clone(model).fit(X, other).predict(X))
    weights = np.where(found.predict(data) == y, 1.0, 3.0) * (1 + np.arange(24))
    assert found.score(data) == expected.score(X, y)
    assert found.score(samples(weights)) == expected.score(X, y, weights)
    assert found.score(data, y, weights) == expected.score(X, y, weights)
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(model).fit(replace(data, classes=None))


def test_classes_where_some_are_wrong():
    data = samples(1.0 + np.arange(24))
    model = estimators.TopScoringPairs().fit(data.scores[:6], data.classes[:6])
    right = model.predict(data.scores) == data.classes
    assert 0 < right.sum() < 24
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        assert model.score(replace(data, class_names=())) == pytest.approx(data.weights[right].sum() / 300, rel=1e-14)


@by_name([*CLASSIFIERS, estimators.TSPSelector(2), estimators.KendallFeatures()])
def test_weights_are_refused_where_they_would_be_lost(model):
    weights = np.ones(24)
    weights[3] = 2
    with pytest.raises(ValueError, match=rf"row 3 has weight 2; {type(model).__name__} .*data\.expanded\(\)"):
        clone(model).fit(samples(weights))
    data = samples(weights)
    whole = clone(model).fit(data.expanded(), np.repeat(data.classes, weights.astype(int)))
    assert outputs(whole, data.scores).keys() == outputs(clone(model).fit(samples()), samples()).keys()


@by_name(
    [estimators.TSPSelector(2), estimators.KendallFeatures(), estimators.LandmarkFeatures(None, 8, random_state=0)]
)
def test_features_of_a_data_set(model):
    data, (_, y) = samples(), classes()
    found, expected = clone(model).fit(data), clone(model).fit(frame(data), y)
    np.testing.assert_array_equal(found.transform(data), expected.transform(frame(data)))
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    table = clone(model).set_output(transform="pandas").fit_transform(data)
    pd.testing.assert_frame_equal(table, clone(model).set_output(transform="pandas").fit_transform(frame(data), y))
    with pytest.raises(ValueError, match="The feature names should match"):
        found.transform(other_order(data))


@by_name(RANKERS)
def test_label_rankers_take_both_sides_of_a_data_set(model):
    data, (X, Y) = people(), labels()
    expected = clone(model).fit(X, Y)
    table = pd.DataFrame(X, columns=list(data.feature_names))
    for arguments in ((data,), (data, Y), (table, data), (X, data), (data, data)):
        found = clone(model).fit(*arguments)
        assert_same(outputs(found, arguments[0]), outputs(expected, X))
        assert found.score(*arguments) == expected.score(X, Y)
    found = clone(model).fit(data)
    assert found.feature_names_in_.tolist() == ["age", "income", "size"]
    assert found.label_names_in_.tolist() == list("wxyz")
    with pytest.raises(ValueError, match="Y has the labels z, y, x, w"):
        found.score(data, other_order(data))
    with pytest.raises(ValueError, match="The feature names should match"):
        found.predict(replace(data, feature_names=("income", "age", "size")))
    with pytest.raises(ValueError, match="X is a data set without features"):
        clone(model).fit(replace(data, features=None, feature_names=()))
    heavy = replace(data, weights=2 * data.weights)
    for arguments in ((heavy,), (X, heavy), (heavy, Y)):
        with pytest.raises(ValueError, match=r"row 0 has weight 2"):
            clone(model).fit(*arguments)
        with pytest.raises(ValueError, match=r"row 0 has weight 2"):
            expected.score(*(replace(part, feature_names=()) if part is heavy else part for part in arguments))


def test_worths_of_the_items_of_a_data_set():
    rng = np.random.default_rng(0)
    X, scores = rng.normal(size=(5, 2)), rng.normal(size=(30, 5))
    data = RankingData(scores, ITEMS, 1.0 + WEIGHTS)
    expected = estimators.PlackettLuceRegression().fit(X, scores.T, 1.0 + WEIGHTS)
    features = pd.DataFrame(X, index=list(ITEMS), columns=["size", "price"])
    for given in (X, features):
        found = estimators.PlackettLuceRegression().fit(given, data)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        assert found.score(given, replace(data, weights=np.ones(30))) == expected.score(X, scores.T)
        with pytest.raises(ValueError, match="row 0 has weight 2"):
            found.score(given, replace(data, weights=np.full(30, 2.0)))
    unweighted = estimators.PlackettLuceRegression().fit(X, scores.T)
    assert (found.coef_ != unweighted.coef_).all()
    np.testing.assert_array_equal(found.fit(X, data, np.ones(30)).coef_, unweighted.coef_)
    with pytest.raises(ValueError, match=r"in another order .* pass X\.loc"):
        found.fit(features[::-1], data)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 4 items"):
        found.fit(X[:4], data)


def test_sparse_data_sets_are_made_dense():
    scores = rankings()[0]
    scores[::3, 1] = np.nan
    rows, items = np.nonzero(~np.isnan(scores))
    sparse = SparseRankings.from_triples(rows, items, scores[rows, items], shape=scores.shape)
    model = estimators.RankingKMeans(2, missing="pairwise", **SETTINGS)
    expected = clone(model).fit(scores, sample_weight=WEIGHTS)
    found = clone(model).fit(RankingData(sparse, ITEMS, WEIGHTS))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.objective_, expected.objective_)
    X, Y = labels()
    known = np.nonzero(~np.isnan(Y))
    held = SparseRankings.from_triples(*known, Y[known], shape=Y.shape)
    ranker = estimators.OneRank().fit(X, RankingData(held, tuple("wxyz"), np.ones(60)))
    np.testing.assert_array_equal(ranker.central_rankings_, estimators.OneRank().fit(X, Y).central_rankings_)


def test_integers_beyond_floats_stay_apart():
    scores = 2**60 + rankings()[0].astype(np.int64)
    expected = estimators.RankingKMeans(2, **SETTINGS).fit(scores - 2**60)
    found = estimators.RankingKMeans(2, **SETTINGS).fit(RankingData(scores, ITEMS, np.ones(30)))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


def test_unranked_items_of_a_data_set_are_named():
    scores = rankings()[0]
    scores[4, 2] = np.nan
    with pytest.raises(ValueError, match=r"X has NaN \(an unranked item\) at row 4, item 2"):
        estimators.RankingKMeans(2).fit(RankingData(scores, ITEMS, WEIGHTS))


@pytest.mark.parametrize(
    "model",
    [
        estimators.KernelKMeans(2, kernel="precomputed"),
        estimators.KernelFisherDiscriminant(kernel="precomputed"),
        estimators.KernelFisherDiscriminant(kernel="rbf"),
        estimators.GramNormalizer(),
        estimators.KroneckerRLS(),
        estimators.PlackettLuceRegression(),
    ],
)
def test_data_sets_are_refused_where_rows_are_no_rankings(model):
    with pytest.raises(TypeError, match=r"(X|K) is a data set of rankings; expected .*: pass "):
        model.fit(samples(), samples().classes)


def test_names_that_are_no_strings_are_not_kept():
    data = RankingData(rankings()[0], (0, 1, 2, 3, 4), np.ones(30))
    model = estimators.RankingKMeans(2, **SETTINGS).fit(votes())
    assert not hasattr(model.fit(data), "feature_names_in_")


@pytest.mark.parametrize("shape", [(30,), (3, 30)])
@by_name(CLUSTERERS)
def test_labels_to_start_from_may_be_names(model, shape):
    X, _ = rankings()
    numbers = np.random.default_rng(0).integers(0, 2, shape)
    words = np.array(["late", "soon"])[numbers]
    expected = clone(model).set_params(init=numbers).fit(X)
    for init in (words, words.tolist(), words.astype(object)):
        found = clone(model).set_params(init=init).fit(X)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.objective_, expected.objective_)
        assert found.init is init
    with pytest.raises(TypeError, match="init have strings and 1 among them"):
        clone(model).set_params(init=["late", 1] * 15).fit(X)
