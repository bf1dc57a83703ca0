"""The squared loss over pairs of edges, in digits."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from torchrank.conditional import conditional_rank_loss


def exact(scores, labels, groups) -> Fraction:
    """Mean over pairs of edges of one query, in rational numbers."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(labels)), 2) if groups[i] == groups[j]]
    f, y = ([Fraction(v) for v in values] for values in (scores, labels))
    return sum(((y[i] - y[j]) - (f[i] - f[j])) ** 2 for i, j in pairs) / len(pairs)


ONE = torch.zeros(3, dtype=torch.int64)


@pytest.mark.parametrize("first", [1_700_000_000, 1_700_000_000_000_000_001, -(2**62)])
def test_large_integer_labels_keep_their_differences(first):
    labels = torch.tensor([first, first + 1, first + 2])
    assert float(conditional_rank_loss(torch.zeros(3), labels, ONE)) == 2
    assert float(conditional_rank_loss(labels, torch.zeros(3), ONE)) == 2
    assert float(conditional_rank_loss(np.zeros(3), labels.numpy(), np.zeros(3, int))) == 2


def test_many_labels_beside_their_spread():
    labels = torch.tensor([1e3, 1e3 + 1]).repeat(10_000)
    groups = torch.zeros(20_000, dtype=torch.int64)
    expected = 2 * 10_000**2 / (20_000 * 19_999)
    for dtype in (torch.float32, torch.float64):
        loss = conditional_rank_loss(torch.zeros(20_000, dtype=dtype), labels, groups)
        assert loss.dtype == dtype
        assert float(loss) == pytest.approx(expected, rel=torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("normalization", ["pair", "node"])
def test_any_floats_are_computed_in_float64(dtype, normalization):
    generator = torch.Generator().manual_seed(0)
    f, y = ((300 * torch.randn(40, generator=generator)).to(dtype) for _ in range(2))
    groups = torch.randint(3, (40,), generator=generator)
    f.requires_grad_()
    loss = conditional_rank_loss(f, y, groups, normalization=normalization)
    assert loss.dtype == torch.promote_types(dtype, torch.float32)
    loss.backward()
    double = f.detach().double().requires_grad_()
    expected = conditional_rank_loss(double, y.double(), groups, normalization=normalization)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=torch.finfo(loss.dtype).eps)
    torch.testing.assert_close(f.grad, double.grad.to(dtype))
    if normalization == "pair":
        oracle = exact(f.tolist(), y.tolist(), groups.tolist())
        assert expected.item() == pytest.approx(float(oracle), rel=1e-13)


def test_integers_give_the_default_of_their_library():
    integers = torch.tensor([0, 1, 3])
    assert conditional_rank_loss(integers, integers, ONE).dtype == torch.get_default_dtype()
    assert conditional_rank_loss(integers, integers.half(), ONE).dtype == torch.float32
    assert conditional_rank_loss(integers.numpy(), integers.numpy(), ONE.numpy()).dtype == np.float64


@pytest.mark.parametrize("groups", [[0, 0], [0, 0, 0], [0, 0, 2], [1, 1, 0, 3, 3], [0, 0, 1, 1, 1, 2, 2, 2, 2]])
def test_queries_of_few_edges(groups):
    generator = torch.Generator().manual_seed(len(groups))
    f, y = torch.randn(2, len(groups), dtype=torch.float64, generator=generator)
    pooled = exact(f.tolist(), y.tolist(), groups)
    of_query = []
    for query in sorted(set(groups)):
        own = [i for i, group in enumerate(groups) if group == query]
        if len(own) > 1:
            of_query.append(exact(f[own].tolist(), y[own].tolist(), [0] * len(own)))
    found = [conditional_rank_loss(f, y, torch.tensor(groups), normalization=way) for way in ("pair", "node")]
    assert found[0].item() == pytest.approx(float(pooled), rel=1e-13)
    assert found[1].item() == pytest.approx(float(sum(of_query) / len(of_query)), rel=1e-13)
