"""Pictures of tests and graphs: points, edges and places against what was tested."""

import numpy as np
import pytest
import torch
from scipy import sparse, stats

import torchrank
from torchrank.plots import plot_graph, plot_test
from torchrank.plots.graphs import Edges, spring_places

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(2, 12))
X = np.vstack([np.repeat(CENTERS, 5, axis=0) + 0.4 * RNG.normal(size=(10, 12)), -CENTERS[:1]])
LABELS = np.r_[np.zeros(5), np.ones(5), 2]


def edges_of(graph):
    upper = sparse.coo_array(sparse.triu(graph, 1))
    return Edges(upper.row, upper.col, upper.data, upper.shape[0])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn(ax):
    """All points as rows, sorted."""
    points = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    return points[np.lexsort(points.T)]


def test_each_pair_is_a_point_of_tau_and_its_p_value():
    ax = plot_test(torchrank.kendall_test(X))
    expected = []
    for i in range(11):
        for j in range(i + 1, 11):
            tau, pvalue = stats.kendalltau(X[i], X[j])
            expected.append((tau, -np.log10(pvalue)))
    expected = np.array(expected)
    np.testing.assert_allclose(drawn(ax), expected[np.lexsort(expected.T)], atol=1e-9)
    certain = expected[expected[:, 1] >= -np.log10(0.05)]
    assert legend(ax) == [
        f"not significant ({55 - len(certain)})",
        f"opposite orders ({(certain[:, 0] < 0).sum()})",
        f"equal orders ({(certain[:, 0] > 0).sum()})",
        "p-value 0.05",
    ]


def test_pairs_of_two_sets_and_those_without_a_test():
    Y = np.vstack([X[:2], np.ones(12)])  # the last ties everything
    found = torchrank.kendall_test(torch.as_tensor(X), torch.as_tensor(Y))
    ax = plot_test(found, alpha=0.001)
    assert len(drawn(ax)) == 22
    assert legend(ax)[-1] == "p-value 0.001"


def test_p_values_of_zero_are_at_the_top():
    tau, pvalue = np.array([[0.9, 0.1]]), np.array([[0.0, 0.5]])
    ax = plot_test((tau, pvalue))
    points = drawn(ax)
    assert points[-1, 0] == 0.9
    assert points[-1, 1] == pytest.approx(1.08 * -np.log10(0.05))
    assert points[-1, 1] < ax.get_ylim()[1]
    assert legend(ax) == ["not significant (1)", "equal orders (1)", "p-value 0.05"]


def test_the_most_certain_pairs_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, index=[f"r{number}" for number in range(11)])
    found = torchrank.kendall_test(frame)
    pvalue = np.asarray(found.pvalue)
    upper = np.triu_indices(11, 1)
    best = np.argsort(pvalue[upper], kind="stable")[0]
    ax = plot_test(found, most_named=3)
    written = {text.get_text() for text in ax.texts}
    assert 1 <= len(written) <= 3
    assert f"r{upper[0][best]} -\nr{upper[1][best]}" in written
    assert not plot_test(found, most_named=0).texts
    assert not plot_test(torchrank.kendall_test(X)).texts


def segments(ax):
    return [line for part in ax.collections if hasattr(part, "get_segments") for line in part.get_segments()]


def test_edges_join_what_the_graph_joins():
    graph = torchrank.kendall_graph(X, threshold=0.4)
    ax = plot_graph(graph, LABELS)
    points = spring_places(edges_of(graph))
    expected = {frozenset(map(tuple, points[[i, j]].round(9))) for i, j in zip(*graph.nonzero(), strict=True)}
    assert {frozenset(map(tuple, line.round(9))) for line in segments(ax)} == expected
    solid, dashed = (part.get_segments() for part in ax.collections[:2])
    assert len(dashed) == (graph.toarray() < 0).sum() / 2 > 0
    assert len(solid) == (graph.toarray() > 0).sum() / 2
    words = f"11 rankings, {graph.nnz // 2} edges, {len(dashed)} of them negative (dashed)"
    assert ax.get_xlabel().replace("\n", ", ") == words
    assert legend(ax) == ["cluster 0", "cluster 1", "cluster 2"]


@pytest.mark.parametrize("kind", ["neighbors", "csr", "dense", "tensor", "sparse tensor"])
def test_neighbors_in_either_direction_are_one_edge(kind):
    found = torchrank.kendall_neighbors(X, 2)
    dense = found.to_csr().toarray()
    given = {
        "neighbors": lambda: found,
        "csr": found.to_csr,
        "dense": lambda: np.where(dense == 0, np.nan, dense),
        "tensor": lambda: torch.as_tensor(dense),
        "sparse tensor": lambda: torch.as_tensor(dense).to_sparse(),
    }[kind]()
    pairs = {frozenset((row, int(other))) for row, others in enumerate(found.indices) for other in others}
    assert len(segments(plot_graph(given))) == len(pairs)


def test_the_edge_of_larger_weight_is_drawn():
    ax = plot_graph(np.array([[0, 0.5, 0], [-1.0, 0, 0], [0, 0.25, 0]]))
    solid, dashed = ax.collections[:2]
    assert (len(solid.get_segments()), len(dashed.get_segments())) == (1, 1)
    np.testing.assert_allclose(dashed.get_linewidths(), 1.5)
    np.testing.assert_allclose(solid.get_linewidths(), 0.3 + 1.2 * 0.25)


def test_neighbors_lie_together():
    graph = torchrank.kendall_neighbors(X[:10], 3).to_csr()
    points = spring_places(edges_of(graph + graph.T))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    same = LABELS[:10, None] == LABELS[:10]
    assert distance[same].max() < distance[~same].min()
    assert np.abs(points).max() == pytest.approx(1)
    assert np.unique(points.round(3), axis=0).shape == (10, 2)


def test_a_graph_without_edges_and_one_of_a_single_ranking():
    assert plot_graph(np.zeros((5, 5))).get_xlabel() == "5 rankings, 0 edges"
    assert plot_graph(np.ones((1, 1)), names=["one"]).texts[0].get_text() == "one"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_test(np.ones(3)), TypeError, "test is ndarray; expected what kendall_test gives"),
        (lambda: plot_test(3), TypeError, "test is int"),
        (lambda: plot_test((np.ones((2, 2)), np.ones((2, 3)))), ValueError, r"statistic has shape \(2, 2\) and pvalue"),
        (lambda: plot_test((np.ones((1, 2)), np.array([[2.0, 0]]))), ValueError, "pvalue has 2"),
        (lambda: plot_test((np.ones((1, 1)), np.ones((1, 1)))), ValueError, "no pair of the 1 x 1 was tested"),
        (lambda: plot_test(torchrank.kendall_test(X), alpha=0), ValueError, "alpha=0 is out of range"),
        (lambda: plot_test(torchrank.kendall_test(X), alpha="a"), TypeError, "alpha must be a number"),
        (lambda: plot_test(torchrank.kendall_test(X), names=["a"]), ValueError, "names has 1 names; test has 11"),
        (lambda: plot_graph(np.ones((2, 3))), ValueError, r"graph has shape \(2, 3\)"),
        (lambda: plot_graph(np.ones((0, 0))), ValueError, r"graph has shape \(0, 0\)"),
        (lambda: plot_graph(sparse.eye_array(2001)), ValueError, "graph has 2001 rankings.*draw a part"),
        (lambda: plot_graph(np.array([["a"]])), TypeError, "graph has dtype"),
        (lambda: plot_graph(np.eye(2), [0]), ValueError, "labels has shape"),
        (lambda: plot_graph(torchrank.kendall_neighbors(X, 1, X)), ValueError, "neighbors in other rankings"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
