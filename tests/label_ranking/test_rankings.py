import itertools

import numpy as np
import pytest
import torch

from torchrank.label_ranking import rankings as mm_pl_orders
from torchrank.label_ranking.rankings import discordant_pairs
from torchrank.ops.dense_ranks import dense_ranks


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("block", [1, 2**18])
def test_discordant_pairs_are_counted(monkeypatch, dtype, block):
    monkeypatch.setattr(mm_pl_orders, "_BLOCK", block)
    rng = np.random.default_rng(0)
    Y, centers = rng.integers(0, 4, (23, 5)).astype(float), rng.integers(0, 4, (3, 5)).astype(float)  # with ties
    Y[rng.random(Y.shape) < 0.3] = np.nan
    expected = [
        [sum((y[a] - y[b]) * (c[a] - c[b]) < 0 for a, b in itertools.combinations(range(5), 2)) for c in centers]
        for y in Y
    ]
    ranks, _ = dense_ranks(torch.from_numpy(Y), "allow", "Y")
    assert discordant_pairs(ranks, torch.from_numpy(centers).to(dtype)).tolist() == expected


def test_no_rows_have_no_discordant_pairs():
    ranks = torch.zeros((0, 4), dtype=torch.int32)
    assert discordant_pairs(ranks, torch.rand(3, 4)).shape == (0, 3)
