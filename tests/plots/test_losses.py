"""Objectives of fits, as they were drawn."""

import numpy as np
import pytest
import torch

import torchrank
from torchrank.plots import plot_losses

EVIDENCE = torchrank.Evidence(
    objective=(9.0, 3.0, 2.0, 1.5), losses=(1.5,), n_iter=4, converged=True, reason="tolerance"
)
CUT = torchrank.Evidence(objective=(9.0, 5.0), losses=(5.0,), n_iter=2, converged=False, reason="max_iter")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_objectives_are_drawn_by_iteration_and_their_ends_marked():
    ax = plot_losses({"whole": EVIDENCE, "cut": CUT, "loop": torch.tensor([4.0, 2.0], requires_grad=True)})
    curves = [line for line in ax.lines if line.get_marker() == "None"]
    np.testing.assert_array_equal(curves[0].get_xdata(), [1, 2, 3, 4])
    np.testing.assert_array_equal(curves[0].get_ydata(), EVIDENCE.objective)
    np.testing.assert_array_equal(curves[2].get_ydata(), [4, 2])
    ends = {(line.get_marker(), line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line not in curves}
    assert ends == {("o", 4, 1.5), ("x", 2, 5.0)}
    assert legend(ax) == ["whole", "cut", "loop", "did not converge", "converged"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "objective")


def test_one_fit_has_a_legend_where_it_did_not_converge():
    assert plot_losses(EVIDENCE).get_legend() is None
    assert legend(plot_losses(CUT)) == ["did not converge"]


def test_fits_and_their_estimators_are_taken_as_they_are():
    X = np.random.default_rng(0).normal(size=(12, 4))
    fit = torchrank.KernelKMeans(2).fit(X, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(plot_losses(fit).lines[0].get_ydata(), fit.objective)
    estimators = pytest.importorskip("torchrank.estimators")
    estimator = estimators.KernelKMeans(n_clusters=2, random_state=0).fit(X)
    np.testing.assert_allclose(plot_losses(estimator, ylabel="loss").lines[0].get_ydata(), estimator.objective_)


def test_distances_from_the_last_value_on_a_logarithmic_axis():
    ax = plot_losses(EVIDENCE, log=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [7.5, 1.5, 0.5])
    assert ax.get_yscale() == "log"
    assert np.isnan(plot_losses([1.0, 1.0, 2.0, 1.0], log=True).lines[0].get_ydata()[:2]).all()
    assert len(plot_losses([1.0], log=True).lines[0].get_xdata()) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_losses({}), ValueError, "fits is empty"),
        (lambda: plot_losses([]), ValueError, "nothing to draw"),
        (lambda: plot_losses(np.ones((2, 2))), ValueError, "expected 1 dimension"),
        (lambda: plot_losses({"a": torchrank.Evidence.closed_form(1.0)}), ValueError, r"fits\['a'\] has no iterations"),
        (lambda: plot_losses(torchrank.KernelKMeans(2)), TypeError, "fits is a KernelKMeans without objective_"),
        (lambda: plot_losses(["a"]), TypeError, "fits has dtype"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_single_value_is_a_point():
    for values in ([0.7], [np.nan, 0.7]):
        assert plot_losses(values).lines[0].get_marker() == "."
    assert plot_losses([2.0, 0.7]).lines[0].get_marker() == "None"
