"""Workspace means what it says: beside input and result, nothing larger than it is made."""

import numpy as np
import pytest
import torch

import torchrank.ops.kendall_matrix as module
from kernels_triton.blocks import blocks
from torchrank import kendall_distance, kendall_gram, mallows_gram, pair_counts

WORKSPACE = 2**14
CALLS = {
    "kendall_gram": kendall_gram,
    "kendall_gram, ties": lambda X, **settings: kendall_gram(X.round(), **settings),
    "topk": lambda X, **settings: kendall_gram(X, missing="topk", **settings),
    "pairwise": lambda X, **settings: kendall_gram(X, missing="pairwise", **settings),
    "kendall_distance": lambda X, **settings: kendall_distance(X, tie_penalty=0.5, **settings),
    "mallows_gram": lambda X, **settings: mallows_gram(X, lam=0.1, **settings),
    "pair_counts": lambda X, **settings: torch.stack(pair_counts(X, **settings)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shape", [(300, 6), (40, 12, 6), (7, 50, 6)])
def test_tiles_of_counts_fit_and_change_no_bit(call, shape, monkeypatch):
    sizes = []
    count = module.pair_counts

    def counted(*arguments):
        results = count(*arguments)
        sizes.append(sum(result.numel() * result.element_size() for result in results))
        return results

    monkeypatch.setattr(module, "pair_counts", counted)
    X = torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = call(X)
    sizes.clear()
    result = call(X, workspace=WORKSPACE)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-15)
    assert torch.equal(result, result.mT) or result.ndim > 3  # pair_counts' ties change places
    assert max(sizes, default=0) <= WORKSPACE


def test_huge_workspaces_are_no_error():
    X = torch.randn(3, 5)
    for call in CALLS.values():
        assert call(X, workspace=2**70).shape[-2:] == (3, 3)


@pytest.mark.parametrize("padding", [1, 16, 128])
@pytest.mark.parametrize(("b", "m", "m2"), [(100_000, 1, 1), (3, 1000, None), (5, 7, 300), (2, 300, 7), (1, 129, 129)])
def test_launches_count_padded_rows(b, m, m2, padding):
    x = torch.empty(b, m, 0)
    y = None if m2 is None else torch.empty(b, m2, 0)
    covered = np.zeros((b, m, m if m2 is None else m2), bool)
    row_bytes, workspace = 100, 2**20

    def padded(part):
        return -(-(part.stop - part.start) // padding) * padding

    for block in blocks(x, y, row_bytes, 0, workspace, padding):
        entries = min(block.batch.stop, b) - block.batch.start
        ends = [
            slice(part.start, min(part.stop, size)) for part, size in zip(block[1:3], covered.shape[1:], strict=True)
        ]
        scratch = row_bytes * entries * sum(map(padded, ends))
        assert scratch <= workspace / 2 or scratch == 2 * padding * row_bytes
        covered[block.batch, block.x, block.y] = True
        if y is None:
            covered[block.batch, block.y, block.x] = True
    assert covered.all()
