"""Blocks put together are the whole matrix, bit for bit, whatever their size."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import torchrank as tr

RNG = np.random.default_rng(0)
TIED = RNG.integers(0, 4, (23, 9)).astype(float)
PARTIAL = np.where(RNG.random((23, 9)) < 0.3, np.nan, RNG.normal(size=(23, 9)))
TIED_PARTIAL = np.where(RNG.random((23, 9)) < 0.4, np.nan, TIED)
OTHER = np.where(RNG.random((11, 9)) < 0.2, np.nan, RNG.integers(0, 5, (11, 9)).astype(float))
SETTINGS = {
    "complete": (TIED, {}),
    "variant": (TIED, {"variant": "a"}),
    "pairwise": (PARTIAL, {"missing": "pairwise"}),
    "shrunk": (PARTIAL, {"missing": "pairwise", "min_common": 5, "fill_value": 7.0, "shrink": 3.0}),
    "interleaving": (PARTIAL, {"missing": "interleaving"}),
    "cosine of interleaving": (TIED_PARTIAL, {"missing": "interleaving", "variant": "b"}),
    "topk": (PARTIAL, {"missing": "topk", "variant": "b"}),
    "each its own": (PARTIAL, {"missing": ["topk", "interleaving"] * 11 + ["topk"]}),
}


def together(X, Y=None, **settings):
    m, m2 = len(X), len(X) if Y is None else len(Y)
    whole = np.full((m, m2), np.inf)
    for rows, columns, values in tr.kendall_blocks(X, Y, **settings):
        assert np.isinf(whole[rows, columns]).all()  # no pair twice
        whole[rows, columns] = values
        if Y is None:
            whole[columns, rows] = values.T
    return whole


@pytest.mark.parametrize("block", [1, 4, 22, 23, 100, None])
@pytest.mark.parametrize("name", SETTINGS)
def test_blocks_are_parts_of_the_whole_matrix(name, block):
    X, settings = SETTINGS[name]
    np.testing.assert_array_equal(together(X, block=block, **settings), tr.kendall_gram(X, **settings))


@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("missing", ["pairwise", "topk", "interleaving"])
def test_blocks_between_two_sets(missing, block):
    for X, Y in ((PARTIAL, OTHER), (OTHER, PARTIAL)):
        found = together(X, Y, block=block, missing=missing)
        np.testing.assert_array_equal(found, tr.kendall_gram(X, Y, missing=missing))


def test_sparse_rankings():
    row, item = (~np.isnan(PARTIAL)).nonzero()
    matrix = scipy.sparse.csr_matrix((PARTIAL[row, item], (row, item)), shape=PARTIAL.shape)
    for X in (matrix, tr.rank(matrix, missing="pairwise")):
        blocks = tr.kendall_blocks(X, block=5, missing="pairwise")
        for rows, columns, values in blocks:
            expected = tr.kendall_gram(PARTIAL, missing="pairwise")
            np.testing.assert_array_equal(values, expected[rows, columns])


def test_kinds_of_values():
    (block,) = tr.kendall_blocks(torch.from_numpy(TIED).float())
    assert block.values.dtype == torch.float32
    (block,) = tr.kendall_blocks(pd.DataFrame(TIED))
    assert isinstance(block.values, np.ndarray)
    assert list(tr.kendall_blocks(TIED[:0])) == []
    assert list(tr.kendall_blocks(TIED, TIED[:0])) == []


def test_arguments_are_checked_at_once():
    for X, settings, message in (
        (PARTIAL, {}, r"X has NaN \(an unranked item\) at row 0"),
        (TIED[None], {}, r"X has shape \(1, 23, 9\); expected one matrix"),
        (TIED, {"block": 0}, "block=0 is too small"),
        (TIED, {"method": "fast"}, "method='fast' is unknown"),
        (TIED, {"variant": "c"}, "variant='c' is unknown"),
        (TIED, {"shrink": 1.0}, "pass missing='pairwise'"),
    ):
        with pytest.raises(ValueError, match=message):
            tr.kendall_blocks(X, **settings)


def test_gradients_are_refused_by_name():
    (block,) = tr.kendall_blocks(torch.from_numpy(TIED).requires_grad_())
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        block.values.sum().backward()


def test_what_is_done_with_a_block_runs_in_the_callers_circumstances():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for block in tr.kendall_blocks(torch.from_numpy(TIED), block=8):
            assert torch.is_autocast_enabled("cpu")
            assert block.values.dtype == torch.float64


def test_a_bar_counts_pairs(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(tr.kendall_blocks(TIED, block=5, progress=True))
    assert "253/253" in capfd.readouterr().err  # 23 * 22 / 2
