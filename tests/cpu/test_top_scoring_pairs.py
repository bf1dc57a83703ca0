"""The CPU engine at sizes of several tiles and stretches of lanes, where ties are many, against NumPy on all pairs."""

import numpy as np
import pytest
import torch

from torchrank.cpu import top_scoring_pairs as engine


def case(n, m=6, levels=4, seed=0):
    """Ranks with many ties, of which the first two samples are one class; secondary numbers with ties too."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, (m, n)).astype(np.int32), rng.integers(-5, 5, n)


def scores_of_all_pairs(ranks, n_first):
    i, j = np.triu_indices(ranks.shape[1], 1)
    signs = np.sign(ranks[:, i] - ranks[:, j]).astype(np.int64)
    n_second = len(ranks) - n_first
    return i, j, n_first * signs[n_first:].sum(0) - n_second * signs[:n_first].sum(0)


def best_places(ranks, n_first, secondary, k):
    i, j, scores = scores_of_all_pairs(ranks, n_first)
    order = np.lexsort([j, i, -np.abs(secondary[i] - secondary[j]), -np.abs(scores)])[:k]
    return i[order] * ranks.shape[1] + j[order]


@pytest.mark.parametrize("n", [2, 3, 511, 512, 513, 514, 1100])
@pytest.mark.parametrize("k", [1, 7, 3000])
def test_best_pairs_in_order(n, k):
    ranks, secondary = case(n)
    k = min(k, n * (n - 1) // 2)
    found = engine.top_pairs(torch.from_numpy(ranks), 2, torch.from_numpy(secondary), k, False)
    assert found.tolist() == best_places(ranks, 2, secondary, k).tolist()


def test_all_pairs_kept():
    ranks, secondary = case(80)
    found = engine.top_pairs(torch.from_numpy(ranks), 2, torch.from_numpy(secondary), 80 * 79 // 2, False)
    assert found.tolist() == best_places(ranks, 2, secondary, 80 * 79 // 2).tolist()


@pytest.mark.slow
def test_wide_ranks_give_what_narrow_ones_give(monkeypatch):
    ranks, secondary = case(600, levels=600)
    arguments = torch.from_numpy(ranks), 2, torch.from_numpy(secondary), 500, False
    votes = torch.from_numpy(ranks), 2, torch.from_numpy(ranks[::-1].copy()), False, False
    narrow = engine.top_pairs(*arguments), engine.all_pairs_margins(*votes)
    monkeypatch.setattr(engine, "_compact", lambda ranks: ranks.numpy())
    assert torch.equal(engine.top_pairs(*arguments), narrow[0])
    assert torch.equal(engine.all_pairs_margins(*votes), narrow[1])


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_and_of_tiles_gives_the_same(monkeypatch, threads):
    ranks, secondary = case(700)
    expected = best_places(ranks, 2, secondary, 900)
    i, j, scores = scores_of_all_pairs(ranks, 2)
    votes = (np.sign(ranks[:, i] - ranks[:, j]) * np.sign(scores)).sum(1)
    monkeypatch.setattr(engine, "_TILE_COMPARISONS", 30_000)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = engine.top_pairs(torch.from_numpy(ranks), 2, torch.from_numpy(secondary), 900, False)
        margins = engine.all_pairs_margins(torch.from_numpy(ranks), 2, torch.from_numpy(ranks), False, False)
    finally:
        torch.set_num_threads(before)
    assert found.tolist() == expected.tolist()
    assert margins.tolist() == votes.tolist()


@pytest.mark.parametrize("n", [2, 513, 1100])
def test_strict_votes(n):
    ranks, _ = case(n)
    new = case(n, m=3, seed=1)[0]
    i, j = np.triu_indices(n, 1)
    above = ranks[:, i] > ranks[:, j]
    more_often = above[2:].mean(0) > above[:2].mean(0)
    expected = np.where((new[:, i] > new[:, j]) == more_often, 1, -1).sum(1)
    found = engine.all_pairs_margins(torch.from_numpy(ranks), 2, torch.from_numpy(new), True, False)
    assert found.tolist() == expected.tolist()


def test_progress_bars_end(capsys):
    ranks, secondary = case(50)
    engine.top_pairs(torch.from_numpy(ranks), 2, torch.from_numpy(secondary), 3, True)
    engine.all_pairs_margins(torch.from_numpy(ranks), 2, torch.from_numpy(ranks), False, True)
    shown = capsys.readouterr().err
    assert "top scoring pairs: 100%" in shown
    assert "all pairs vote: 100%" in shown
