"""Average ranks: the critical difference of Demsar's table, ranks and bars by hand."""

import numpy as np
import pytest

import torchrank
from torchrank.plots import plot_average_ranks
from torchrank.plots.average_ranks import alike, critical_difference

X = np.array([[4.0, 3, 2, 1], [4, 2, 3, 1], [3, 4, 2, 1], [4, 3, 1, 2]])


def lines(ax, width):
    return [line.get_xdata() for line in ax.lines if line.get_linewidth() == width]


@pytest.mark.parametrize(("n", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_table(n, q):
    # Table 5 of Demsar (2006), Nemenyi's test at 0.05.
    assert critical_difference(n, 14, 0.05) == pytest.approx(q * np.sqrt(n * (n + 1) / (6 * 14)), rel=3e-4)


def test_bars_join_the_largest_groups_within_the_difference():
    assert alike(np.array([1.0, 1.5, 2.0, 4.0]), 1.0) == [(0, 1), (1, 2)]
    assert alike(np.array([1.0, 1.5, 1.75, 2.25]), 1.0) == [(0, 2), (1, 3)]
    assert alike(np.array([1.0, 2.0, 3.0]), 1.0) == []  # as far apart as that is a difference
    assert alike(np.array([1.0, 1.0, 1.0]), 0.5) == [(0, 2)]


def test_ranks_weights_and_names_are_drawn():
    weights = [1, 2, 1, 1]
    ax = plot_average_ranks(X, weights=weights, items=["a", "b", "c", "d"])
    means = np.array(weights) @ (5 - X) / 5
    order = np.argsort(means)
    words = [f"{'abcd'[item]} {means[item]:.2f}" for item in order[:2]]
    words += [f"{means[item]:.2f} {'abcd'[item]}" for item in order[2:]]
    assert [text.get_text() for text in ax.texts if text.get_text() in words] == words
    difference = critical_difference(4, 5, 0.05)
    expected = [means[order][[start, end]] for start, end in alike(means[order], difference)]
    np.testing.assert_allclose(lines(ax, 2.5), expected)
    assert f"CD = {difference:.3g}" in {text.get_text() for text in ax.texts}
    assert ax.get_xlabel().replace("\n", ", ").startswith("average rank over 5 rankings, bars join what is less than")


def test_ties_share_ranks_and_unranked_items_are_last():
    tied = plot_average_ranks([[2.0, 2, 1]], items=list("abc"))
    assert {"a 1.50", "b 1.50", "3.00 c"} <= {text.get_text() for text in tied.texts}
    partial = np.array([[2.0, np.nan, np.nan]])
    ax = plot_average_ranks(partial, items=list("abc"), missing="topk")
    assert {"a 1.00", "b 2.50", "2.50 c"} <= {text.get_text() for text in ax.texts}
    again = plot_average_ranks(torchrank.rank(partial, "topk"), items=list("abc"))
    assert [text.get_text() for text in again.texts] == [text.get_text() for text in ax.texts]


def test_a_stricter_level_asks_for_more():
    assert critical_difference(5, 10, 0.01) > critical_difference(5, 10, 0.05)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_average_ranks([[1, np.nan]]), ValueError, r"at row 0, item 1.*missing='topk'"),
        (lambda: plot_average_ranks(X, missing="pairwise"), ValueError, "choose one of"),
        (lambda: plot_average_ranks(X, items=["a"]), ValueError, "items has 1 names"),
        (lambda: plot_average_ranks(X, items="item"), TypeError, "items='item' is one name"),
        (lambda: plot_average_ranks(X, alpha=1), ValueError, "alpha=1 is out of range"),
        (lambda: plot_average_ranks(X, weights=[1, 2]), ValueError, "expected one weight for each of 4"),
        (lambda: plot_average_ranks(np.ones((0, 3))), ValueError, "at least one is needed"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
