"""What pictures show: the numbers that were drawn, not pixels, so that fonts and versions make no difference."""

from itertools import permutations

import numpy as np
import pytest
import torch

import torchrank
from torchrank.metrics import silhouette_samples
from torchrank.plots import plot_curves, plot_gram, plot_map, plot_parameters, plot_positions, plot_silhouette

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ALL = np.array(list(permutations([1.0, 2, 3, 4])))
LABELS = (ALL[:, 0] > 2).astype(int)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_axes_are_used_and_returned():
    ax = plt.subplots()[1]
    assert plot_gram(np.eye(3), ax=ax) is ax
    assert plot_gram(np.eye(3)) is not ax


def test_a_gram_matrix_is_shown_in_cluster_order():
    K = torchrank.kendall_gram(ALL)
    image = plot_gram(torch.as_tensor(K), LABELS).images[0]
    order = np.argsort(LABELS, kind="stable")
    np.testing.assert_array_equal(image.get_array(), K[np.ix_(order, order)])
    assert image.get_clim() == (-1, 1)


def test_silhouettes_are_sorted_within_clusters_and_their_mean_is_drawn():
    widths = silhouette_samples(torchrank.kendall_distance(ALL), LABELS)
    ax = plot_silhouette(widths, LABELS)
    lengths = np.array([bar.get_width() for bar in ax.patches])
    np.testing.assert_allclose(lengths[:12], np.sort(widths[LABELS == 0])[::-1])
    np.testing.assert_allclose(lengths[12:], np.sort(widths[LABELS == 1])[::-1])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), widths.mean())


def test_a_map_keeps_the_distances_of_two_dimensional_kernels():
    X = np.array(list(permutations([1.0, 2, 3])))
    K = torchrank.kendall_gram(X)
    ax = plot_map(K, neighbours=torchrank.kendall_distance(X) == 1)
    points = ax.collections[0].get_offsets()
    squared = K.diagonal()[:, None] + K.diagonal() - 2 * K
    drawn = ((points[:, None] - points[None]) ** 2).sum(-1)
    assert (drawn <= squared + 1e-12).all()  # a projection
    assert len(ax.lines) == 6  # the hexagon of rankings of three items


def test_a_map_shows_clusters_weights_and_names():
    K = torchrank.kendall_gram(ALL)
    ax = plot_map(K, LABELS, weights=np.arange(24.0), names=list(range(24)))
    assert [len(points.get_offsets()) for points in ax.collections] == [12, 12]
    assert len(ax.texts) == 24
    assert len({tuple(points.get_facecolor()[0]) for points in ax.collections}) == 2


def test_positions_are_counted_by_hand():
    X = np.array([[3.0, 2, 1], [3, 1, 2], [1, 3, 2]])
    ax = plot_positions(X, weights=[1, 1, 2], items=["a", "b", "c"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a", "c"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.5, 0.25, 0.25], [0.5, 0, 0.5], [0, 0.75, 0.25]])


def test_unranked_items_have_no_position():
    ax = plot_positions(np.array([[2.0, 1, np.nan]]), variant="topk")
    np.testing.assert_array_equal(ax.images[0].get_array(), [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_parameters_are_sorted_and_have_normal_intervals():
    ax = plot_parameters([0.0, 2, 1], [0.1, 0.2, 0.3], names="abc")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "c", "a"]
    bars = [np.ptp(segment[:, 0]) / 2 for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(bars, np.array([0.2, 0.3, 0.1]) * 1.959964, rtol=1e-6)


def test_curves_have_bands_and_a_logarithmic_axis():
    ax = plot_curves([1, 10, 100], {"one": [0.5, 0.6, 0.7], "two": [0.5, 0.5, 0.5]}, {"one": [0.1, 0.1, 0.1]})
    assert ax.get_xscale() == "log"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.6, 0.7])
    assert len(ax.collections) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_gram(np.ones((2, 3))), r"K has shape \(2, 3\); expected a square matrix"),
        (lambda: plot_gram(np.eye(3), [0, 1]), r"labels has shape \(2,\); expected \(3,\)"),
        (lambda: plot_silhouette([[0.1]], [0]), "expected 1 dimension"),
        (lambda: plot_map(np.eye(2)), "at least three rankings"),
        (lambda: plot_map(np.eye(3), names=["a"]), "names 1; they must agree"),
        (lambda: plot_map(np.eye(3), weights=[1, 2]), "weights 2"),
        (lambda: plot_positions(ALL, items=["a"]), "items has 1 names; X ranks 4"),
        (lambda: plot_parameters([1, 2], [1]), "they must agree"),
        (lambda: plot_parameters([1, 2], level=2), "level=2 is out of range"),
        (lambda: plot_curves([1, 2], {"one": [1]}), "has 1 values; x has 2"),
        (lambda: plot_curves([1], {"one": [1]}, {"two": [1]}), r"errors has \['two'\]"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
