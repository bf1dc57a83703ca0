"""The op behind partial rankings, by equality with its definition, on every engine."""

from itertools import combinations

import numpy as np
import pytest
import torch

from tests.oracles.pair_counts import sign
from tests.strategies import dense_ranks, random_scores
from torchrank.ops.reference.weighted_signs import weighted_signs as reference
from torchrank.ops.weighted_signs import weighted_signs


def oracle(x, y):
    """Sum over pairs ranked in both; weights are the items that y ranks below minus those above."""
    n = len(x)
    weight = [sum(sign(y[i], y[j]) for j in range(n) if y[j] >= 0) for i in range(n)]
    both = [i for i in range(n) if x[i] >= 0 and y[i] >= 0]
    return sum(sign(x[i], x[j]) * (weight[i] - weight[j]) for i, j in combinations(both, 2))


def rows_of_all_kinds(rng, b, m, n):
    kinds = [("total", 0.0), ("tied", 0.0), ("total", 0.3), ("tied", 0.3)]
    rows = [random_scores(rng, kind, b, n, missing=missing) for kind, missing in (kinds * m)[:m]]
    return dense_ranks(np.stack(rows, axis=1))


@pytest.mark.parametrize("engine", [weighted_signs, reference])
@pytest.mark.parametrize("n", [2, 3, 10, 65])
def test_equals_the_definition(engine, n):
    rng = np.random.default_rng(n)
    x, y = rows_of_all_kinds(rng, 2, 5, n), rows_of_all_kinds(rng, 2, 4, n)
    for workspace in (2**10, 2**27):
        result = engine(x, y, workspace)
        assert result.dtype == torch.int64
        expected = [[[oracle(a, b) for b in two] for a in one] for one, two in zip(x.tolist(), y.tolist(), strict=True)]
        assert result.tolist() == expected


def test_nothing_to_compare():
    assert weighted_signs(*(torch.zeros((0, 2, 3), dtype=torch.int32),) * 2, 2**20).shape == (0, 2, 2)
    x = torch.zeros((1, 2, 3), dtype=torch.int32)
    assert weighted_signs(x[:, :0], x, 2**20).shape == (1, 0, 2)
