"""Plackett-Luce worths of rankings in batches: the fit of all rows, whatever batches, processes and interruptions."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

import torchrank as tr
from tests.interruptions import killed_after_every_save
from tests.processes import run
from torchrank.distributions import GhostItem

RNG = np.random.default_rng(0)
N = 6
X = (RNG.gumbel(size=(400, N)) + np.linspace(0, 2, N)).argsort(1).argsort(1).astype(float)
PARTIAL = np.where(RNG.random(X.shape) < 0.4, np.nan, X)
PARTIAL[:70] = np.nan  # a batch without a choice
TIED = (X + RNG.integers(0, 2, X.shape)) // 2
WEIGHTS = RNG.integers(0, 4, len(X)).astype(float)
PAIRS = np.array([RNG.permutation(30)[:2] for _ in range(500)])
SPARSE = tr.SparseRankings.from_orders(PAIRS, 30)
CASES = {
    "total": (X, {}),
    "anywhere": (PARTIAL, {"missing": "interleaving"}),
    "top-k": (PARTIAL, {"missing": "topk", "prior": 0.5}),
    "by products": (PARTIAL, {"missing": "topk", "method": "cg", "covariance": "diagonal"}),
    "some covariances": (X, {"method": "cg", "covariance": [4, 1]}),
    "ghost": (X, {"prior": GhostItem(0.5)}),
    "ties": (TIED, {"ties": "davidson"}),
    "comparisons": (SPARSE, {"prior": 0.1}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_fit_to_all_rows(name, weighted):
    rows, words = CASES[name]
    weights = np.resize(WEIGHTS, len(rows)) if weighted else None
    expected = tr.fit_plackett_luce(rows, weights, **words)
    found = tr.fit_plackett_luce(tr.Batches((rows, weights) if weighted else rows, 70), **words)
    assert type(found.logits) is type(expected.logits)
    assert (found.converged, found.reason) == (True, "tolerance")
    for field in ("logits", "covariance", "standard_errors", "log_ties", "tie_standard_errors"):
        its, other = getattr(found, field), getattr(expected, field)
        assert (its is None) == (other is None), field
        if other is not None:
            np.testing.assert_allclose(its, other, rtol=1e-6, atol=1e-9, err_msg=field)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-10)


def test_whatever_has_batches_can_be_fitted():
    expected = tr.fit_plackett_luce(X).logits
    frame = pd.DataFrame(X, columns=list("abcdef"))
    tensors = DataLoader(torch.from_numpy(X), batch_size=90)
    for source in (tr.Batches(X, 400), tensors, tr.Batches(tr.rank(X), 31), tr.Batches(frame, 80)):
        np.testing.assert_allclose(tr.fit_plackett_luce(source).logits, expected, atol=1e-9)
    assert isinstance(tr.fit_plackett_luce(tensors).logits, torch.Tensor)
    assert tr.fit_plackett_luce(tr.Batches(frame, 80)).logits.index.tolist() == list("abcdef")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["total", "by products", "ties"])
def test_a_fit_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch, name):
    rows, words = CASES[name]
    path, batches = tmp_path / "fit.pt", tr.Batches(rows, 90)
    expected = tr.fit_plackett_luce(batches, **words)
    kills = killed_after_every_save(monkeypatch, lambda: tr.fit_plackett_luce(batches, checkpoint=path, **words))
    assert kills == expected.n_iter + 1
    found = tr.fit_plackett_luce(batches, checkpoint=path, **words)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, its)
    with pytest.raises(ValueError, match="differs in rows"):
        tr.fit_plackett_luce(tr.Batches(rows[:-1]), checkpoint=path, **words)


def in_group(group):
    return [tr.fit_plackett_luce(tr.Batches(rows, 90), group=group, **words) for rows, words in CASES.values()]


@pytest.mark.slow
def test_it_does_not_depend_on_processes(tmp_path):
    expected = in_group(None)
    for found in run(3, in_group, tmp_path):
        for mine, its in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine.logits, its.logits, rtol=1e-6, atol=1e-9)


def test_items_without_a_chain_of_preferences_are_refused():
    loose = np.array([[3.0, 2, 1], [3, 1, 2]])
    with pytest.raises(ValueError, match=r"fall into 2 groups, \{0\}, \{1, 2\}"):
        tr.fit_plackett_luce(tr.Batches(loose, 1))
    assert tr.fit_plackett_luce(tr.Batches(loose, 1), prior=0.5).converged
    open_ones = np.array([[3.0, np.nan, np.nan, np.nan], [np.nan, 3, np.nan, np.nan]])
    with pytest.raises(ValueError, match=r"fall into 3 groups, \{0, 1\}, \{2\}, \{3\}"):
        tr.fit_plackett_luce(tr.Batches(open_ones, 1), missing="topk")


def test_what_a_fit_of_batches_cannot_do_is_refused():
    with pytest.raises(ValueError, match='method="mm" takes no rows in batches'):
        tr.fit_plackett_luce(tr.Batches(X), method="mm")
    with pytest.raises(ValueError, match="batch 1: X ties items"):
        tr.fit_plackett_luce(tr.Batches([X, TIED]))
    with pytest.raises(ValueError, match="batch 0: X has NaN"):
        tr.fit_plackett_luce(tr.Batches(PARTIAL))
    with pytest.raises(ValueError, match="weights of rows in batches come with them"):
        tr.fit_plackett_luce(tr.Batches(X), WEIGHTS)
    with pytest.raises(ValueError, match="checkpoint is for rows that come in batches"):
        tr.fit_plackett_luce(X, checkpoint="fit.pt")
    with pytest.raises(TypeError, match=r"covariance is \[0\.5\]"):
        tr.fit_plackett_luce(tr.Batches(X), covariance=[0.5])
