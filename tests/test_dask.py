"""Tasks of Dask give what one call gives, bit for bit, on every scheduler."""

import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import torchrank as tr

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
ranks_of_dask = pytest.importorskip("torchrank.dask")

RNG = np.random.default_rng(0)
TIED = RNG.integers(0, 3, (43, 7)).astype(float)
PARTIAL = np.where(RNG.random((43, 9)) < 0.3, np.nan, RNG.normal(size=(43, 9)))
ROW, ITEM = (~np.isnan(PARTIAL)).nonzero()
PAIRWISE = {"missing": "pairwise", "min_common": 5, "shrink": 2.0}
INPUTS = {  # for Dask, for one call, settings
    "array": (TIED, TIED, {}),
    "variant": (TIED, TIED, {"variant": "a"}),
    "integers": (TIED.astype(int), TIED.astype(int), {}),
    "float32": (TIED.astype(np.float32), TIED.astype(np.float32), {}),
    "prepared": (tr.rank(PARTIAL, missing="pairwise"), PARTIAL, PAIRWISE),
    "tensor": (torch.from_numpy(TIED), TIED, {}),
    "frame": (pd.DataFrame(TIED), TIED, {}),
    "sparse": (scipy.sparse.csr_array((PARTIAL[ROW, ITEM], (ROW, ITEM)), PARTIAL.shape), PARTIAL, PAIRWISE),
    "interleaving": (PARTIAL, PARTIAL, {"missing": "interleaving"}),
    "chunks": (da.from_array(TIED, chunks=(11, 3)), TIED, {}),
    "chunks of partial ones": (da.from_array(PARTIAL, chunks=(43, 9)), PARTIAL, PAIRWISE),
}


@pytest.fixture(scope="module", params=["synchronous", "threads", pytest.param("cluster", marks=pytest.mark.slow)])
def scheduler(request):
    if request.param != "cluster":
        with dask.config.set(scheduler=request.param):
            yield request.param
        return
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None, "worker_dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield request.param


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("name", INPUTS)
def test_kernels(name):
    X, same, settings = INPUTS[name]
    lazy = ranks_of_dask.kendall_gram(X, block=10, **settings)
    expected = tr.kendall_gram(same, **settings)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(lazy.compute(), expected)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("sign", ["positive", "negative", "either"])
@pytest.mark.parametrize("name", INPUTS)
def test_neighbors(name, sign):
    X, same, settings = INPUTS[name]
    for k in (1, 42) if sign == "positive" else (12,):
        lazy = ranks_of_dask.kendall_neighbors(X, k, sign=sign, block=12, **settings)
        expected = tr.kendall_neighbors(same, k, sign=sign, **settings)
        for part, other, found in zip(lazy, expected, dask.compute(*lazy), strict=True):
            assert (part.shape, part.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(found, other)


OTHER = RNG.integers(0, 3, (29, 7)).astype(float)
FEW = np.where(RNG.random((29, 9)) < 0.3, np.nan, RNG.normal(size=(29, 9)))
TWO_SIDES = {  # for Dask, for one call, settings
    "arrays": ((TIED, OTHER), (TIED, OTHER), {}),
    "tensors": ((torch.from_numpy(TIED), torch.from_numpy(OTHER)), (TIED, OTHER), {}),
    "other dtypes": ((TIED.astype(np.float32), OTHER.astype(int)), (TIED.astype(np.float32), OTHER.astype(int)), {}),
    "frames": ((pd.DataFrame(TIED), pd.DataFrame(OTHER)), (TIED, OTHER), {}),
    "itself": ((TIED, TIED), (TIED, TIED), {}),
    "pairwise": ((PARTIAL, FEW), (PARTIAL, FEW), PAIRWISE),
    "interleaving": ((PARTIAL, FEW), (PARTIAL, FEW), {"missing": "interleaving"}),
    "prepared": ((tr.rank(PARTIAL, missing="topk"), tr.rank(FEW, missing="topk")), (PARTIAL, FEW), {"missing": "topk"}),
    "sparse": ((INPUTS["sparse"][0], FEW), (PARTIAL, FEW), PAIRWISE),
    "chunks": ((da.from_array(TIED, chunks=(11, 3)), da.from_array(OTHER, chunks=(8, 7))), (TIED, OTHER), {}),
    "chunks and rows": ((da.from_array(TIED, chunks=(11, 3)), OTHER), (TIED, OTHER), {}),
}


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("name", TWO_SIDES)
def test_two_sides(name):
    (X, Y), same, settings = TWO_SIDES[name]
    expected = tr.kendall_gram(*same, **settings)
    for block in (16, None):
        lazy = ranks_of_dask.kendall_gram(X, Y, block=block, **settings)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(lazy.compute(), expected)
    for sign, k in (("positive", 29), ("negative", 5), ("either", 1)):
        lazy = ranks_of_dask.kendall_neighbors(X, k, Y, sign=sign, block=9, **settings)
        expected = tr.kendall_neighbors(same[0], k, same[1], sign=sign, **settings)
        for part, other, found in zip(lazy, expected, dask.compute(*lazy), strict=True):
            assert (part.shape, part.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(found, other)


def test_each_pair_of_blocks_is_computed_once(monkeypatch):
    calls, gram = [], ranks_of_dask.gram_of_rows
    monkeypatch.setattr(
        ranks_of_dask, "gram_of_rows", lambda x, y, **rest: calls.append(torch.get_num_threads()) or gram(x, y, **rest)
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with dask.config.set(scheduler="threads"):
        lazy = ranks_of_dask.kendall_gram(TIED, block=10)
        near = ranks_of_dask.kendall_neighbors(TIED, 3, block=10)
        calls.clear()  # without those that check the settings
        lazy.compute()
        assert len(calls) == 15
        dask.compute(*near)
        assert calls == [1] * 30
        lazy[:5, :5].compute()
        assert len(calls) == 31
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    assert not ranks_of_dask._Running.tasks
    assert threading.active_count() < 100


def test_dask_chunks_are_blocks():
    lazy = ranks_of_dask.kendall_gram(da.from_array(TIED, chunks=(20, 7)))
    assert lazy.chunks == ((20, 20, 3), (20, 20, 3))
    assert ranks_of_dask.kendall_gram(TIED).chunks == ((43,), (43,))


def test_no_rows():
    assert ranks_of_dask.kendall_gram(TIED[:0]).compute().shape == (0, 0)
    assert [part.shape for part in dask.compute(*ranks_of_dask.kendall_neighbors(TIED[:0], 2))] == [(0, 2), (0, 2)]
    assert [part.shape for part in ranks_of_dask.kendall_neighbors(TIED[:0], 2, OTHER)] == [(0, 2), (0, 2)]
    assert ranks_of_dask.kendall_gram(TIED[:0], OTHER).compute().shape == (0, 29)
    assert ranks_of_dask.kendall_gram(TIED, OTHER[:0]).compute().shape == (43, 0)


def test_bad_arguments_are_refused_before_anything_runs():
    chunks = da.from_array(TIED, chunks=(11, 7))
    for call, message in (
        (lambda: ranks_of_dask.kendall_gram(PARTIAL), r"X has NaN \(an unranked item\) at row 0"),
        (lambda: ranks_of_dask.kendall_gram(TIED[None]), r"X has shape \(1, 43, 7\); expected one matrix"),
        (lambda: ranks_of_dask.kendall_gram(chunks[0]), "expected a Dask array .rankings, items. of known shape"),
        (
            lambda: ranks_of_dask.kendall_gram(chunks[chunks[:, 0] > 0]),
            "compute_chunk_sizes makes it",
        ),
        (lambda: ranks_of_dask.kendall_gram(chunks, missing=["topk"] * 43), "missing has a word for each row"),
        (lambda: ranks_of_dask.kendall_gram(chunks, variant="c"), "variant='c' is unknown"),
        (lambda: ranks_of_dask.kendall_gram(TIED, block=0), "block=0 is too small"),
        (lambda: ranks_of_dask.kendall_neighbors(TIED, 43), "k=43 is too large; there are 42 other rankings"),
        (lambda: ranks_of_dask.kendall_neighbors(TIED, 0), "k=0 is too small"),
        (lambda: ranks_of_dask.kendall_neighbors(TIED, 30, OTHER), "k=30 is too large; there are 29 rankings"),
        (lambda: ranks_of_dask.kendall_gram(TIED, OTHER[:, 1:]), "7 items"),
        (lambda: ranks_of_dask.kendall_gram(TIED, OTHER[None]), r"Y has shape \(1, 29, 7\); expected one matrix"),
        (lambda: ranks_of_dask.kendall_gram(TIED, chunks[chunks[:, 0] > 0]), "Y has shape .*compute_chunk_sizes makes"),
        (lambda: ranks_of_dask.kendall_neighbors(TIED, 2, sign="up"), "sign='up' is unknown"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_bfloat16_is_no_dtype_of_dask():
    half = torch.from_numpy(TIED).bfloat16()
    for call in (lambda: ranks_of_dask.kendall_gram(half), lambda: ranks_of_dask.kendall_neighbors(half, 2)):
        with pytest.raises(TypeError, match="X is bfloat16, which NumPy and so Dask's arrays lack; pass scores in fl"):
            call()


def test_unranked_items_of_chunks_are_refused_when_they_are_computed():
    lazy = ranks_of_dask.kendall_gram(da.from_array(PARTIAL, chunks=(11, 9)))
    with pytest.raises(ValueError, match="X has NaN"):
        lazy.compute(scheduler="synchronous")
