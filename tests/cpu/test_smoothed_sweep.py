"""The exact O(n log n) evaluation of the smoothed kernel against extended precision."""

import numpy as np
import pytest
import torch

from tests.oracles.kernels import gram
from tests.oracles.smoothed import smoothed
from torchrank.cpu.smoothed_sweep import Prepared, is_faster, smoothed_gram
from torchrank.ops.pair_counts import WORKSPACE


def lattice(rng, window, *shape):
    return rng.integers(-5, 6, shape) * window


SCORES = {
    "normal": lambda rng, a, *shape: rng.standard_normal(shape),
    "multiples of the window": lattice,
    "half multiples": lambda rng, a, *shape: rng.integers(-9, 10, shape) * a / 2,
    "quarters around an offset": lambda rng, a, *shape: 1e6 + rng.integers(-9, 10, shape) * a / 4,
    "offset 1e6": lambda rng, a, *shape: 1e6 + rng.standard_normal(shape),
    "range 1e8 windows": lambda rng, a, *shape: a * (rng.integers(-1, 2, shape) * 1e8 + rng.integers(-4, 5, shape) / 4),
    "range beyond integers": lambda rng, a, *shape: a * rng.standard_normal(shape) * 1e20,
    "few cells": lambda rng, a, *shape: rng.uniform(0, 2.5 * a, shape),
    "one cell": lambda rng, a, *shape: rng.uniform(-0.4 * a, 0.4 * a, shape),
    "constant": lambda rng, a, *shape: np.full(shape, 3 * a),
    "around zero": lambda rng, a, *shape: rng.choice([-0.0, 0.0, 5e-324, -5e-324, a, -a], shape),
    "infinite": lambda rng, a, *shape: rng.choice([-np.inf, np.inf, 0.0, a / 2, a, 1e308, -1e308], shape),
}


@pytest.mark.parametrize("window", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("kind", SCORES)
def test_against_extended_precision(kind, window):
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 12, 33):
        X, Y = SCORES[kind](rng, window, 4, n), SCORES["normal"](rng, window, 3, n)
        X[-1] = SCORES[kind](rng, window, n)
        for A, B in ((X, None), (X, Y), (Y, X)):
            result = smoothed_gram(
                torch.from_numpy(A)[None], None if B is None else torch.from_numpy(B)[None], window, WORKSPACE, False
            )[0]
            np.testing.assert_allclose(result, gram(smoothed, A, B, window=window), rtol=0, atol=2e-15)


@pytest.mark.parametrize("window", [1e-3, 0.05, 0.5, 3.0])
def test_long_rows(window):
    x, y = np.random.default_rng(1).standard_normal((2, 1500))
    result = smoothed_gram(torch.from_numpy(x)[None, None], torch.from_numpy(y)[None, None], window, WORKSPACE, False)
    assert float(result) == pytest.approx(smoothed(x, y, window), rel=0, abs=2e-15)


def test_the_window_may_be_much_smaller_or_larger_than_all_differences():
    X = torch.tensor([[[1.0, 2.0, 3.0, 3.0], [4.0, 1.0, 2.0, 3.0]]], dtype=torch.float64)
    signs = (X[..., :, None] - X[..., None, :]).sign()
    limit = torch.einsum("bmij,bkij->bmk", signs, signs) / 12
    for window in (1e-300, 5e-324, 0.5):
        torch.testing.assert_close(smoothed_gram(X, None, window, WORKSPACE, False), limit, rtol=0, atol=1e-15)
    assert float(smoothed_gram(X, None, 1e300, WORKSPACE, False).abs().max()) == 0.0


def test_symmetric_in_batches_and_blocks_bit_for_bit():
    X = torch.randn(3, 7, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    whole = smoothed_gram(X, None, 0.7, WORKSPACE, False)
    assert torch.equal(whole, whole.mT)
    assert torch.equal(whole, smoothed_gram(X, None, 0.7, 2**11, False))
    assert torch.equal(whole.tril(), smoothed_gram(X, X, 0.7, WORKSPACE, False).tril())


def test_cells_of_a_row():
    row = Prepared.of(np.array([[2.5, -0.5, 0.0, 0.75, -0.25]]), 1.0)
    assert row.order.tolist() == [[1, 4, 2, 3, 0]]
    assert row.local.tolist() == [[0.5, 0.75, 0.0, 0.75, 0.5]]
    assert row.cell.tolist() == [[0, 0, 1, 1, 2]]
    assert row.start[0, :4].tolist() == [0, 2, 4, 5]
    assert row.neighbor[0, :4].tolist() == [False, True, False, False]  # cell 1 is empty
    assert row.below.tolist() == [[0, 0, 0, 2, 0]]
    assert row.above.tolist() == [[1, 1, 0, 0, 0]]
    assert row.place.tolist() == [[4, 0, 2, 3, 1]]


def test_faster_for_few_long_rankings_only():
    def of(m, n):
        return torch.empty(1, m, n, dtype=torch.float64)

    assert is_faster(of(1, 20_000), of(1, 20_000))
    assert not is_faster(of(1, 500), of(1, 500))
    assert not is_faster(of(100, 5_000), None)
    assert not is_faster(of(0, 5_000), None)
