import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from tests.oracles.conditional import complete_edges
from torchrank.conditional import ConditionalSplit, check_leakage

SETTINGS = pytest.mark.parametrize("setting", [1, 2, 3, 4])
KNOWN = {1: (True, True), 2: (False, True), 3: (True, False), 4: (False, False)}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def random_edges(q=150, m=12, n=12, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(m, size=q), rng.integers(n, size=q)], axis=1)  # some repeat


@SETTINGS
@pytest.mark.parametrize(("one_domain", "undirected"), [(False, False), (True, False), (True, True)])
def test_every_test_edge_fits_the_setting(setting, one_domain, undirected):
    edges = random_edges()
    splitter = ConditionalSplit(setting, 3, one_domain=one_domain, undirected=undirected, generator=seeded())
    splits = list(splitter.split(edges))
    assert len(splits) == splitter.get_n_splits() == (9 if setting == 4 else 3)
    for train, test in splits:
        start, end = set(edges[train, 0]), set(edges[train, 1])
        if one_domain:
            start = end = start | end
        known = {tuple(edge) for edge in edges[train]}
        if undirected:
            known |= {(j, i) for i, j in known}
        for i, j in edges[test]:
            assert (i in start, j in end) == KNOWN[setting]
            assert (i, j) not in known


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_two_domains_test_every_edge_of_a_complete_graph_once(setting):
    edges = complete_edges(6, 9).numpy()
    tested = np.concatenate([test for _, test in ConditionalSplit(setting, 3, generator=seeded(1)).split(edges)])
    assert sorted(tested) == list(range(54))


@pytest.mark.parametrize(("setting", "kept"), [(1, 36), (2, 36), (3, 36), (4, 24)])
def test_two_domains_train_on_all_that_the_setting_allows(setting, kept):
    edges = complete_edges(6, 9).numpy()
    assert {len(train) for train, _ in ConditionalSplit(setting, 3, generator=seeded(1)).split(edges)} == {kept}


def test_seed_decides():
    edges = random_edges()

    def tests(**options):
        return [test.tolist() for _, test in ConditionalSplit(2, 3, **options).split(edges)]

    assert tests(generator=seeded(3)) == tests(generator=seeded(3)) != tests(generator=seeded(4))
    splitter = ConditionalSplit(2, 3, generator=seeded())
    twice = [[test.tolist() for _, test in splitter.split(edges)] for _ in range(2)]
    assert twice[0] == twice[1]
    torch.manual_seed(5)
    drawn = tests()
    torch.manual_seed(5)
    assert tests() == drawn
    assert tests(shuffle=False) == tests(shuffle=False)


def test_serves_as_cv_of_scikit_learn():
    edges = random_edges()
    scores = cross_val_score(Ridge(), edges, edges.sum(1), cv=ConditionalSplit(4, 2, generator=seeded()), scoring="r2")
    assert scores.shape == (4,)


EDGES = np.array([[0, 1], [1, 0], [2, 3], [0, 3], [2, 1], [0, 1]])


@pytest.mark.parametrize(
    ("train", "test", "options", "message"),
    [
        ([0, 1, 2], [5], {"setting": 1}, r"test edge \(0, 1\) is also a training edge"),
        ([0, 2, 3], [1], {"setting": 1, "one_domain": True, "undirected": True}, r"test edge \(1, 0\) .* turned round"),
        ([0], [3], {"setting": 1}, r"end node 3 of test edge \(0, 3\) is in no training edge: not setting 1"),
        ([0], [3], {"setting": 2}, r"start node 0 of test edge \(0, 3\) is in a training edge: not setting 2"),
        ([0, 3], [4], {"setting": 4}, r"end node 1 of test edge \(2, 1\) is in a training edge: not setting 4"),
        ([0, 1], [4], {"setting": 4, "one_domain": True}, "end node 1"),
        ([0], [2], {"setting": 5}, "setting=5"),
    ],
)
def test_leakage_is_named(train, test, options, message):
    with pytest.raises(ValueError, match=message):
        check_leakage(EDGES, train, test, **options)


def test_a_node_known_on_the_other_side_is_new_between_two_domains_only():
    train, test = [0], [1]  # (0, 1) and (1, 0)
    check_leakage(EDGES, train, test, 4)
    with pytest.raises(ValueError, match="start node 1 of test edge"):
        check_leakage(EDGES, train, test, 4, one_domain=True)


def test_refusals():
    with pytest.raises(ValueError, match="setting=0"):
        ConditionalSplit(0)
    with pytest.raises(ValueError, match="n_splits=1"):
        ConditionalSplit(1, 1)
    with pytest.raises(ValueError, match="undirected=True needs one_domain=True"):
        ConditionalSplit(1, undirected=True)
    with pytest.raises(ValueError, match="n_splits=5 is more than the 3 start nodes"):
        next(ConditionalSplit(2).split(EDGES))
    for features in ([1, 2, 3], [[1, 2, 3]], [[0.5, 1.0]]):
        with pytest.raises(ValueError, match=r"are not .edges, 2. node numbers"):
            next(ConditionalSplit(2).split(features))
    with pytest.raises(ValueError, match="split 0 of setting 4 has no training edges"):
        next(ConditionalSplit(4, 2, shuffle=False).split([[0, 0], [0, 1], [1, 0]]))


@pytest.mark.parametrize(
    "edges", [np.array([["a", "b"]]), np.ones((3, 3)), np.array([[0.5, 1]]), np.array([[np.nan, 1]])]
)
def test_edges_that_are_no_node_numbers(edges):
    with pytest.raises(ValueError, match="node numbers"):
        next(ConditionalSplit(1, 2).split(edges))
