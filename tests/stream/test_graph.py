"""Graphs against the whole matrices of values and of corrected p-values."""

import numpy as np
import pytest

import torchrank as tr
from torchrank.stream import significant

RNG = np.random.default_rng(3)
GROUPS = RNG.normal(size=(60, 14))
GROUPS[:20] = GROUPS[0] + RNG.normal(size=(20, 14)) / 3
GROUPS[20:25] = -GROUPS[0] + RNG.normal(size=(5, 14)) / 3
TIED = np.floor(GROUPS)
TIED[30] = 0  # nothing to test
PARTIAL = np.where(RNG.random(GROUPS.shape) < 0.2, np.nan, GROUPS)
LONG = RNG.normal(size=(50, 40))  # asymptotic p-values
LONG[:12] = LONG[0] + RNG.normal(size=(12, 40))
SETS = {"groups": (GROUPS, None), "tied": (TIED, None), "partial": (PARTIAL, "pairwise"), "long": (LONG, None)}
EXPECTED_SIGNS = {"interleaving": (PARTIAL, "interleaving"), "topk": (PARTIAL, "topk")}  # which have no p-values


def edges(graph):
    """Which entries are stored, 0 too, and their values."""
    m = graph.shape[0]
    stored = np.zeros((m, m), bool)
    rows = np.repeat(np.arange(m), np.diff(graph.indptr))
    assert len(set(zip(rows, graph.indices, strict=True))) == graph.nnz
    stored[rows, graph.indices] = True
    return stored, graph.toarray()


def check(graph, expected, values):
    expected = np.triu(expected, 1)
    stored, found = edges(graph)
    np.testing.assert_array_equal(stored, expected | expected.T)
    np.testing.assert_array_equal(found[stored], values[stored])
    assert graph.has_sorted_indices


@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.8, 2.0])
@pytest.mark.parametrize("name", SETS | EXPECTED_SIGNS)
def test_edges_above_a_threshold(name, threshold, alternative, block):
    X, missing = (SETS | EXPECTED_SIGNS)[name]
    X = X[::4] if block == 1 else X  # a pair a block
    K = tr.kendall_gram(X, missing=missing)
    size = {"two-sided": np.abs(K), "greater": K, "less": -K}[alternative]
    graph = tr.kendall_graph(X, threshold=threshold, alternative=alternative, missing=missing, block=block)
    check(graph, size >= threshold, K)


@pytest.fixture(params=[2**22, 8], ids=["kept", "pruned"])
def pruning(request, monkeypatch):
    monkeypatch.setattr(significant, "_PRUNED", request.param)


@pytest.mark.usefixtures("pruning")
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "bonferroni", None])
@pytest.mark.parametrize("name", SETS)
def test_edges_that_are_significant(name, correction, alternative):
    X, missing = SETS[name]
    tests = tr.kendall_test(X, alternative=alternative, correction=correction, missing=missing)
    for alpha, block in ((0.01, 23), (0.05, None), (0.3, 17), (0.9, 31)):
        settings = {"correction": correction, "alternative": alternative, "missing": missing, "block": block}
        graph = tr.kendall_graph(X, alpha=alpha, **settings)
        check(graph, tests.pvalue <= alpha, tests.statistic)
        both = tr.kendall_graph(X, alpha=alpha, threshold=0.5, **settings)
        size = {"two-sided": np.abs, "greater": np.array, "less": np.negative}[alternative](tests.statistic)
        check(both, (tests.pvalue <= alpha) & (size >= 0.5), tests.statistic)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "bonferroni"])
def test_pruning_loses_nothing_where_little_is_significant(seed, correction, monkeypatch):
    monkeypatch.setattr(significant, "_PRUNED", 3)
    X = np.random.default_rng(seed).normal(size=(80, 9))
    tests = tr.kendall_test(X, correction=correction)
    check(tr.kendall_graph(X, alpha=0.5, correction=correction, block=9), tests.pvalue <= 0.5, tests.statistic)


def test_small_sets():
    assert tr.kendall_graph(GROUPS[:0], threshold=0.1).shape == (0, 0)
    assert tr.kendall_graph(GROUPS[:1], alpha=0.1).nnz == 0


def test_bad_arguments():
    for settings, message in (
        ({}, "neither threshold nor alpha is given"),
        ({"alpha": 0}, "alpha=0 is out of range; it is a probability above 0 and below 1"),
        ({"alpha": 1.5}, r"alpha=1\.5 is out of range"),
        ({"threshold": -0.1}, r"threshold=-0\.1 is out of range"),
        ({"alpha": 0.1, "correction": "holm"}, "correction='holm' is unknown"),
        ({"alpha": 0.1, "alternative": "more"}, "alternative='more' is unknown"),
        ({"alpha": 0.1, "missing": "topk"}, "whose distribution is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            tr.kendall_graph(GROUPS, **settings)
