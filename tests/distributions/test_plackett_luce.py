"""Plackett-Luce distribution against enumeration of all rankings."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.distributions import Distribution

from tests.oracles.distributions import partial_probability, plackett_luce_probability
from tests.strategies import random_scores
from torchrank import PlackettLuce, from_orders

N = math.nan
RANKINGS = torch.tensor(list(permutations((1.0, 2.0, 3.0, 4.0))), dtype=torch.float64)


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_probabilities_of_total_rankings() -> None:
    worths = tensor(0.1, 3.0, 0.5, 1.4)
    p = PlackettLuce(worths.log()).log_prob(RANKINGS).exp()
    expected = [plackett_luce_probability(worths.tolist(), row) for row in RANKINGS.tolist()]
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    assert float(p.sum()) == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize("kind", ["interleaving", "topk"])
def test_probabilities_of_partial_rankings_are_sums(kind: str) -> None:
    rng = np.random.default_rng(0)
    worths = rng.random(5) + 0.1
    X = random_scores(rng, "total", 30, 5, missing=0.4)
    p = PlackettLuce(torch.from_numpy(np.log(worths)), missing=kind).log_prob(torch.from_numpy(X)).exp()
    np.testing.assert_allclose(p, [partial_probability(worths, row, kind) for row in X], rtol=1e-12)


def test_orders_are_not_positions() -> None:
    """Worths 3, 2, 1 and the order 2, 0, 1: 1/6 times 3/5."""
    value = torch.from_numpy(from_orders([[2, 0, 1]]))
    assert float(PlackettLuce(tensor(3, 2, 1).log()).log_prob(value).exp()) == pytest.approx(0.1, rel=1e-14)


def test_sub_ranking_and_top_of_all() -> None:
    value = tensor(2, 1, N, N)
    equal = torch.zeros(4, dtype=torch.float64)
    assert float(PlackettLuce(equal, missing="interleaving").log_prob(value)) == pytest.approx(-0.693147, abs=5e-7)
    assert float(PlackettLuce(equal, missing="topk").log_prob(value)) == pytest.approx(-2.484907, abs=5e-7)


def test_large_logits() -> None:
    value = tensor(3, 2, 1)
    large = PlackettLuce(tensor(1000, 999, 998)).log_prob(value)
    assert float(large) == pytest.approx(-0.72086765, abs=5e-9)
    assert float(PlackettLuce(tensor(2, 1, 0)).log_prob(value)) == pytest.approx(float(large), rel=1e-13)
    apart = PlackettLuce(tensor(-1000, 0, 1000)).log_prob(value)
    assert float(apart) == -3000


@pytest.mark.parametrize("width", [2, 3, 17])
@pytest.mark.parametrize("padding", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("shift", [0.0, -1000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_leaks_nothing(width: int, padding: float, shift: float, dtype: torch.dtype) -> None:
    logits = torch.full((width,), padding, dtype=dtype)
    logits[:2] = torch.tensor([1.5, 0.3], dtype=torch.float64) + shift
    logits.requires_grad_()
    value = torch.full((width,), N, dtype=dtype)
    value[:2] = torch.tensor([2.0, 1.0])
    log_prob = PlackettLuce(logits, missing="interleaving").log_prob(value)
    difference = logits[1].item() - logits[0].item()  # -1.2 but for the rounding of float32
    assert -log_prob.item() == pytest.approx(math.log1p(math.exp(difference)), rel=4 * torch.finfo(dtype).eps)
    if dtype == torch.float64:
        assert -log_prob.item() == pytest.approx(0.26328247, abs=5e-9)
    log_prob.backward()
    assert logits.grad is not None
    assert (logits.grad[2:] == 0).all()
    assert logits.grad[0].item() == pytest.approx(1 / (1 + math.exp(-difference)), rel=1e-6)


def test_rankings_that_say_nothing() -> None:
    """Orders [], [2], [0, 1], [1, 0]: the first two have log-likelihood 0 and gradient 0."""
    value = torch.from_numpy(from_orders([[], [2], [0, 1], [1, 0]], n_items=3))
    logits = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    log_prob = PlackettLuce(logits, missing="interleaving").log_prob(value)
    torch.testing.assert_close(log_prob, tensor(0, 0, math.log(0.5), math.log(0.5)))
    log_prob.sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0, 0, 0], [0, 0, 0], [0.5, -0.5, 0], [-0.5, 0.5, 0]]


@pytest.mark.parametrize("missing", ["interleaving", "topk"])
def test_gradients(missing: str) -> None:
    rng = np.random.default_rng(1)
    value = torch.from_numpy(random_scores(rng, "total", 6, 4, missing=0.3))
    logits = torch.from_numpy(rng.normal(size=(6, 4))).requires_grad_()
    assert gradcheck(lambda t: PlackettLuce(t, missing=missing).log_prob(value), (logits,))
    assert gradgradcheck(lambda t: PlackettLuce(t, missing=missing).log_prob(value), (logits,))


def test_samples_have_the_probabilities() -> None:
    """Chi-square of all 24 rankings of 4 items; 23 degrees of freedom, exceeded with probability 1e-6."""
    torch.manual_seed(0)
    worths = tensor(1.0, 3.0, 0.5, 1.4)
    counts = dict.fromkeys(permutations((1, 2, 3, 4)), 0)
    for row in PlackettLuce(worths.log()).sample((40_000,)).to(torch.int64).tolist():
        counts[tuple(row)] += 1
    p = {ranking: plackett_luce_probability(worths.tolist(), ranking) for ranking in counts}
    assert sum((counts[r] - 40_000 * p[r]) ** 2 / (40_000 * p[r]) for r in counts) < 73


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", [1e7, -1e7, 0.0])
def test_samples_of_large_logits_have_the_probabilities(shift: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    pl = PlackettLuce(torch.tensor([0.0, 1.0, -1.0], dtype=dtype) + shift)
    samples = pl.sample((100_000,))
    assert samples.dtype == dtype
    assert pl.worths.tolist() == pytest.approx([0.2447285, 0.6652410, 0.0900306], abs=1e-6)
    for ranking in permutations((1.0, 2.0, 3.0)):
        p = plackett_luce_probability([math.exp(t) for t in (0.0, 1.0, -1.0)], ranking)
        share = float((samples == torch.tensor(ranking)).all(-1).double().mean())
        assert share == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 100_000))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_one_large_logit_leaves_the_others_their_differences(dtype: torch.dtype) -> None:
    large = 6e4 if dtype == torch.float16 else 1e8
    pl = PlackettLuce(torch.tensor([large, 0.0, 1.0], dtype=dtype))
    found = pl.log_prob(tensor(3.0, 1.0, 2.0))
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    assert float(found) == pytest.approx(-math.log1p(math.exp(-1)), rel=2e-7)
    torch.manual_seed(2)
    samples = pl.sample((20_000,))
    assert bool((samples[:, 0] == 3).all())
    assert float((samples[:, 2] == 2).double().mean()) == pytest.approx(1 / (1 + math.exp(-1)), abs=0.02)
    assert pl.mode.tolist() == [3, 1, 2]


def test_mode_and_worths() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [1.0, 1.0, 3.0]])
    law = PlackettLuce(logits)
    assert law.mode.tolist() == [[1, 3, 2], [2, 1, 3]]
    torch.testing.assert_close(law.worths.sum(dim=-1), torch.ones(2))
    total = tensor(0.1, 3.0, 0.5, 1.4).log()
    assert torch.equal(PlackettLuce(total).mode, RANKINGS[PlackettLuce(total).log_prob(RANKINGS).argmax()])


def test_shapes() -> None:
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    law = PlackettLuce(logits, missing="topk")
    assert isinstance(law, Distribution)
    assert (law.batch_shape, law.event_shape) == ((3,), (4,))
    samples = law.sample((5, 2))
    assert samples.shape == (5, 2, 3, 4)
    assert law.log_prob(samples).shape == (5, 2, 3)
    assert law.log_prob(samples[0, 0, 0]).shape == (3,)
    wide = law.expand((6, 3))
    assert (wide.batch_shape, wide.missing) == ((6, 3), "topk")
    assert torch.equal(wide.log_prob(samples[0, 0]), law.log_prob(samples[0, 0]).expand(6, 3))
    assert law.support.check(torch.tensor([N, 1.0, 2.0, N]))
    assert not law.support.check(torch.tensor([N, 1.0, 1.0, N]))
    assert not PlackettLuce(logits).support.check(torch.tensor([N, 1.0, 2.0, 3.0]))


def test_bad_values() -> None:
    law = PlackettLuce(torch.zeros(3))
    with pytest.raises(ValueError, match="value ties items 0 and 2 in row 0"):
        law.log_prob(torch.tensor([1.0, 2.0, 1.0]))
    with pytest.raises(ValueError, match=r'value has NaN .* row 1, item 0.*missing="interleaving"'):
        law.log_prob(torch.tensor([[1.0, 2.0, 3.0], [N, 2.0, 1.0]]))
    with pytest.raises(ValueError, match="missing='pairwise'"):
        PlackettLuce(torch.zeros(3), missing="pairwise")
    with pytest.raises(ValueError, match="logits"):
        PlackettLuce(torch.tensor([0.0, N]))
    with pytest.raises(ValueError, match="logits has inf"):
        PlackettLuce(torch.tensor([0.0, math.inf]))
    with pytest.raises(ValueError, match=r"logits has shape \(2, 0\)"):
        PlackettLuce(torch.zeros(2, 0))
    with pytest.raises(TypeError, match="expected a floating-point tensor"):
        PlackettLuce(torch.arange(3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda() -> None:
    logits = torch.randn(3, 6, dtype=torch.float64, device="cuda", requires_grad=True)
    law = PlackettLuce(logits, missing="topk")
    samples = law.sample((50,))
    assert samples.is_cuda
    here = PlackettLuce(logits.detach().cpu(), missing="topk")
    torch.testing.assert_close(law.log_prob(samples).detach().cpu(), here.log_prob(samples.cpu()))


@pytest.mark.parametrize("log_ties", [None, torch.tensor([-1.0])])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_log_probabilities_of_32_bits(dtype: torch.dtype, log_ties) -> None:
    logits = torch.randn(5, 50, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    value = torch.arange(50.0)
    found = PlackettLuce(logits, log_ties=log_ties).log_prob(value)
    assert found.dtype == torch.float32
    wanted = PlackettLuce(logits.double(), log_ties=log_ties).log_prob(value)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=0)
    found.sum().backward()
    assert logits.grad is not None
    assert logits.grad.dtype == dtype


@pytest.mark.parametrize("log_ties", [None, torch.tensor([0.3], dtype=torch.float64)])
def test_logits_further_apart_than_numbers_reach(log_ties: torch.Tensor | None) -> None:
    """The gradient is that of logits so far apart that all choices are certain."""
    for logits, order, wanted in (
        ([1e308, -1e308, 0.0], [3.0, 2.0, 1.0], [0.0, 1.0, -1.0]),
        ([1e308, -1e308, 0.0], [1.0, 2.0, 3.0], [-2.0, 1.0, 1.0]),
        ([1e308, -1e308, 0.0], [3.0, 1.0, 2.0], [0.0, 0.0, 0.0]),
    ):
        leaf = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
        log_prob = PlackettLuce(leaf, log_ties=log_ties).log_prob(torch.tensor(order))
        log_prob.backward()
        assert not log_prob.isnan()
        assert leaf.grad is not None
        assert leaf.grad.tolist() == wanted
