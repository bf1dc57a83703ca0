"""Ranks of scores that must have no ties: values, the refusal, and what torch asks of an op."""

import pytest
import torch
from hypothesis import given
from torch.library import opcheck

from tests.strategies import score_tensors
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.untied_ranks import untied_ranks


@given(score_tensors(missing=True))
def test_ranks_are_dense_ranks_unless_two_items_of_a_row_are_tied(scores):
    ranks, _ = dense_ranks(scores, "allow", "X")
    tied = any(len(set(ranked)) < len(ranked) for ranked in ([r for r in row if r >= 0] for row in ranks.tolist()))
    if tied:
        with pytest.raises(ValueError, match=r"X ties items .* and .* in row .*; break them"):
            untied_ranks(scores, "break them", "X")
    else:
        assert torch.equal(untied_ranks(scores, "break them", "X"), ranks)


def test_ties_are_named_by_row_and_items_with_the_remedy():
    scores = torch.tensor([[[1.0, 2, 3], [3, 1, 2]], [[1, 2, 3], [torch.nan, 7, 7]]])
    with pytest.raises(ValueError, match=r"Y ties items 1 and 2 in row \(1, 1\); drop one"):
        untied_ranks(scores, "drop one", "Y")
    scores[1, 1, 1] = torch.nan  # two unranked items are not tied
    assert untied_ranks(scores, "drop one", "Y")[1, 1].tolist() == [-1, -1, 0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.uint64])
def test_opcheck(dtype):
    opcheck(torch.ops.torchrank.untied_ranks.default, (torch.tensor([[3, 1, 2], [0, 2, 1]]).to(dtype), "", "X"))


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap_is_a_longer_batch(dim):
    scores = torch.rand(4, 3, 5)
    mapped = torch.func.vmap(lambda x: untied_ranks(x, "", "X"), in_dims=dim)(scores)
    assert torch.equal(mapped, untied_ranks(scores.movedim(dim, 0), "", "X"))
