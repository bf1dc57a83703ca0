"""Heat maps and silhouettes: the numbers that were drawn, so that fonts and versions make no difference."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from scipy.cluster import hierarchy

import torchrank
from torchrank.metrics import silhouette_samples
from torchrank.plots import plot_gram, plot_silhouette

ALL = np.array(list(permutations([1.0, 2, 3, 4])))
LABELS = (ALL[:, 0] > 2).astype(int)


def y_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("kind", ["numpy", "float32", "gradient"])
def test_a_gram_matrix_is_shown_in_cluster_order(kind):
    K = torchrank.kendall_gram(ALL)
    given = {"numpy": K, "float32": torch.as_tensor(K).float(), "gradient": torch.as_tensor(K).requires_grad_()}[kind]
    ax = plot_gram(given, LABELS)
    order = np.argsort(LABELS, kind="stable")
    np.testing.assert_allclose(ax.images[0].get_array(), K[np.ix_(order, order)], atol=1e-6)
    assert y_names(ax) == ["cluster 0", "cluster 1"]
    assert [line.get_ydata()[0] for line in ax.lines if line.get_clip_on()][::2] == [11.5]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_tensors_of_a_gpu_are_drawn():
    K = torch.eye(3, device="cuda")
    assert plot_gram(K, torch.tensor([0, 1, 1], device="cuda")).images[0].get_array().shape == (3, 3)


def test_the_scale_is_that_of_values_off_the_diagonal():
    K = torchrank.kendall_gram(ALL)
    off = K[~np.eye(24, dtype=bool)]
    widest = max(-off.min(), off.max())
    assert plot_gram(K).images[0].get_clim() == (-widest, widest)  # 0 in the middle
    assert plot_gram(K).images[0].get_cmap()(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.05)
    positive = plot_gram(np.exp(K)).images[0]
    assert positive.get_clim() == (np.exp(off).min(), np.exp(off).max())
    assert plot_gram(np.eye(3)).images[0].get_clim() == (0, 1)  # where these are all alike, of all
    assert plot_gram(np.ones((1, 1))).images[0].get_clim() == (0.5, 1.5)
    assert plot_gram(np.full((2, 2), np.nan)).images[0].get_clim() == (0, 1)


def test_many_rankings_are_shown_as_means_of_blocks():
    m = 2302  # blocks of 3, the last of fewer
    K = np.random.default_rng(0).normal(size=(m, m))
    K[0, 5] = np.nan
    image = plot_gram(K).images[0]
    cells = image.get_array()
    assert cells.shape == (768, 768)
    assert cells.mask[0, 1]
    np.testing.assert_allclose(cells[3, 4], K[9:12, 12:15].mean())
    np.testing.assert_allclose(cells[-1, -1], K[-1, -1])
    assert image.get_extent() == [-0.5, 2303.5, 2303.5, -0.5]


def test_labels_may_be_names_and_those_of_tiny_clusters_move_apart():
    assert y_names(plot_gram(np.eye(3), ["b", "a", "b"])) == ["a", "b"]
    assert y_names(plot_gram(np.eye(3), [7, 2, 7])) == ["cluster 2", "cluster 7"]
    ax = plot_gram(np.eye(200), np.r_[np.zeros(196), 1, 2, 3, 4])
    assert y_names(ax) == [f"cluster {number}" for number in range(5)]
    places = ax.yaxis.get_ticklocs()
    np.testing.assert_allclose(np.diff(places)[1:], 0.035 * 200)
    assert -0.5 <= places.min() < places.max() <= 199.5
    leading = [line for line in ax.lines if not line.get_clip_on()]
    middles = [97.5, *range(196, 200)]
    np.testing.assert_allclose([line.get_ydata() for line in leading], np.column_stack([middles, places]))


def test_of_more_clusters_than_there_is_room_for_the_largest_have_names():
    names = y_names(plot_gram(np.eye(200), np.r_[np.arange(100), np.arange(40, 60).repeat(5)]))
    assert {f"cluster {number}" for number in range(40, 60)} < set(names)
    assert len(names) == 29


def test_long_names_of_clusters_below_are_turned():
    for names, rotation in ((["a", "b"], 0), (["much too long for a half", "also too long for a half"], 90)):
        ax = plot_gram(np.eye(6), np.repeat(names, 3), names=list("abcdef"))
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {rotation}


def test_rows_have_names_and_the_order_of_a_dendrogram():
    rng = np.random.default_rng(0)
    K = torchrank.kendall_gram(rng.normal(size=(14, 6)))
    labels, names = np.arange(14) % 2, [f"sample {number}" for number in range(14)]
    ax = plot_gram(K, labels, names=names, order="leaves", rows="samples")
    expected = []
    for label in range(2):
        own = np.flatnonzero(labels == label)
        distances = np.sqrt(2 - 2 * K[np.ix_(own, own)])[np.triu_indices(len(own), 1)]
        joins = hierarchy.linkage(distances, "average")
        expected += own[hierarchy.leaves_list(hierarchy.optimal_leaf_ordering(joins, distances))].tolist()
    np.testing.assert_allclose(ax.images[0].get_array(), K[np.ix_(expected, expected)])
    assert y_names(ax) == [names[row] for row in expected]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["cluster 0", "cluster 1"]
    assert ax.get_xlabel() == "14 samples, by cluster"
    above = next(child for child in ax.child_axes if not child.axison)
    segments = above.collections[0].get_segments()
    assert len(segments) == 12  # joins of two times seven rows
    heights = [corners[1, 1] for corners in segments]
    bottom, top = above.get_ylim()
    assert max(heights) < top
    assert min(heights) - bottom == pytest.approx((max(heights) - min(heights)) / 3)  # differences fill the picture
    assert min(corners[:, 0].min() for corners in segments) == 0
    assert max(corners[:, 0].max() for corners in segments) == 13


def test_equal_rows_and_single_ones_have_a_place_in_a_dendrogram():
    ax = plot_gram(np.ones((4, 4)), ["a", "b", "b", "b"], order="leaves")
    assert y_names(ax) == ["a", "b"]
    ax = plot_gram(np.diag([1.0, 2, 3]), order="leaves")
    assert sorted(np.diag(ax.images[0].get_array())) == [1, 2, 3]


def test_data_frames_bring_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3), index=list("xyz"), columns=list("xyz"))
    assert y_names(plot_gram(frame)) == ["x", "y", "z"]
    assert plot_gram(frame).get_xlabel() == "3 rankings"


def bars(collection):
    """Total height of the bars of every width, of one cluster, and whether wider ones are above."""
    corners = collection.get_paths()[0].vertices
    widths = np.unique(corners[corners[:, 0] != 0, 0])
    spans = [corners[corners[:, 0] == width, 1] for width in widths]
    sorted_down = all(wide.max() <= narrow.min() for narrow, wide in pairwise(spans))
    return dict(zip(widths.round(9), np.array([np.ptp(span) for span in spans]).round(9), strict=True)), sorted_down


def test_silhouettes_are_sorted_within_clusters_and_their_mean_is_drawn():
    widths = silhouette_samples(torchrank.kendall_distance(ALL), LABELS).round(9)
    ax = plot_silhouette(widths, LABELS)
    assert len(ax.collections) == 2
    for label, collection in enumerate(ax.collections):
        own = widths[np.equal(LABELS, label)]
        assert bars(collection) == (dict(zip(*np.unique(own, return_counts=True), strict=True)), True)
    np.testing.assert_allclose(ax.lines[1].get_xdata(), widths.mean())
    assert y_names(ax) == ["cluster 0 (12)", "cluster 1 (12)"]


def test_weights_are_the_heights_of_bars():
    ax = plot_silhouette([0.25, 0.5, 0.75], ["a", "a", "b"], weights=torch.tensor([1, 3, 4]))
    assert bars(ax.collections[0]) == ({0.25: 1, 0.5: 3}, True)
    np.testing.assert_allclose(ax.lines[1].get_xdata(), (3 * 0.5 + 0.25 + 4 * 0.75) / 8)
    assert y_names(ax) == ["a (4)", "b (4)"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_gram(np.ones((2, 3))), ValueError, r"K has shape \(2, 3\)"),
        (lambda: plot_gram(np.ones((0, 0))), ValueError, r"K has shape \(0, 0\)"),
        (lambda: plot_gram([["a"]]), TypeError, "K has dtype"),
        (lambda: plot_gram(torch.ones(2, 2, dtype=torch.complex64)), TypeError, "expected real numbers"),
        (lambda: plot_gram(np.eye(3), [0, 1]), ValueError, r"labels has shape \(2,\)"),
        (lambda: plot_gram(np.eye(2), names=["a"]), ValueError, "names has 1 names; K has 2 rows"),
        (lambda: plot_gram(np.eye(2), names="ab"), TypeError, "names='ab' is one name"),
        (lambda: plot_gram(np.eye(2), order="best"), ValueError, "order='best' is unknown"),
        (lambda: plot_gram(np.full((2, 2), np.nan), order="leaves"), ValueError, "no place in a dendrogram"),
        (lambda: plot_gram(np.triu(np.ones((3, 3))), order="leaves"), ValueError, "K is not symmetric"),
        (lambda: plot_gram(np.eye(2), [0, np.nan]), ValueError, "labels has NaN for row 1"),
        (lambda: plot_silhouette([[0.1]], [0]), ValueError, "expected 1 dimension"),
        (lambda: plot_silhouette([], []), ValueError, "nothing to draw"),
        (lambda: plot_silhouette([0.1, np.nan], [0, 1]), ValueError, "widths has NaN for row 1"),
        (lambda: plot_silhouette([0.1, 0.2], [0, 1], weights=[1]), ValueError, "expected one weight for each of 2"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_distances_are_refused_and_tests_of_association_taken():
    X = np.random.default_rng(0).random((8, 10))
    for distances in (torchrank.kendall_distance(X), 1 - torchrank.kendall_gram(X)):
        np.fill_diagonal(distances, 0)
        with pytest.raises(ValueError, match="as distances have"):
            plot_gram(distances)
    found = torchrank.kendall_test(X)
    drawn, same = (plot_gram(K).images[0].get_array() for K in (found, found.statistic))
    np.testing.assert_array_equal(drawn, same)
    plot_gram(torchrank.kendall_gram(np.ones((3, 4))))  # rows that tie all: all of it is 0


def test_the_scale_says_what_was_drawn():
    X = np.random.default_rng(0).normal(size=(5, 8))
    for given, label in ((torchrank.kendall_gram(X), "kernel"), (torchrank.kendall_test(X), "Kendall's tau")):
        figure = plot_gram(given).figure
        assert label in [ax.get_ylabel() for ax in figure.axes] + [ax.get_ylabel() for ax in figure.axes[0].child_axes]
