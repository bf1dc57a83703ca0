"""Expected scores of Mallows and Plackett-Luce, and expected rewards, against all rankings of up to five items."""

import itertools
import math

import pytest
import torch

from torchrank import Mallows, PlackettLuce, RelaxedPlackettLuce


def total_rankings(n):
    return torch.tensor(list(itertools.permutations(range(1, n + 1))), dtype=torch.float64)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("lam", [0.0, 1e-9, 1e-3, 0.3, 1.7, -0.4, 20.0, 60.0])
def test_mallows(n, lam):
    rankings = total_rankings(n)
    lam = torch.tensor(lam, dtype=torch.float64, requires_grad=True)
    law = Mallows(rankings[len(rankings) // 2], lam)
    expected = law.log_prob(rankings).exp() @ rankings
    torch.testing.assert_close(law.mean, expected, rtol=0, atol=1e-13)
    for got, wanted in zip(law.mean, expected, strict=True):
        slopes = (torch.autograd.grad(value, lam, retain_graph=True)[0] for value in (got, wanted))
        torch.testing.assert_close(*slopes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_plackett_luce(n):
    rankings = total_rankings(n)
    logits = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(n)).requires_grad_()
    law = PlackettLuce(logits)
    expected = law.log_prob(rankings).exp() @ rankings
    torch.testing.assert_close(law.mean, expected, rtol=0, atol=1e-13)
    weights = torch.arange(1.0, n + 1, dtype=torch.float64)
    slopes = (torch.autograd.grad(value @ weights, logits)[0] for value in (law.mean, expected))
    torch.testing.assert_close(*slopes, rtol=0, atol=1e-13)


def test_batches_and_worths_of_zero():
    logits = torch.tensor([[0.0, 1.0, -2.0], [-math.inf, 0.0, -math.inf]])
    means = PlackettLuce(logits, validate_args=False).mean
    assert means.dtype == torch.float32
    torch.testing.assert_close(means[0], PlackettLuce(logits[0]).mean)
    assert means[1].tolist() == [1.5, 3, 1.5]  # as samples rank them
    torch.manual_seed(0)
    samples = PlackettLuce(logits[1]).sample((200,))
    assert samples[:, 1].tolist() == [3] * 200
    assert 0.3 < float((samples[:, 0] == 2).double().mean()) < 0.7
    assert Mallows(torch.tensor([[1.0, 2, 3], [3.0, 2, 1]]), 50.0).mean.round().tolist() == [[1, 2, 3], [3, 2, 1]]


def test_ties_have_no_short_way():
    with pytest.raises(NotImplementedError, match="samples"):
        PlackettLuce(torch.zeros(3), log_ties=torch.zeros(1)).mean  # noqa: B018


@pytest.mark.parametrize(
    "law",
    [Mallows(torch.arange(3.0), 1.0), PlackettLuce(torch.zeros(3)), RelaxedPlackettLuce(1.0, torch.zeros(3))],
    ids=["mallows", "plackett_luce", "relaxed"],
)
@pytest.mark.parametrize("what", ["mean", "mode", "variance", "entropy", "rsample", "cdf", "icdf", "enumerate_support"])
def test_what_is_not_there_says_what_to_take_instead(law, what):
    try:
        found = getattr(law, what)
        found = found if isinstance(found, torch.Tensor) else found(*([torch.arange(3.0)] if "cdf" in what else []))
        assert isinstance(found, torch.Tensor)
    except NotImplementedError as error:
        assert f"{type(law).__name__} has no {what}: " in str(error)  # noqa: PT017


def test_expected_scores_have_no_derivative_in_the_center():
    center = torch.arange(3.0).requires_grad_()
    lam = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="expected scores are piecewise constant"):
        Mallows(center, lam).mean.sum().backward()
    Mallows(center.detach(), lam).mean[0].backward()
    assert lam.grad < 0


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_gradient_of_any_expected_reward(n):
    """E[r(s) d log P(s)] is the derivative of E[r(s)], which finite differences of the sum over all rankings give."""
    rankings = total_rankings(n)
    reward = torch.randn(len(rankings), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    logits = torch.linspace(-1, 1, n, dtype=torch.float64).requires_grad_()
    lam = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    for make, parameter in ((PlackettLuce, logits), (lambda lam: Mallows(rankings[0], lam), lam)):

        def expected(parameter, make=make):
            return make(parameter).log_prob(rankings).exp() @ reward

        assert torch.autograd.gradcheck(expected, parameter)
        logs = make(parameter).log_prob(rankings)
        surrogate = (logs.exp().detach() * reward) @ logs
        slopes = (torch.autograd.grad(value, parameter)[0] for value in (surrogate, expected(parameter)))
        torch.testing.assert_close(*slopes, rtol=0, atol=1e-13)
