"""Names as they come: twenty letters with accents, forty of them, in a report's column and wider."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import torchrank
from tests.plots.reading import annotations, cut_off, overlapping, ticks_that_overlap
from torchrank import plots
from torchrank.plots.text import as_names, shortened

DISHES = (
    "Crème brûlée maison",
    "Soupe à l'oignon",
    "Bœuf bourguignon",
    "Gâteau à la crème",
    "Żurek z białą",
    "Smørrebrød med sild",
    "Jalapeño con queso",
    "Zürcher Geschnetz",
)
NAMES = [f"{DISHES[number % 8][:17]} {number}".ljust(20, "é") for number in range(40)]
RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(3, 40))
LABELS = np.repeat(range(3), 12)
X = CENTERS[LABELS] + 0.5 * RNG.normal(size=(36, 40))
TRUNCATED = np.where(np.sort(X, axis=1)[:, [28]] <= X, X, np.nan)
K = torchrank.kendall_gram(X)
WEIGHTS = RNG.integers(1, 30, size=36)
RESULTS = {
    "params": [{}] * 8,
    "param_svc__C": np.ma.array([0.1, 1, 10, 100] * 2),
    "param_svc__gamma": np.ma.array([0.01] * 4 + [0.1] * 4),
    "mean_test_score": np.linspace(0.5, 0.9, 8),
    "rank_test_score": np.arange(8, 0, -1),
    **{f"split{fold}_test_score": np.linspace(0.5, 0.9, 8) + 0.02 * fold - 0.02 for fold in range(3)},
}
PICTURES = {
    "permutohedron": lambda ax: plots.plot_permutohedron(X[:, :4], LABELS, items=NAMES[:4], ax=ax),
    "hexagon": lambda ax: plots.plot_permutohedron(X[:, :3], LABELS, items=NAMES[:3], ax=ax),
    "positions": lambda ax: plots.plot_positions(X, items=NAMES, ax=ax),
    "truncated": lambda ax: plots.plot_positions(TRUNCATED, items=NAMES, missing="topk", ax=ax),
    "few positions": lambda ax: plots.plot_positions(X[:, :10], items=NAMES[:10], ax=ax),
    "gram": lambda ax: plots.plot_gram(K, LABELS, ax=ax),
    "leaves": lambda ax: plots.plot_gram(K, LABELS, names=NAMES[:36], order="leaves", ax=ax),
    "silhouette": lambda ax: plots.plot_silhouette(np.linspace(-0.2, 0.9, 36), LABELS, ax=ax),
    "map": lambda ax: plots.plot_map(K, LABELS, weights=WEIGHTS, names=NAMES[:36], ax=ax),
    "parameters": lambda ax: plots.plot_parameters(
        {"Première grappe": CENTERS[0], "Zweite": CENTERS[1]}, names=NAMES, ax=ax
    ),
    "curves": lambda ax: plots.plot_curves([1, 10, 100], {name: RNG.random((3, 3)) for name in NAMES[:4]}, ax=ax),
    "search": lambda ax: plots.plot_search(RESULTS, "svc__C", ax=ax),
    "test": lambda ax: plots.plot_test(torchrank.kendall_test(X), names=NAMES[:36], ax=ax),
    "graph": lambda ax: plots.plot_graph(torchrank.kendall_neighbors(X, 3), LABELS, names=NAMES[:36], ax=ax),
    "average ranks": lambda ax: plots.plot_average_ranks(X, items=NAMES, ax=ax),
    "losses": lambda ax: plots.plot_losses({name: 1 / np.arange(1, 9) for name in NAMES[:3]}, log=True, ax=ax),
}
COVERED = {"map", "test", "graph", "permutohedron", "hexagon", "average ranks"}


def column(height=3.4):
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(3.4, height), layout="constrained")[1]


@pytest.mark.parametrize("where", ["own", "column"])
@pytest.mark.parametrize("name", PICTURES)
def test_texts_are_whole_and_apart(name, where):
    ax = PICTURES[name](None if where == "own" else column(5.0 if name == "average ranks" else 3.4))
    assert not cut_off(ax.figure)
    assert not ticks_that_overlap(ax)
    legend = ax.get_legend()
    assert not overlapping([*(legend.get_texts() if legend else []), ax.xaxis.label, ax.yaxis.label, ax.title])
    if name in COVERED:
        assert not overlapping(annotations(ax))


@pytest.mark.parametrize("name", ["permutohedron", "truncated", "leaves", "test"])
def test_the_same_at_another_resolution(name):
    ax = PICTURES[name](column())
    ax.figure.set_dpi(200)
    assert not cut_off(ax.figure)
    assert not ticks_that_overlap(ax)
    assert not overlapping(annotations(ax))


def test_all_corners_of_the_permutohedron_are_named_in_a_column():
    ax = PICTURES["permutohedron"](column())
    assert len({text.get_text() for text in annotations(ax)}) == 24
    assert all(name in ax.get_xlabel() for name in NAMES[:4])


def test_legends_are_below_narrow_axes_and_beside_wide_ones():
    for ax, beside in ((PICTURES["search"](column()), False), (PICTURES["search"](None), True)):
        ax.figure.canvas.draw()
        box = ax.get_legend().get_window_extent()
        assert (box.x0 >= ax.bbox.x1) == beside
        assert (box.y1 <= ax.bbox.y0) != beside
        assert ax.bbox.width > 0.45 * ax.figure.bbox.width


@pytest.mark.parametrize("layout", ["constrained", "tight"])
def test_a_key_of_many_long_names_leaves_room_to_the_axes(layout):
    figure, ax = plt.subplots(figsize=(3.3, 2.6), layout=layout)
    plots.plot_curves(np.arange(1, 10), {name: np.arange(9.0) for name in NAMES[:10]}, ax=ax)
    figure.canvas.draw()
    assert ax.get_position().height > 0.35
    assert len({text.get_text() for text in ax.get_legend().get_texts()}) == 10
    assert not cut_off(figure)


@pytest.mark.slow
def test_panels_of_truncated_rankings_are_whole():
    axes = plots.plot_cluster_positions(TRUNCATED, LABELS, items=NAMES, missing="topk")
    assert not cut_off(axes[0].figure)
    for ax in axes:
        assert not ticks_that_overlap(ax)
        assert len(ax.get_yticks()) == 40


def test_where_all_names_fit_none_is_left_out():
    ax = plots.plot_parameters(CENTERS[0], names=NAMES, ax=column(6.0))
    assert len(ax.get_yticks()) == 40
    ax = plots.plot_parameters(CENTERS[0], names=NAMES, ax=column(2.0))
    assert 5 <= len(ax.get_yticks()) < 40
    assert min(label.get_fontsize() for label in ax.get_yticklabels()) == 5


def test_dollar_signs_are_no_formulas():
    ax = plots.plot_parameters([1.0, 2.0], names=["from $5 to $9", "$x_1$"])
    assert [label.get_parse_math() for label in ax.get_yticklabels()] == [False, False]
    ax = plots.plot_curves([1, 2], {"$5 to $9": [1, 2], "_": [1, 2]})
    assert not ax.get_legend().get_texts()[0].get_parse_math()


def test_short_names_differ_as_long_as_the_names_do():
    assert shortened(["a" * 40, "b"]) == ("a" * 23 + "…", "b")
    ends = shortened([f"a very long name of a voter, {number}" for number in range(200)])
    assert len(set(ends)) == 200
    assert max(map(len, ends)) <= 24
    middles = shortened([f"{'x' * 40}{number}{'y' * 40}" for number in range(12)])
    assert len(set(middles)) == 12
    assert max(map(len, middles)) <= 24
    kept = "a" * 23 + "…"
    assert len(set(shortened([kept, "a" * 40, "a" * 41]))) == 3
    assert shortened([kept, "a" * 40])[0] == kept
    assert shortened(["same" * 10, "same" * 10]) == ("same" * 5 + "sam…",) * 2


@pytest.mark.parametrize("name", ["item", b"item"])
def test_one_name_is_not_a_list_of_letters(name):
    with pytest.raises(TypeError, match=r"items=.*'item' is one name; expected a list of names"):
        as_names(name, 4, "items", "X ranks {n} items")
