"""What every estimator promises, whatever it learns."""

import pickle
import warnings

import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

import torchrank.estimators
from tests.estimators.cases import CASES, OUTPUTS, edges, labels, outputs, rankings
from torchrank import EMSettings
from torchrank.estimators import MMPL, KernelKMeans, KroneckerRLS

pytestmark = pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def fitted(case):
    return clone(case.estimator).fit(*case.data())


def assert_same(one, other):
    assert one.keys() == other.keys() != set()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def named(X):
    return pd.DataFrame(X, columns=[f"gene{i}" for i in range(X.shape[1])])


def shuffled(case):
    X, y = case.data()
    order = np.random.default_rng(0).permutation(len(X))
    return case.rows(X, order), y[order]


def test_no_estimator_is_left_out():
    assert {case.name for case in CASES} == set(torchrank.estimators.__all__)


@every_case
def test_fits_repeat(case):
    X, y = case.data()
    model = fitted(case)
    first = outputs(model, X)
    assert_same(outputs(model.fit(X, y), X), first)
    assert_same(outputs(fitted(case), X), first)


@every_case
def test_pickles(case):
    X, _ = case.data()
    model = fitted(case)
    assert_same(outputs(pickle.loads(pickle.dumps(model)), X), outputs(model, X))
    unfitted = pickle.loads(pickle.dumps(case.estimator))
    for name in OUTPUTS:
        if hasattr(unfitted, name):
            with pytest.raises(NotFittedError):
                getattr(unfitted, name)(X)


@every_case
def test_leaves_its_inputs_alone(case):
    X, y = case.data()
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    outputs(clone(case.estimator).fit(X, y), X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@every_case
def test_keeps_and_checks_the_names_of_columns(case):
    X, y = case.data()
    table = named(X)
    model = clone(case.estimator).fit(table, y)
    assert model.feature_names_in_.tolist() == list(table.columns)
    method = next(getattr(model, name) for name in OUTPUTS if hasattr(model, name))
    assert_same(outputs(model, table), outputs(fitted(case), X))
    for wrong in (table[table.columns[::-1]], table.rename(columns={"gene0": "other"})):
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            method(wrong)
    with pytest.warns(UserWarning, match=f"X does not have valid feature names, but {case.name} was fitted with"):
        method(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    with pytest.raises(ValueError, match=f"X has 1 features, but {case.name} is expecting {X.shape[1]} features"):
        method(X[:, :1])


@every_case
def test_in_pipelines(case):
    X, y = case.data()
    table = named(X)
    model = make_pipeline(case.first_step(), clone(case.estimator)).set_output(transform="pandas").fit(table, y)
    assert model[-1].feature_names_in_.tolist() == list(table.columns)
    prepared = model[:-1].transform(table)
    alone = outputs(clone(case.estimator).fit(prepared, y), prepared)
    assert_same(outputs(model[-1], prepared), alone)
    through = outputs(model, table)  # scikit-learn's pipelines have no methods of others' own
    assert_same(through, {name: alone[name] for name in through})


@pytest.mark.filterwarnings("ignore:.*clusters stay empty")
@every_case
def test_in_searches(case):
    X, y = shuffled(case)
    model, grid = case.searched()
    search = GridSearchCV(model, grid, cv=2, scoring=case.scoring, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    for name, value in search.best_params_.items():
        used = best.get_params()[name]
        assert used == value or used == pytest.approx(value, rel=1e-15)  # kernels keep logarithms
    assert_same(outputs(clone(model).set_params(**search.best_params_).fit(X, y), X), outputs(best, X))


@pytest.mark.slow
def test_in_searches_on_two_processes():
    for case in CASES:
        X, y = shuffled(case)
        model, grid = case.searched()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*clusters stay empty")
            one, two = (GridSearchCV(model, grid, cv=2, scoring=case.scoring, n_jobs=n).fit(X, y) for n in (1, 2))
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
        assert_same(outputs(one.best_estimator_, X), outputs(two.best_estimator_, X))


@every_case
def test_interrupted_fits_change_nothing(case):
    X, y = case.data()
    model = fitted(case)
    before, said = dict(vars(model)), outputs(model, X)
    kind, backwards = type(model), np.arange(len(X))[::-1]
    for stop in [name for name in before if name.endswith("_")]:

        def interrupted(self, name, value, stop=stop):
            object.__setattr__(self, name, value)
            if name == stop:
                raise KeyboardInterrupt

        model.__class__ = type(kind.__name__, (kind,), {"__setattr__": interrupted})
        with pytest.raises(KeyboardInterrupt):
            model.fit(case.rows(X, backwards), y[backwards])
        model.__class__ = kind
        assert_unchanged(model, before)
    assert_same(outputs(model, X), said)


def test_ctrl_c_at_a_progress_bar(monkeypatch):
    def ctrl_c(self, n=1):
        raise KeyboardInterrupt

    X, _ = rankings()
    model = KernelKMeans(verbose=True, random_state=0)
    monkeypatch.setattr(tqdm, "update", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict(X)


SILENT = {
    *("GramNormalizer", "KMeansRank", "KendallFeatures", "LandmarkFeatures", "NaiveKMeans", "OneRank"),
    "PlackettLuceRegression",
}


@every_case
def test_makes_no_bar_unasked(case, monkeypatch):
    def made(*args, **settings):
        raise AssertionError("even a bar that is disabled takes tqdm's lock between processes")

    monkeypatch.setattr(tqdm, "__new__", made)
    X, y = case.data()
    outputs(clone(case.estimator).fit(X, y), X)


@every_case
def test_shows_progress_when_asked_for(case, capfd):
    X, y = case.data()
    quiet = outputs(clone(case.estimator).fit(X, y), X)
    assert capfd.readouterr().err == ""
    if "verbose" not in case.estimator.get_params():
        assert case.name in SILENT
        return
    asked = outputs(clone(case.estimator).set_params(verbose=True).fit(X, y), X)
    assert ("it/s" in (shown := capfd.readouterr().err) or "%|" in shown) == case.shows_progress
    assert_same(asked, quiet)


def test_what_the_bars_count(capfd):
    X, _ = rankings()
    KernelKMeans(n_init=7, verbose=True, random_state=0).fit(X)
    last = capfd.readouterr().err.split("\r")[-1]
    assert all(words in last for words in ("k-means: 100%", "7/7", "start", "iteration=", "objective="))
    edge_rows, y = edges()
    model = KroneckerRLS(kernel="rbf", verbose=True, max_iter=9, tol=1e-3).fit(edge_rows, y)
    last = capfd.readouterr().err.split("\r")[-1]
    assert all(words in last for words in ("alpha=1:", f"{model.n_iter_}/9", "residual="))
    X, Y = labels()
    settings = EMSettings(n_updates=300, n_init=2)  # 5 passes over 60 rows
    MMPL(2, 3, settings=settings, verbose=True, random_state=0).fit(X, Y)
    last = capfd.readouterr().err.split("\r")[-1]
    assert all(words in last for words in ("MM-PL: 100%", "10/10", "pass", "log_likelihood=-"))


@every_case
def test_takes_tensors_and_lists(case):
    X, y = case.data()
    expected = outputs(fitted(case), X)
    assert_same(outputs(clone(case.estimator).fit(torch.from_numpy(X), y), torch.from_numpy(X)), expected)
    assert_same(outputs(clone(case.estimator).fit(X.tolist(), y.tolist()), X.tolist()), expected)


@every_case
def test_bad_input_is_named(case):
    X, y = case.data()
    words = X.astype(object)
    words[2, 1] = "soup"
    unfinished = X.copy()
    unfinished[3, 1] = np.inf
    for bad, message in (
        (words, "could not convert string" if case.square else "X has 'soup' at row 2, column 1; expected numbers"),
        (X[0], "Expected 2D array, got 1D array instead"),
        (unfinished, "X contains infinity"),
        (np.where(np.isinf(unfinished), np.nan, X), "Input X contains NaN|X has NaN .* at row 3, item 1; ."),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X * 1j, "Complex data not supported"),
    ):
        for model in (clone(case.estimator), fitted(case)):
            before = dict(vars(model))
            with pytest.raises(ValueError, match=message):
                model.fit(bad, y[: len(bad)])
            assert_unchanged(model, before)
        if not isinstance(model, SelectorMixin):  # scikit-learn lets those cut columns of any kind
            with pytest.raises(ValueError, match=message):
                next(getattr(model, name) for name in OUTPUTS if hasattr(model, name))(bad)
    if case.needs_target:
        with pytest.raises(
            ValueError, match=f"{case.name}( estimator)? requires y to be passed, but the target y is None"
        ):
            clone(case.estimator).fit(X, None)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            clone(case.estimator).fit(X, y[:-1])
