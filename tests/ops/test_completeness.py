"""Unranked items are refused on both sides at once; on CUDA the same look tells whether there are ties."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import opcheck

from torchrank.ops.completeness import look_once, refuse_unranked
from torchrank.ops.dense_ranks import dense_ranks

TOTAL, TIED, HOLE = [3.0, 1.0, 2.0], [3.0, 1.0, 1.0], [3.0, float("nan"), 2.0]


def ranked(*rows):
    return dense_ranks(torch.tensor(rows), "allow", "X")


@pytest.mark.parametrize("y", [None, (TIED,)])
def test_opcheck(y):
    sides = (*ranked(TOTAL, TIED), *(ranked(*y) if y else (None, None)))
    opcheck(torch.ops.torchrank.refuse_unranked.default, (*sides, "drop them"))


@pytest.mark.parametrize("look", [refuse_unranked, look_once])
@pytest.mark.parametrize(
    ("x", "y", "place"),
    [
        ((TOTAL, HOLE), None, r"X has NaN .* at row 1, item 1"),
        ((TOTAL, TIED), (HOLE,), r"Y has NaN .* at row 0, item 1"),
        ((HOLE,), (HOLE,), "X has NaN"),
    ],
)
def test_the_first_unranked_item_is_named(look, x, y, place):
    with pytest.raises(ValueError, match=place):
        look(*ranked(*x), *(ranked(*y) if y else (None, None)), "drop them")


@pytest.mark.parametrize("look", [refuse_unranked, look_once])
def test_batches_are_named(look):
    ranks, strict = dense_ranks(torch.tensor([[TOTAL], [HOLE]]), "allow", "X")
    with pytest.raises(ValueError, match=r"batch \(1,\), row 0, item 1"):
        look(ranks, strict, None, None, "drop them")


@pytest.mark.parametrize(
    ("x", "y", "untied"),
    [
        ((TOTAL,), None, [True, True]),
        ((TOTAL, TIED), None, [False, False]),
        ((TOTAL,), (TIED,), [True, False]),
        ((TIED,), (TOTAL,), [False, True]),
        ((), None, [True, True]),
    ],
)
def test_one_look_tells_of_ties(x, y, untied):
    sides = ranked(*x) if x else dense_ranks(torch.empty(0, 3), "allow", "X")
    assert look_once(*sides, *(ranked(*y) if y else (None, None)), "drop them").tolist() == untied


def test_the_answer_lies_in_host_memory():
    with FakeTensorMode():
        ranks = torch.empty(2, 3, dtype=torch.int32, device="cuda")
        strict = torch.empty(2, dtype=torch.int64, device="cuda")
        answer = refuse_unranked(ranks, strict, None, None, "drop them")
    assert (answer.device.type, tuple(answer.shape), answer.dtype) == ("cpu", (2,), torch.bool)
