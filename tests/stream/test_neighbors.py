"""Neighbors against a full sort of the whole matrix."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import torchrank as tr
from torchrank.datasets import RankingData
from torchrank.stream import nearest as room

RNG = np.random.default_rng(1)
MANY_TIES = RNG.integers(0, 2, (40, 5)).astype(float)
FEW_TIES = RNG.normal(size=(40, 12))
PARTIAL = np.where(RNG.random((40, 8)) < 0.4, np.nan, RNG.normal(size=(40, 8)))
TIED_PARTIAL = np.where(RNG.random((40, 8)) < 0.4, np.nan, RNG.integers(0, 3, (40, 8)))
KEYS = {"positive": lambda K: K, "negative": lambda K: -K, "either": np.abs}


def by_sorting(K, k, sign, own):
    """Best first, of equal ones the first; NaN is none."""
    key = np.where(np.isnan(K), -np.inf, KEYS[sign](K))
    if own:
        np.fill_diagonal(key, -np.inf)
    order = np.argsort(-key, axis=1, kind="stable")[:, :k]
    none = np.isinf(np.take_along_axis(key, order, 1))
    return np.where(none, -1, order), np.where(none, np.nan, np.take_along_axis(K, order, 1))


@pytest.fixture(params=["heaps", "sorting"])
def engine(request, monkeypatch):
    if request.param == "sorting":
        monkeypatch.setattr(room, "_by_heaps", lambda values: False)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("block", [1, 7, 39, None])
@pytest.mark.parametrize("sign", KEYS)
@pytest.mark.parametrize("X", [MANY_TIES, FEW_TIES], ids=["many ties", "few ties"])
def test_neighbors_are_the_best_of_their_rows(X, sign, block):
    X = X[:14] if block == 1 else X  # a pair a block
    for k in (1, 4, len(X) - 1):
        found = tr.kendall_neighbors(X, k, sign=sign, block=block)
        indices, values = by_sorting(tr.kendall_gram(X), k, sign, own=True)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize("missing", ["interleaving", "topk", ["topk", "interleaving"] * 20])
@pytest.mark.parametrize("sign", KEYS)
def test_neighbors_of_partial_rankings_do_not_depend_on_blocks(sign, missing):
    for X in (PARTIAL, TIED_PARTIAL):
        indices, values = by_sorting(tr.kendall_gram(X, missing=missing), 39, sign, own=True)
        for block in (3, 13, 39, None):
            found = tr.kendall_neighbors(X, 39, sign=sign, block=block, missing=missing)
            np.testing.assert_array_equal(found.indices, indices)
            np.testing.assert_array_equal(found.values, values)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("sign", KEYS)
def test_neighbors_among_others(sign):
    Y = RNG.integers(0, 3, (17, 5)).astype(float)
    for block in (3, None):
        found = tr.kendall_neighbors(MANY_TIES, 17, Y, sign=sign, block=block)
        indices, values = by_sorting(tr.kendall_gram(MANY_TIES, Y), 17, sign, own=False)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_array_equal(found.values, values)


@pytest.mark.usefixtures("engine")
def test_rows_with_too_little_in_common_are_no_neighbors():
    settings = {"missing": "pairwise", "min_common": 5}
    found = tr.kendall_neighbors(PARTIAL, 39, **settings, block=9)
    indices, values = by_sorting(tr.kendall_gram(PARTIAL, **settings), 39, "positive", own=True)
    assert (indices < 0).any()
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.values, values)
    graph = found.to_csr()
    assert graph.nnz == (indices >= 0).sum()
    assert graph.shape == (40, 40)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_kinds_and_dtypes(dtype):
    X = torch.from_numpy(FEW_TIES).to(dtype)
    indices, values = tr.kendall_neighbors(X, 3)
    assert isinstance(indices, torch.Tensor)
    assert (indices.dtype, values.dtype) == (torch.int64, dtype)
    K = tr.kendall_gram(X)
    assert torch.equal(values, K.gather(1, indices))
    frame = tr.kendall_neighbors(X, 3).to_frame()
    np.testing.assert_array_equal(frame["value"].to_numpy().reshape(40, 3), values.double().numpy())
    assert isinstance(tr.kendall_neighbors(pd.DataFrame(FEW_TIES), 3).values, np.ndarray)
    none = tr.kendall_neighbors(X[:0], 3)
    assert none.indices.shape == none.values.shape == (0, 3)


def test_scikit_learn_takes_the_distances():
    """As many neighbors as for the whole matrix of distances, no two of them equal: its order of equal ones varies."""
    X, new = np.random.default_rng(0).normal(size=(2, 40, 3000))
    new = new[:9]
    y = np.arange(40) % 3
    graph = tr.kendall_neighbors(X, 8).with_self().to_csr(distance=True)
    distances, of_new = 1 - tr.kendall_gram(X), 1 - tr.kendall_gram(new, X)
    assert all(len(np.unique(row)) == len(row) for row in (*distances, *of_new))
    model = NearestNeighbors(n_neighbors=8, metric="precomputed").fit(graph)
    expected = NearestNeighbors(n_neighbors=8, metric="precomputed").fit(distances)
    np.testing.assert_allclose(model.kneighbors()[0], expected.kneighbors()[0], atol=1e-15)
    near = tr.kendall_neighbors(new, 5, X).to_csr(distance=True)
    classifier = KNeighborsClassifier(n_neighbors=5, metric="precomputed").fit(graph, y)
    whole = KNeighborsClassifier(n_neighbors=5, metric="precomputed").fit(distances, y)
    np.testing.assert_array_equal(classifier.predict(near), whole.predict(of_new))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("sign", KEYS)
def test_distances_are_small_for_what_is_near(sign, dtype):
    found = tr.kendall_neighbors(torch.from_numpy(FEW_TIES).to(dtype), 39, sign=sign)
    K = found.values.double().numpy()
    far = {"positive": 1 - K, "negative": 1 + K, "either": 1 - abs(K)}[sign]
    graph, plain = found.to_csr(distance=True), found.to_csr()
    assert graph.dtype == plain.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    np.testing.assert_array_equal(graph.indices.reshape(40, 39), found.indices.numpy())
    np.testing.assert_array_equal(graph.data.reshape(40, 39), far.astype(graph.dtype))
    np.testing.assert_array_equal(plain.data.reshape(40, 39), K)
    assert (np.diff(graph.data.reshape(40, 39)) >= 0).all()
    assert graph.data.min() >= 0
    assert (graph @ np.ones(40)).shape == (40,)


def test_the_most_opposed_do_not_begin_with_the_ranking_itself():
    with pytest.raises(ValueError, match="sign='negative', and a ranking itself is the last of them; use"):
        tr.kendall_neighbors(FEW_TIES, 3, sign="negative").with_self()
    near = tr.kendall_neighbors(FEW_TIES, 3, sign="either").with_self().to_csr(distance=True)
    np.testing.assert_array_equal(near.diagonal(), 0)
    assert near.nnz == 160


@pytest.mark.parametrize("X", [FEW_TIES, torch.from_numpy(FEW_TIES)], ids=["array", "tensor"])
def test_each_ranking_as_its_own_neighbor(X):
    plain, with_self = tr.kendall_neighbors(X, 4), tr.kendall_neighbors(X, 4).with_self()
    np.testing.assert_array_equal(with_self.indices[:, 0], np.arange(40))
    np.testing.assert_array_equal(with_self.values[:, 0], 1)
    np.testing.assert_array_equal(with_self.indices[:, 1:], plain.indices)
    np.testing.assert_array_equal(with_self.values[:, 1:], plain.values)
    assert repr(plain) == "Neighbors(4 of 40 rankings for each of 40)"


def test_bad_arguments():
    with pytest.raises(ValueError, match="k=40 is too large; there are 39 other rankings"):
        tr.kendall_neighbors(FEW_TIES, 40)
    with pytest.raises(ValueError, match="k=3 is too large; there are 2 rankings"):
        tr.kendall_neighbors(FEW_TIES, 3, FEW_TIES[:2])
    with pytest.raises(ValueError, match="k=0 is too small"):
        tr.kendall_neighbors(FEW_TIES, 0)
    with pytest.raises(ValueError, match="sign='up' is unknown"):
        tr.kendall_neighbors(FEW_TIES, 1, sign="up")


def test_neighbors_in_others_do_not_have_the_ranking_itself():
    X = RNG.normal(size=(20, 6))
    with pytest.raises(ValueError, match="these neighbors are in Y, where a ranking itself is not"):
        tr.kendall_neighbors(X, 2, X[:5]).with_self()
    with pytest.raises(ValueError, match="these neighbors are in Y"):
        tr.kendall_neighbors(X, 2, X).with_self()


def test_sparse_indices_are_as_narrow_as_scikit_learn_wants():
    X = np.random.default_rng(0).random((40, 6))
    for matrix in (tr.kendall_neighbors(X, 3).to_csr(), tr.kendall_graph(X, threshold=0.3)):
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    near = tr.kendall_neighbors(X, 5).to_csr()
    similar = near.maximum(near.T)
    assert set(SpectralClustering(2, affinity="precomputed").fit_predict(similar.maximum(0))) == {0, 1}


def test_frames_of_neighbors_have_the_names_of_both_sides():
    names, others = [f"user {row}" for row in range(40)], list("abcdefg")
    X = pd.DataFrame(FEW_TIES, index=names)
    found = tr.kendall_neighbors(X, 2)
    for wanted in (found, found.with_self()):
        frame = wanted.to_frame()
        assert list(frame.columns) == ["ranking", "neighbor", "value"]
        assert list(frame.ranking) == [name for name, row in zip(names, wanted.indices, strict=True) for _ in row]
        assert list(frame.neighbor) == [names[row] for row in wanted.indices.ravel()]
        np.testing.assert_array_equal(frame.value, wanted.values.ravel())
    frame = tr.kendall_neighbors(X, 3, pd.DataFrame(FEW_TIES[:7], index=others)).to_frame()
    assert set(frame.ranking) == set(names)
    assert frame[frame.ranking == "user 4"].neighbor.iloc[0] == "e"
    data = RankingData(FEW_TIES, tuple("abcdefghijkl"), np.ones(40), rankers=tuple(names))
    assert tr.kendall_neighbors(data, 2).to_frame().equals(found.to_frame())


def test_frames_of_neighbors_without_names_count_and_leave_out_what_is_none():
    found = tr.kendall_neighbors(torch.from_numpy(PARTIAL), 39, missing="pairwise", min_common=5)
    frame = found.to_frame()
    there = found.indices.numpy() >= 0
    assert 0 < len(frame) == there.sum() < there.size
    np.testing.assert_array_equal(frame.ranking, there.nonzero()[0])
    np.testing.assert_array_equal(frame.neighbor, found.indices.numpy()[there])
    np.testing.assert_array_equal(frame.value, found.values.numpy()[there])


def test_a_ranking_is_its_own_neighbor_once():
    for X in (np.eye(4), torch.eye(4)):
        near = tr.kendall_neighbors(X, 2).with_self()
        with pytest.raises(ValueError, match="have each ranking itself already; use them as they are"):
            near.with_self()
