"""Pair scores and votes on both engines, against fractions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import classification as oracle
from tests.strategies import score_arrays
from torchrank.classification import all_pairs_margins, pair_blocks, paired_items, top_scoring_pairs, vote_margins

ENGINES = ("cpu", "torch")


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Both engines on CPU tensors, with blocks so small that there are several."""
    if request.param == "torch":
        use_torch(monkeypatch.setattr)
    return request.param


def use_torch(setattr_):
    setattr_(pair_blocks, "why_missing", lambda device_type: "not wanted")
    setattr_(pair_blocks, "_BLOCK", 20)


def random_case(kind, m=9, n=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) if kind == "total" else rng.integers(0, 3, (m, n)).astype(float)
    return X, np.arange(m) % 3 == 0


def as_rows(pairs):
    return [list(part) for part in zip(*(part.tolist() for part in pairs), strict=True)]


def expected_rows(pairs):
    return [[above, below, float(score), float(gap)] for above, below, score, gap in pairs]


@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("k", [1, 3, 20, 21])
def test_pairs_are_those_of_the_definition_in_its_order(engine, kind, k):
    for seed in range(4):
        X, y = random_case(kind, seed=seed)
        found = as_rows(top_scoring_pairs(X, y, k))
        expected = expected_rows(oracle.scored_pairs(X, y)[:k])
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@given(score_arrays(rows=(2, 6), items=(2, 7)), st.data())
def test_any_scores_whatever_their_dtype_and_layout(X, data):
    y = np.array(data.draw(st.permutations([0, 1] + [0] * (len(X) - 2))))
    k = X.shape[1] * (X.shape[1] - 1) // 2
    before = X.copy()
    found = as_rows(top_scoring_pairs(X, y, k))
    expected = expected_rows(oracle.scored_pairs(X, y))
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_disjoint_pairs_are_the_greedy_ones(engine, kind):
    for seed in range(4):
        X, y = random_case(kind, n=9, seed=seed)
        expected = oracle.disjoint(oracle.scored_pairs(X, y))
        assert len(expected) == 4
        found = as_rows(top_scoring_pairs(X, y, 4, disjoint=True))
        np.testing.assert_allclose(found, expected_rows(expected), rtol=1e-15)


def test_disjoint_pairs_beyond_the_first_list():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 60))
    X[:3, 0] += 100  # item 0 is in the 59 best pairs
    X[3:, 0] -= 100
    y = np.repeat([0, 1], 3)
    expected = oracle.disjoint(oracle.scored_pairs(X, y))[:2]
    np.testing.assert_allclose(as_rows(top_scoring_pairs(X, y, 2, disjoint=True)), expected_rows(expected), rtol=1e-15)


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_votes_of_the_best_pairs_for_many_k_at_once(kind):
    X, y = random_case(kind)
    new = random_case(kind, m=5, seed=1)[0]
    pairs, scored = top_scoring_pairs(X, y, 21), oracle.scored_pairs(X, y)
    ks = [1, 2, 5, 21]
    expected = [[oracle.margin(scored[:k], row) for row in new.tolist()] for k in ks]
    np.testing.assert_allclose(vote_margins(new, pairs, ks), expected, rtol=1e-15)
    np.testing.assert_allclose(vote_margins(new, pairs), expected[-1], rtol=1e-15)


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_votes_of_all_pairs(engine, kind):
    for seed in range(4):
        X, y = random_case(kind, seed=seed)
        new = random_case(kind, m=5, seed=seed + 10)[0]
        scored = oracle.scored_pairs(X, y)
        neutral = [oracle.margin(scored, row) for row in new.tolist()]
        np.testing.assert_allclose(all_pairs_margins(X, y, new), neutral, rtol=1e-15)
        strict = [oracle.strict_margin(X, y, row) for row in new.tolist()]
        np.testing.assert_allclose(all_pairs_margins(X, y, new, ties="strict"), strict, rtol=1e-15)


def test_all_pairs_vote_as_the_best_n_pairs_do():
    X, y = random_case("tied", m=20, n=40)
    pairs = top_scoring_pairs(X, y, 40 * 39 // 2)
    np.testing.assert_array_equal(all_pairs_margins(X, y, X), vote_margins(X, pairs))


def test_equal_items_have_score_zero_and_vote_one_half():
    X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    y = [0, 1, 1]
    pairs = top_scoring_pairs(X, y)
    assert as_rows(pairs) == [[0, 1, 0.0, 0.0]]
    assert vote_margins(X, pairs).tolist() == [0, 0, 0]
    assert vote_margins(np.array([[1.0, 2.0]]), pairs).tolist() == [0]  # the pair itself tells nothing
    assert all_pairs_margins(X, y, X).tolist() == [0, 0, 0]


def test_paired_items_grow_with_k():
    X, y = random_case("total", n=10)
    pairs = top_scoring_pairs(X, y, 8)
    masks = paired_items(pairs, 10, [1, 3, 8])
    for mask, k in zip(masks, [1, 3, 8], strict=True):
        assert set(np.flatnonzero(mask).tolist()) == {*pairs.above[:k].tolist(), *pairs.below[:k].tolist()}


def test_kind_and_dtype_of_results():
    X, y = random_case("total")
    arrays, tensors = top_scoring_pairs(X, y, 4), top_scoring_pairs(torch.from_numpy(X), torch.from_numpy(y), 4)
    for array, tensor in zip(arrays, tensors, strict=True):
        assert isinstance(array, np.ndarray)
        assert isinstance(tensor, torch.Tensor)
        assert np.array_equal(array, tensor.numpy())
    assert isinstance(vote_margins(X, arrays), np.ndarray)
    assert isinstance(paired_items(arrays, 7, [1, 4]), np.ndarray)
    assert np.array_equal(paired_items(tensors, 7, [1, 4]).numpy(), paired_items(arrays, 7, [1, 4]))
    assert vote_margins(X, arrays, []).shape == (0, 9)
    assert paired_items(arrays, 7, []).shape == (0, 7)
    assert isinstance(all_pairs_margins(torch.from_numpy(X), y, torch.from_numpy(X)), torch.Tensor)


GOOD = np.arange(12.0).reshape(3, 4) % 5


@pytest.mark.parametrize(
    ("X", "y", "k", "message"),
    [
        (GOOD, [0, 0, 0], 1, "class 1 of 2 has no sample in y"),
        (GOOD, [0, 1, 2], 1, r"y\[2\] is 2"),
        (GOOD, [0, 1], 1, r"y has shape \(2,\)"),
        (GOOD, [0, 1, 1], 7, "k=7"),
        (GOOD, [0, 1, 1], 0, "k=0"),
        (
            np.where(GOOD == 3, np.nan, GOOD),
            [0, 1, 1],
            1,
            r"X has NaN .* at row 0, item 3",
        ),
        (GOOD[None], [0, 1, 1], 1, r"X has shape \(1, 3, 4\)"),
        (GOOD[:, :1], [0, 1, 1], 1, "ranking needs at least 2 items"),
    ],
)
def test_bad_input_is_named(X, y, k, message):
    with pytest.raises(ValueError, match=message):
        top_scoring_pairs(X, y, k)


def test_other_bad_input_is_named():
    with pytest.raises(TypeError, match="y has dtype <U1"):
        top_scoring_pairs(GOOD, ["a", "b", "b"])
    with pytest.raises(TypeError, match=r"y has dtype torch.float64"):
        top_scoring_pairs(GOOD, [0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="k=3"):
        top_scoring_pairs(GOOD, [0, 1, 1], 3, disjoint=True)
    pairs = top_scoring_pairs(GOOD, [0, 1, 1], 6)
    with pytest.raises(ValueError, match="X has 2 items"):
        vote_margins(GOOD[:, :2], pairs)
    with pytest.raises(ValueError, match="ks names 7 pairs"):
        vote_margins(GOOD, pairs, [7])
    with pytest.raises(ValueError, match="ks names 7 pairs"):
        paired_items(pairs, 4, [7])
    with pytest.raises(ValueError, match="there are 3 items"):
        paired_items(pairs, 3, [1])
    with pytest.raises(ValueError, match="X ranks 2 items and X_train 4"):
        all_pairs_margins(GOOD, [0, 1, 1], GOOD[:, :2])
    with pytest.raises(ValueError, match="ties='first'"):
        all_pairs_margins(GOOD, [0, 1, 1], GOOD, ties="first")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gives_what_the_cpu_gives():
    X, y = random_case("tied", m=20, n=300)
    on_cpu, on_cuda = top_scoring_pairs(X, y, 500), top_scoring_pairs(torch.from_numpy(X).cuda(), y, 500)
    for array, tensor in zip(on_cpu, on_cuda, strict=True):
        assert tensor.is_cuda
        assert np.array_equal(array, tensor.cpu().numpy())
    for ties in ("half", "strict"):
        margins = all_pairs_margins(torch.from_numpy(X).cuda(), y, torch.from_numpy(X).cuda(), ties=ties)
        np.testing.assert_array_equal(margins.cpu().numpy(), all_pairs_margins(X, y, X, ties=ties))
