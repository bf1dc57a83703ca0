"""Rows of partial orders: there is an end to them."""

import numpy as np
import pytest

import torchrank
from torchrank import from_preferences

ORDERS = from_preferences([[(0, 1)], [(1, 2)]])


def test_rows_end():
    assert len(list(ORDERS)) == 2
    assert len(ORDERS[-1]) == len(ORDERS[np.array([False, True])]) == 1
    for row in (2, -3, 7):
        with pytest.raises(IndexError):
            ORDERS[row]


@pytest.mark.parametrize("function", [torchrank.kendall_gram, torchrank.borda, torchrank.kemeny])
def test_they_are_no_scores(function):
    with pytest.raises((TypeError, ValueError)):
        function(ORDERS)
