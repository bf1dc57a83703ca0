"""Curves, bands and searches, as they were drawn."""

import numpy as np
import pytest
import torch

import torchrank
from torchrank.plots import plot_curves, plot_search

BAND = "± 1 standard error"


def band(ax, number=0):
    """Lower and upper end of a band at every setting."""
    corners = ax.collections[number].get_paths()[0].vertices
    settings = np.unique(corners[:, 0])
    return np.array([[corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max()] for x in settings])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curves_have_bands_and_a_logarithmic_axis():
    ax = plot_curves([1, 10, 100], {"one": [0.5, 0.6, 0.7], "two": [0.5, 0.5, 0.5]}, {"one": [0.1, 0.1, 0.1]})
    assert ax.get_xscale() == "log"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.6, 0.7])
    assert len(ax.collections) == 1
    np.testing.assert_allclose(band(ax), [[0.4, 0.6], [0.5, 0.7], [0.6, 0.8]])
    assert legend(ax) == ["one", "two", BAND]
    assert plot_curves([1, 2], {"": [1, 2]}).get_legend() is None


def test_repetitions_give_means_and_standard_errors():
    values = torch.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
    ax = plot_curves([2, 1], {"": values}, log=False)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [4, 2])
    np.testing.assert_allclose(band(ax), [[2, 6], [1, 3]])


def test_twelve_lines_differ():
    ax = plot_curves([1, 2], {str(number): [number, number] for number in range(12)}, log=False)
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 12


def test_a_search_over_two_settings():
    selection, svm = pytest.importorskip("sklearn.model_selection"), pytest.importorskip("sklearn.svm")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    grid = {"kernel__window": [0.1, 1.0, 10.0], "C": [0.1, 10.0]}
    model = svm.SVC(kernel=torchrank.SmoothedKendallKernel())
    search = selection.GridSearchCV(model, grid, cv=3).fit(X, y)
    results = search.cv_results_
    splits = np.array([results[f"split{fold}_test_score"] for fold in range(3)])
    for given in (search, results):
        ax = plot_search(given, "kernel__window")
        assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "window")
        assert legend(ax) == ["C=0.1", "C=10.0", "chosen", BAND]
        for line, C in zip(ax.lines, (0.1, 10.0), strict=False):
            own = results["param_C"] == C
            np.testing.assert_array_equal(line.get_xdata(), [0.1, 1, 10])
            np.testing.assert_allclose(line.get_ydata(), results["mean_test_score"][own])
        own = results["param_C"] == 0.1
        spread = splits[:, own].std(axis=0, ddof=1) / np.sqrt(3)
        mean = splits[:, own].mean(axis=0)
        np.testing.assert_allclose(band(ax), np.column_stack([mean - spread, mean + spread]))
        assert ax.lines[-1].get_marker() == "*"
        assert ax.lines[-1].get_xdata()[0] == search.best_params_["kernel__window"]
        np.testing.assert_allclose(ax.lines[-1].get_ydata(), search.best_score_)
    with pytest.raises(ValueError, match=r"search varied C, kernel__window.*param="):
        plot_search(search)
    with pytest.raises(ValueError, match="param='gamma' is none of them"):
        plot_search(search, "gamma")
    with pytest.raises(ValueError, match="metric='f1'"):
        plot_search(search, "C", metric="f1")
    with pytest.raises(ValueError, match="is a SVC without cv_results_"):
        plot_search(model)


def test_words_and_settings_that_belong_to_one_grid_only():
    selection, svm = pytest.importorskip("sklearn.model_selection"), pytest.importorskip("sklearn.svm")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    grids = [{"kernel": ["linear"]}, {"kernel": ["rbf", "sigmoid"], "gamma": [1.0, 2.0]}]
    search = selection.GridSearchCV(svm.SVC(), grids, cv=2).fit(X, y)
    ax = plot_search(search, "kernel", ylabel="accuracy")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["linear", "rbf", "sigmoid"]
    assert (ax.get_xscale(), ax.get_ylabel()) == ("linear", "accuracy")
    assert legend(ax) == ["without gamma", "gamma=1.0", "gamma=2.0", "chosen", BAND]
    ax = plot_search(search, "gamma")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2])
    assert len(ax.lines) == 3


def test_steps_are_named_where_settings_are_told_apart_by_them():
    results = {"params": [{}, {}], "mean_test_score": [0.5, 0.6], "rank_test_score": [2, 1]}
    values = np.ma.array([1.0, 10.0])
    ax = plot_search(results | {"param_svc__C": values, "param_knn__k": values}, "svc__C")
    assert (ax.get_xlabel(), legend(ax)) == ("C", ["k=1.0", "k=10.0", "chosen"])
    ax = plot_search(results | {"param_svc__C": values, "param_linear__C": values}, "svc__C")
    assert (ax.get_xlabel(), legend(ax)) == ("svc__C", ["linear__C=1.0", "linear__C=10.0", "chosen"])


def test_conditional_ranking_by_regularization():
    estimators = pytest.importorskip("torchrank.estimators")
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(6, 2))
    pairs = np.array([np.r_[a, b] for a in nodes for b in nodes])
    model = estimators.KroneckerRLSCV((0.1, 1.0, 10.0), n_start_features=2).fit(pairs, rng.normal(size=36))
    ax = plot_search(model)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.cv_errors_)
    assert ax.lines[1].get_xdata()[0] == model.alpha_
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "mean squared error")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_curves([1, 2], {"one": [1]}), "has 1 values"),
        (lambda: plot_curves([1], {"one": [1]}, {"two": [1]}), r"errors has \['two'\]"),
        (lambda: plot_curves([1, 2], {"one": [1, 2]}, {"one": [1]}), r"errors\['one'\] has 1 values"),
        (lambda: plot_curves([1], {}), "curves is empty"),
        (lambda: plot_curves([], {"one": []}), "nothing to draw"),
        (lambda: plot_curves([0, 1], {"one": [1, 2]}), "x has 0, which has no place on a logarithmic axis"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_curves_have_names():
    with pytest.raises(TypeError, match="curves is list"):
        plot_curves([1, 2], [0.5, 0.7])
