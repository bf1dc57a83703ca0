"""Position matrices, counted by hand."""

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank
from torchrank.datasets.tables import ranking_data
from torchrank.plots import plot_cluster_positions, plot_positions

THREE = np.array([[3.0, 2, 1], [3, 1, 2], [1, 3, 2]])


def shown(ax):
    return [label.get_text() for label in ax.get_yticklabels()], np.asarray(ax.images[0].get_array())


def test_positions_are_counted_by_hand():
    names, shares = shown(plot_positions(THREE, weights=[1, 1, 2], items=["a", "b", "c"]))
    assert names == ["b", "a", "c"]
    np.testing.assert_allclose(shares, [[0.5, 0.25, 0.25], [0.5, 0, 0.5], [0, 0.75, 0.25]])


def test_what_is_not_ranked_is_said_and_rows_add_up():
    X = np.array([[2.0, 1, np.nan, np.nan], [1, np.nan, np.nan, 2], [1, np.nan, np.nan, np.nan]])
    ax = plot_positions(X, weights=[1, 2, 1], missing="topk")
    names, shares = shown(ax)
    assert names == ["0", "3", "1", "2"]
    np.testing.assert_allclose(shares, [[0.5, 0.5], [0.5, 0], [0, 0.25], [0, 0]])  # nobody has a third position
    unranked = np.asarray(ax.images[1].get_array())
    np.testing.assert_allclose(unranked, [[0], [0.5], [0.75], [1]])
    np.testing.assert_allclose(shares.sum(axis=1) + unranked[:, 0], 1)
    assert [label.get_text() for label in ax.get_xticklabels(minor=True)] == ["not\nranked"]
    assert {"75", "100"} <= {text.get_text() for text in ax.texts}
    left, right = ax.images[1].get_extent()[:2]
    assert 1.5 < left < right
    assert len(plot_positions(THREE).images) == 1


def test_all_panels_have_the_column_of_what_is_not_ranked():
    X = np.array([[3.0, 2, 1], [1, np.nan, np.nan]])
    axes = plot_cluster_positions(X, [0, 1], missing="topk")
    assert [np.asarray(ax.images[1].get_array()).ravel().tolist() for ax in axes] == [[0, 0, 0], [0, 1, 1]]
    assert {ax.images[0].get_array().shape for ax in axes} == {(3, 3)}


@pytest.mark.slow
def test_what_unranked_items_mean_is_said_for_each_ranking_and_cut_by_cluster():
    X, words = np.array([[1.0, 2, np.nan], [3, 1, 2], [1, 2, np.nan]]), ["topk", "interleaving", "interleaving"]
    names, centers = ["a", "b", "c"], [torchrank.borda(X[[0, 2]], missing=["topk", "interleaving"]), X[1]]
    for given in ({"X": X, "missing": words}, {"X": torchrank.rank(X, words)}):
        axes = plot_cluster_positions(**given, labels=[0, 1, 0], items=names)
        expected = [[names[item] for item in np.argsort(-np.asarray(center), kind="stable")] for center in centers]
        assert [shown(ax)[0] for ax in axes] == expected
    order = shown(plot_positions(torchrank.rank(X[[0, 2]], "topk")))[0]
    assert order == shown(plot_positions(X[[0, 2]], missing="topk"))[0]
    with pytest.raises(ValueError, match="missing has 2 words"):
        plot_positions(X, missing=words[:2])
    with pytest.raises(ValueError, match=r"missing has shape \(1, 3\)"):
        plot_positions(X, missing=[words])


def test_tied_items_share_their_positions():
    shares = shown(plot_positions(np.array([[2.0, 2, 2, 1], [4, 3, 2, 1]])))[1]
    third = 1 / 6
    expected = [[third + 0.5, third, third, 0], [third, third + 0.5, third, 0], [third, third, third + 0.5, 0]]
    np.testing.assert_allclose(shares, [*expected, [0, 0, 0, 1]])


def test_names_come_from_frames_and_data_sets_and_long_ones_are_cut():
    frame = pd.DataFrame(THREE, columns=["x", "y", "z"])
    assert shown(plot_positions(frame))[0] == ["x", "y", "z"]
    data = ranking_data(frame, form="scores", weights=[1, 1, 2])
    names, shares = shown(plot_positions(data))
    assert names == ["y", "x", "z"]
    np.testing.assert_allclose(shares[0], [0.5, 0.25, 0.25])
    assert shown(plot_positions(data, items=["a" * 40, "b", "c"]))[0][1] == "a" * 23 + "…"


def test_a_center_orders_the_items():
    assert shown(plot_positions(THREE, center=torch.tensor([1, 2, 3])))[0] == ["2", "1", "0"]


def test_panels_show_clusters_in_one_scale():
    rng = np.random.default_rng(0)
    X, labels, weights = rng.normal(size=(20, 4)), rng.integers(3, size=20), rng.integers(1, 4, size=20)
    axes = plot_cluster_positions(torch.as_tensor(X), torch.as_tensor(labels), weights=weights, items=list("abcd"))
    assert axes.shape == (3,)
    for label, ax in enumerate(axes):
        own = labels == label
        names, shares = shown(plot_positions(X[own], weights=weights[own], items=list("abcd")))
        assert shown(ax)[0] == names
        np.testing.assert_allclose(shown(ax)[1], shares)
        assert ax.get_title() == f"cluster {label}:\n{weights[own].sum() / weights.sum():.0%} of rankings"
    assert len({ax.images[0].get_clim() for ax in axes}) == 1


def test_panels_go_into_given_axes_with_given_centers():
    from matplotlib import pyplot

    given = pyplot.subplots(2, 2)[1]
    clusters = torchrank.RankingKMeans(2)
    labels = clusters.fit(THREE).labels
    axes = plot_cluster_positions(THREE, labels, centers=clusters.centers, axes=given)
    assert list(axes) == list(given.ravel()[:2])
    for ax, center in zip(axes, np.asarray(clusters.centers), strict=True):
        assert shown(ax)[0] == [str(item) for item in np.argsort(-center, kind="stable")]


def test_many_clusters_come_in_even_rows():
    axes = plot_cluster_positions(np.tile(THREE, (4, 1)), np.arange(12))
    assert axes.shape == (12,)
    shape = axes[0].get_subplotspec().get_gridspec().get_geometry()
    assert shape == (3, 4)
    assert all(axes[0].figure.get_size_inches() < 20)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_positions(THREE, items=["a"]), "items has 1 names"),
        (lambda: plot_positions(THREE, center=[1, 2]), "center has 2 scores, 0 of them NaN"),
        (lambda: plot_positions(THREE, center=[1, 2, np.nan]), "1 of them NaN"),
        (lambda: plot_positions([[1, np.nan]]), 'missing="interleaving"'),
        (lambda: plot_positions(np.ones((0, 3))), "at least one is needed"),
        (lambda: plot_positions(np.ones((1, 1, 3))), "expected one matrix"),
        (lambda: plot_cluster_positions(THREE, [0, 0, 1], centers=THREE), "centers has 3 rows"),
        (lambda: plot_cluster_positions(THREE, [0, 0, 1], axes=[None]), "axes has 1 axes"),
        (lambda: plot_cluster_positions(THREE, [0, 0, 1], weights=[1, 1, 0]), "leave out the rankings"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
