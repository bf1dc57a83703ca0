"""Engines of agreement and expected ranks: one contract, held against the plain-torch truth and the oracles."""

import pytest
import torch
from torch.library import opcheck

from torchrank.cpu import agreement as engine
from torchrank.cpu import soft_ranks as ranks_engine
from torchrank.ops import agreement_autograd, soft_ranks_autograd  # noqa: F401 - they register derivatives
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.reference import agreement as reference
from torchrank.ops.reference import soft_ranks as ranks_reference
from torchrank.ops.reference.smoothed import blocks

OPS = torch.ops.torchrank
SIZES = [2, 3, 6, 7, 50, 301]


def rows(n, spread=1.0, seed=0):
    """Scores with ties and infinities, dense ranks with ties and gaps, weights and windows."""
    g = torch.Generator().manual_seed(seed + n)
    x = spread * torch.randn(5, n, dtype=torch.float64, generator=g)
    x[0, 0] = x[0, 1]
    x[1, n // 2 :] = x[1, n // 2 :].round()
    if n > 5:
        x[2, 1] = x[2, 3] = torch.inf
        x[2, 0], x[3, 2] = -torch.inf, torch.inf
    ranks = torch.randint(0, min(n, 40), (5, n), generator=g, dtype=torch.int32)
    ranks[torch.rand(5, n, generator=g) < 0.2] = -1
    ranks[4] = torch.randperm(n, generator=g)
    window = torch.tensor([0.3, 1.0, 2.0, 0.05, 30.0], dtype=torch.float64)
    return x, ranks, torch.rand(5, n, dtype=torch.float64, generator=g), window


@pytest.mark.parametrize("sweep_from", [0, 10**6], ids=["sweep", "pairs"])
@pytest.mark.parametrize("scheme", [None, "product", "sum"])
@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("n", SIZES)
def test_compiled_engines(n, spread, scheme, sweep_from, monkeypatch):
    monkeypatch.setattr(engine, "SWEEP_FROM", sweep_from)
    x, ranks, weights, window = rows(n, spread)
    w, scheme = (None, "product") if scheme is None else (weights, scheme)
    expected = reference.sums_and_slopes(x, w, window, reference.Terms(ranks, "uniform", scheme), WORKSPACE, True, True)
    got = engine.sums_and_slopes(x, ranks, w, window, scheme, True, True)
    alone = engine.sums_and_slopes(x, ranks, w, window, scheme, True, False)  # in loops of their own
    # Sums of numbers up to 4, when slopes are in windows: of n pairs for an item, of n(n-1)/2 for a row.
    slope = window[:, None]
    for part, other, scale, terms in zip(got, expected, (1, slope[:, None], slope), (n * n, n, n * n), strict=True):
        torch.testing.assert_close(part * scale, other * scale, rtol=1e-12, atol=4e-15 * terms)
    for part, other, scale, terms in zip(alone[:2], expected, (1, slope[:, None]), (n * n, n), strict=False):
        torch.testing.assert_close(part * scale, other * scale, rtol=1e-12, atol=4e-15 * terms)
    assert alone[2].shape == (5, 0)
    for both in (got, alone):  # sums have the same bits whether or not slopes in scores are wanted
        moves = both is got
        sums, of_x, of_window = engine.sums_and_slopes(x, ranks, w, window, scheme, False, moves)
        assert torch.equal(sums, both[0])
        assert of_x.shape == (5, 2, 0)
        assert torch.equal(of_window, both[2])


@pytest.mark.parametrize("spread", [0.02, 1e-3, 1e-6, 1e-12])
def test_scores_next_to_one_another_keep_their_digits(spread):
    x = spread * torch.randn(1, 1600, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ranks = torch.randperm(1600, generator=torch.Generator().manual_seed(1))[None].int()
    one = torch.ones(1, dtype=torch.float64)
    terms = reference.Terms(ranks, "uniform", "product")
    expected = reference.sums_and_slopes(x, None, one, terms, WORKSPACE, True, True)
    for part, other in zip(engine.sums_and_slopes(x, ranks, None, one, "product", True, True), expected, strict=True):
        torch.testing.assert_close(part[..., :2], other[..., :2], rtol=1e-10, atol=1e-10 * float(other.abs().min()))


@pytest.mark.parametrize("sweep_from", [0, 10**6], ids=["sweep", "pairs"])
def test_rows_that_tie_all_have_strict_weight_exactly_0(sweep_from, monkeypatch):
    monkeypatch.setattr(engine, "SWEEP_FROM", sweep_from)
    x, _, weights, window = rows(50)
    sums = engine.sums_and_slopes(x, torch.zeros(5, 50, dtype=torch.int32), weights, window, "sum", True, True)[0]
    assert not sums[:, 0].any()
    assert not sums[:, 2].any()
    assert (sums[:, 3] > 0).all()


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("scheme", ["product", "sum", "pairs"])
def test_blocks_of_any_size_and_the_differentiable_form_agree(scheme, noise):
    x, ranks, weights, window = rows(7)
    w = torch.rand(5, 7, 7, dtype=torch.float64) if scheme == "pairs" else weights
    terms = reference.Terms(ranks, noise, scheme)
    expected = sum(reference.block_sums(x, w, window, terms, block) for block in blocks(7, 10**6))
    for workspace in (2**10, 2**13, WORKSPACE):
        got = reference.sums_and_slopes(x, w, window, terms, workspace, True, True)
        torch.testing.assert_close(got[0], expected, rtol=1e-13, atol=1e-13)
        cotangent = torch.rand(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        leaf = w.clone().requires_grad_()
        total = (reference.block_sums(x, leaf, window, terms, next(blocks(7, 10**6))) * cotangent).sum()
        whole = torch.autograd.grad(total, leaf)[0]
        part = reference.weights_gradient(cotangent, x, w, window, terms, workspace)
        torch.testing.assert_close(part, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_compiled_expected_ranks(n):
    x, ranks, gradient, window = rows(n)
    counted = ranks >= 0
    among = ranks_reference.Among(counted, "uniform")
    expected = ranks_reference.soft_ranks(x, window, among, WORKSPACE)
    got = ranks_engine.soft_ranks(x, window, counted)
    torch.testing.assert_close(torch.where(counted, got, 0), torch.where(counted, expected, 0), rtol=1e-12, atol=1e-12)
    for part, other in zip(
        ranks_engine.soft_ranks_backward(gradient, x, window, counted),
        ranks_reference.soft_ranks_backward(gradient, x, window, among, 2**13),
        strict=True,
    ):
        torch.testing.assert_close(part, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_what_ops_owe_to_torch(noise):
    x, ranks, weights, window = rows(6)
    x = x.nan_to_num(posinf=3.0, neginf=-3.0).requires_grad_()
    for slopes in ((True, True), (True, False), (False, True), (False, False)):
        opcheck(OPS.agreement.default, (x.detach(), ranks, None, window, noise, "product", WORKSPACE, *slopes))
    opcheck(OPS.agreement.default, (x, ranks, weights, window, noise, "sum", WORKSPACE, True, True))
    gradient = torch.ones(5, 4, dtype=torch.float64)
    opcheck(OPS.agreement_of_weights.default, (gradient, x.detach(), ranks, weights, window, noise, "sum", WORKSPACE))
    opcheck(OPS.soft_ranks.default, (x, ranks >= 0, window, noise, WORKSPACE))
    opcheck(OPS.soft_ranks_backward.default, (weights, x.detach(), ranks >= 0, window, noise, WORKSPACE))


def test_without_the_compiled_engine_plain_torch_gives_the_same(monkeypatch):
    x, ranks, weights, window = rows(6)
    expected = OPS.agreement(x, ranks, weights, window, "uniform", "sum", WORKSPACE, True, True)
    ranked = OPS.soft_ranks(x, ranks >= 0, window, "uniform", WORKSPACE)
    for module in ("torchrank.ops.agreement", "torchrank.ops.soft_ranks"):
        monkeypatch.setattr(f"{module}.why_missing", lambda device: "numba is missing")
    for part, other in zip(
        OPS.agreement(x, ranks, weights, window, "uniform", "sum", WORKSPACE, True, True), expected, strict=True
    ):
        torch.testing.assert_close(part, other, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(OPS.soft_ranks(x, ranks >= 0, window, "uniform", WORKSPACE)[4], ranked[4])
