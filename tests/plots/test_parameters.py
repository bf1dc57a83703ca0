"""Parameters of fits and their intervals, as they were drawn."""

from statistics import NormalDist

import numpy as np
import pytest
import torch

import torchrank
from torchrank.plots import plot_parameters

X = np.array([[4.0, 3, 2, 1], [4, 3, 1, 2], [3, 4, 2, 1], [1, 2, 3, 4], [2, 1, 4, 3], [4, 1, 3, 2]])
HALF = NormalDist().inv_cdf(0.975)


def y_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def points(ax):
    """Estimates in the order of the names, of one series."""
    (line,) = (line for line in ax.lines if line.get_marker() == "o")
    return line.get_xdata()


def intervals(ax, series=0):
    return np.array([segment[:, 0] for segment in ax.collections[series].get_segments()])


def test_arrays_are_sorted_and_have_normal_intervals():
    ax = plot_parameters([0.0, 2, 1], [0.1, 0.2, 0.3], names=list("abc"))
    assert y_names(ax) == ["b", "c", "a"]
    np.testing.assert_array_equal(points(ax), [2, 1, 0])
    half = HALF * np.array([0.2, 0.3, 0.1])
    np.testing.assert_allclose(intervals(ax), np.column_stack([points(ax) - half, points(ax) + half]))
    assert ax.get_xlabel() == "parameter, 95% intervals"
    assert plot_parameters([1.0, 2], label="weight").get_xlabel() == "weight"


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_plackett_luce_fits_bring_their_errors(kind):
    fit = torchrank.fit_plackett_luce(kind(X))
    ax = plot_parameters(fit, names=list("abcd"), level=0.5)
    order = np.argsort(-np.asarray(fit.logits))
    assert y_names(ax) == [list("abcd")[item] for item in order]
    np.testing.assert_allclose(points(ax), np.asarray(fit.logits)[order])
    half = NormalDist().inv_cdf(0.75) * np.asarray(fit.standard_errors)[order]
    np.testing.assert_allclose(np.ptp(intervals(ax), axis=1) / 2, half)
    assert ax.get_xlabel() == "log-worth, 50% intervals"


def test_concentrations_have_intervals_that_end_at_zero():
    weights = np.array([[1.0, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1]])
    fit = torchrank.fit_mallows(X, weights)
    ax = plot_parameters(fit)
    assert y_names(ax) == ["cluster 0", "cluster 1"]
    np.testing.assert_allclose(points(ax), fit.lam)
    low, high = fit.lam - HALF * fit.standard_error, fit.lam + HALF * fit.standard_error
    assert low.min() < 0
    np.testing.assert_allclose(intervals(ax), np.column_stack([low.clip(0), high]))
    assert ax.get_xlabel() == "concentration, 95% intervals"
    assert y_names(plot_parameters(torchrank.fit_mallows(X))) == ["cluster 0"]


def test_mixtures_and_their_estimators_are_taken_as_they_are():
    estimators = pytest.importorskip("torchrank.estimators")
    estimator = estimators.MallowsMixture(n_components=2, random_state=0).fit(X)
    for fitted in (estimator, estimator.model_):
        np.testing.assert_allclose(points(plot_parameters(fitted)), np.sort(estimator.lam_)[::-1])
    model = torchrank.MMPL(2, 4, 3)
    ax = plot_parameters(model, names=list("abcd"))
    logits = model.logits.detach().numpy()
    logits = logits - logits.mean(axis=1, keepdims=True)
    order = np.argsort(-logits.mean(axis=0), kind="stable")
    drawn = [line.get_xdata() for line in ax.lines]
    np.testing.assert_allclose(drawn, logits[:, order], atol=1e-6)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cluster 0", "cluster 1", "cluster 2"]


def test_several_fits_stand_side_by_side():
    fits = {"first": torchrank.fit_plackett_luce(X, prior=1), "second": torchrank.fit_plackett_luce(X[:3], prior=1)}
    ax = plot_parameters(fits)
    heights = [line.get_ydata() for line in ax.lines if line.get_marker() in "os"]
    assert (heights[0] < heights[1]).all()
    assert (np.abs(np.array(heights) - np.arange(4)) < 0.5).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]
    assert len(intervals(ax, 1)) == 4


def test_an_interval_that_would_hide_all_others_is_left_out():
    ax = plot_parameters([1.0, 2, 0, 3], [0.1, 1e10, 0.1, 5.0])
    low, high = ax.get_xlim()
    assert high - low < 50
    assert sum(line.get_markerfacecolor() == "white" for line in ax.lines if line.get_marker() == "o") == 1
    wide = plot_parameters([1.0, 2, 0], [1e10, 2e10, 1e10])  # where all are alike nothing is hidden
    assert wide.get_xlim()[1] > 1e10


def test_what_is_uncertain_without_bounds_is_hollow():
    ax = plot_parameters([1.0, 2, np.nan], [0.1, np.inf, 0.1])
    assert [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"].count("white") == 1
    assert y_names(ax) == ["1", "0", "2"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_parameters([1, 2], [1]), ValueError, "they must agree"),
        (lambda: plot_parameters([1, 2], [1, -1]), ValueError, "errors has -1"),
        (lambda: plot_parameters([1, 2], names=["a"]), ValueError, "names has 1 names"),
        (lambda: plot_parameters([1, 2], level=2), ValueError, "level=2"),
        (lambda: plot_parameters([]), ValueError, "nothing to draw"),
        (lambda: plot_parameters({}), ValueError, "empty mapping"),
        (lambda: plot_parameters({"a": [1], "b": [1, 2]}), ValueError, "b has 2 parameters, another 1"),
        (lambda: plot_parameters({"a": [1]}, {"b": [1]}), ValueError, r"errors has \['b'\]"),
        (
            lambda: plot_parameters(torchrank.fit_mallows(X), [1]),
            ValueError,
            "errors are for arrays",
        ),
        (lambda: plot_parameters(torchrank.KernelKMeans(2)), TypeError, "fit is a KernelKMeans"),
        (lambda: plot_parameters(["a"]), TypeError, "fit has dtype"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
