"""Maps and permutohedra: coordinates against a decomposition by hand, corners and edges against permutations."""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy.spatial import ConvexHull

import torchrank
from tests.plots.reading import overlapping
from torchrank.plots import plot_losses, plot_map, plot_permutohedron
from torchrank.plots.maps import principal_points

ALL = np.array(list(permutations([1.0, 2, 3, 4])))
LABELS = (ALL[:, 0] > 2).astype(int)


def from_features(X, weights):
    """Principal components of the weighted features of the Kendall kernel, and their shares of the variance."""
    features = np.asarray(torchrank.kendall_features(X))
    p = weights / weights.sum()
    centered = features - p @ features
    values, directions = np.linalg.eigh(centered.T @ (p[:, None] * centered))
    return centered @ directions[:, :-3:-1], values[:-3:-1] / values.sum()


@pytest.mark.parametrize("m", [7, 501])  # all eigenvalues, or Lanczos iterations
def test_points_are_the_principal_components_of_the_weighted_features(m):
    rng = np.random.default_rng(m)
    X, weights = rng.normal(size=(m, 6)), rng.integers(0, 4, size=m).astype(float)
    points, share = principal_points(torchrank.kendall_gram(X), weights)
    expected, expected_share = from_features(X, weights)
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(share, expected_share, atol=1e-12)
    assert (points[np.abs(points).argmax(axis=0), [0, 1]] > 0).all()


def test_weighing_is_repeating():
    X = np.random.default_rng(1).normal(size=(5, 6))
    repeated = np.repeat(X, [1, 2, 3, 1, 2], axis=0)
    points, share = principal_points(torchrank.kendall_gram(X), np.array([1.0, 2, 3, 1, 2]))
    others, other_share = principal_points(torchrank.kendall_gram(repeated), np.ones(9))
    np.testing.assert_allclose(np.repeat(points, [1, 2, 3, 1, 2], axis=0), others, atol=1e-9)
    np.testing.assert_allclose(share, other_share)


def test_distances_are_no_kernel():
    with pytest.raises(ValueError, match="K has a diagonal of 0, as distances have"):
        plot_map(torchrank.kendall_distance(ALL))


def test_equal_rankings_lie_in_one_point():
    points, share = principal_points(np.ones((600, 600)), np.ones(600))
    assert (points == 0).all()
    assert (share == 0).all()


def test_neighbours_are_joined():
    X = np.array(list(permutations([1.0, 2, 3])))
    ax = plot_map(torchrank.kendall_gram(X), neighbors=torchrank.kendall_distance(X) == 1)
    assert len(ax.lines) == 6  # the hexagon of rankings of three items


def test_a_map_shows_clusters_and_weights():
    K, weights = torchrank.kendall_gram(ALL), np.arange(24.0)
    ax = plot_map(K, LABELS, weights=weights)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cluster 0", "cluster 1"]
    for label, points in enumerate(ax.collections):
        np.testing.assert_allclose(points.get_sizes() / 300, weights[np.equal(LABELS, label)] / 23)
    assert len({tuple(points.get_facecolor()[0]) for points in ax.collections}) == 2
    assert len({points.get_paths()[0].vertices.tobytes() for points in ax.collections}) == 2  # markers


def test_names_do_not_cover_each_other():
    ax = plot_map(torchrank.kendall_gram(ALL), names=[f"ranking {number}" for number in range(24)])
    assert 5 <= len(ax.texts) <= 24
    assert not overlapping(ax.texts)


def test_the_largest_points_are_named_and_names_that_begin_alike_differ():
    weights = 1.0 + np.arange(24) % 12
    names = [f"Groupement d'intérêt économique {number}" for number in range(24)]
    ax = plot_map(torchrank.kendall_gram(ALL), weights=weights, names=names)
    written = [text.get_text() for text in ax.texts]
    assert len(set(written)) == len(written)
    ends = {text.rpartition(" ")[2] for text in written}
    assert {str(row) for row in np.flatnonzero(weights >= 9)} <= ends
    assert not overlapping(ax.texts)
    places = plot_map(torchrank.kendall_gram(ALL), weights=weights).collections[0].get_offsets()
    for text in ax.texts:
        np.testing.assert_allclose(text.xy, places[int(text.get_text().rpartition(" ")[2])])


@pytest.mark.parametrize("labels", [None, LABELS])
def test_the_frame_cuts_no_point(labels):
    ax = plot_map(torchrank.kendall_gram(ALL), labels, weights=1.0 + np.arange(24) % 2)
    ax.figure.canvas.draw()
    for points in ax.collections:
        radii = np.sqrt(points.get_sizes() / np.pi)[:, None] * ax.figure.dpi / 72
        places = ax.transData.transform(points.get_offsets())
        assert (places - radii > ax.bbox.get_points()[0]).all()
        assert (places + radii < ax.bbox.get_points()[1]).all()


@pytest.mark.parametrize(("width", "dpi"), [(6.3, 80), (3.3, 200)])
def test_no_line_to_a_name_crosses_another_name(width, dpi):
    figure, ax = plt.subplots(figsize=(width, 0.8 * width), dpi=dpi, layout="constrained")
    weights = 1.0 + np.arange(24) % 12
    names = [f"Groupement d'intérêt économique {number}" for number in range(24)]
    plot_map(torchrank.kendall_gram(ALL), weights=weights, names=names, ax=ax)
    figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    lines = [text for text in ax.texts if text.arrow_patch is not None]
    assert lines
    for text in lines:
        start = ax.transData.transform(text.xy)
        end = np.array([*Text.get_window_extent(text).get_points().mean(axis=0)])
        along = start + np.linspace(0, 1, 400)[:, None] * (end - start)
        for other, box in zip(ax.texts, boxes, strict=True):
            inside = ((along > box.p0) & (along < box.p1)).all(axis=1)
            assert other is text or not inside.any(), (text.get_text(), other.get_text())
        for points in ax.collections:
            if hasattr(points, "get_sizes") and len(points.get_sizes()):
                away = ax.transData.transform(points.get_offsets())
                others = away[np.abs(away - start).max(axis=1) > 1e-6]
                radius = np.sqrt(points.get_sizes().min() / np.pi) * dpi / 72
                outside = along[np.linalg.norm(along - start, axis=1) > radius]
                distances = np.linalg.norm(outside[:, None] - others, axis=-1)
                assert distances.min(initial=np.inf) > 0.5 * radius, text.get_text()


@pytest.mark.parametrize(("n", "edges"), [(3, 6), (4, 36)])
def test_corners_are_rankings_and_edges_exchange_neighbors(n, edges):
    X = np.array(list(permutations(np.arange(n, 0.0, -1))))
    ax = plot_permutohedron(X, items=list("ABCD"[:n]))
    assert len(ax.lines) == edges
    places = {text.get_text(): np.array(text.xy) for text in ax.texts}
    assert sorted(places) == sorted("".join(order) for order in permutations("ABCD"[:n]))
    joined = {frozenset(map(tuple, np.round(line.get_xydata(), 9))) for line in ax.lines}
    for word, place in places.items():
        for k in range(n - 1):
            other = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
            assert frozenset(tuple(np.round(p, 9)) for p in (place, places[other])) in joined
    shown = {tuple(np.round(point, 9)) for point in ax.collections[0].get_offsets()}
    assert shown == {tuple(np.round(place, 9)) for place in places.values()}


def test_the_back_of_the_solid_is_what_its_front_hides():
    ax = plot_permutohedron(ALL)
    texts = {text.get_text(): text for text in ax.texts}
    orders = list(permutations("0123"))
    corners = np.array([[order.index(item) + 1 for item in "0123"] for order in orders]) - 2.5
    texts = [texts["".join(order)] for order in orders]
    flat = np.array([text.xy for text in texts])
    right, up = np.linalg.lstsq(corners, flat, rcond=None)[0].T
    view = np.array([right, up, np.full(4, 0.5)])
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-9)
    outline = len(ConvexHull(flat).vertices)  # what is not on the outline is half in front and half behind
    hidden = np.array([text.get_color() != "black" for text in texts])
    assert hidden.sum() == (24 - outline) / 2
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == (36 - outline) / 2
    inside = np.delete(np.arange(24), ConvexHull(flat).vertices)
    depth = corners[inside] @ np.linalg.svd(view)[2][3]
    hidden = hidden[inside]
    assert max(depth[hidden]) < min(depth[~hidden]) or min(depth[hidden]) > max(depth[~hidden])


def test_ties_lie_in_the_middle_and_equal_rankings_add_up():
    X = pd.DataFrame([[1.0, 1, 1], [3, 2, 1], [3, 2, 1], [2, 2, 1]], columns=["x", "y", "z"])
    ax = plot_permutohedron(X, weights=[1, 2, 3, 4])
    places = {text.get_text(): np.array(text.xy) for text in ax.texts}
    points = dict(zip(ax.collections[0].get_sizes().round(6), ax.collections[0].get_offsets(), strict=True))
    np.testing.assert_allclose(points[300], places["xyz"])
    np.testing.assert_allclose(points[240], (places["xyz"] + places["yxz"]) / 2)
    np.testing.assert_allclose(points[60], [0, 0], atol=1e-12)
    assert ax.get_xlabel() == "largest point: 5 of 10 rankings"


def test_unranked_items_below_and_names_that_begin_alike():
    X = np.array([[2.0, 1, np.nan], [1, np.nan, np.nan]])
    ax = plot_permutohedron(X, ["p", "q"], missing="topk", items=["Soup", "Salad", "Bread"])
    places = {text.get_text(): np.array(text.xy) for text in ax.texts}
    np.testing.assert_allclose(ax.collections[0].get_offsets()[0], places["ABC"])
    np.testing.assert_allclose(ax.collections[1].get_offsets()[0], (places["ABC"] + places["ACB"]) / 2)
    assert ax.get_xlabel().startswith("A Soup, B Salad, C Bread\n")
    again = plot_permutohedron(torchrank.rank(X, "topk"), ["p", "q"])
    np.testing.assert_array_equal(again.collections[1].get_offsets(), ax.collections[1].get_offsets())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_map(np.ones((1, 1))), "at least two rankings"),
        (lambda: plot_map([[1, np.nan], [np.nan, 1]]), "K has nan at row 0, column 1"),
        (lambda: plot_map([[1, 0.5], [0.2, 1]]), "not symmetric"),
        (lambda: plot_map(np.eye(3), names=["a"]), "names has 1 names"),
        (lambda: plot_map(np.eye(3), weights=[1, 2]), "expected one weight for each of 3"),
        (lambda: plot_map(np.eye(3), neighbors=np.eye(2)), r"neighbors has shape \(2, 2\)"),
        (lambda: plot_permutohedron(np.ones((2, 5))), "X ranks 5 items"),
        (lambda: plot_permutohedron([[1, 2, np.nan]]), r"at row 0, item 2.*missing='topk'"),
        (lambda: plot_permutohedron(np.ones((0, 3))), "at least one is needed"),
        (lambda: plot_permutohedron(ALL, missing="pairwise"), "choose one of"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_names_that_begin_with_an_underscore_are_in_the_key():
    K = torchrank.kendall_gram(np.random.default_rng(0).normal(size=(6, 5)))
    ax = plot_map(K, ["_left", "right", "_left", "middle", "right", "_left"])
    assert {text.get_text().strip() for text in ax.get_legend().get_texts()} == {"_left", "right", "middle"}
    ax = plot_losses({"_a": [3.0, 2, 1], "b": [3.0, 1, 1]})
    assert {"_a", "b"} <= {text.get_text().strip() for text in ax.get_legend().get_texts()}
