import pytest
import torch
from scipy.integrate import quad
from scipy.stats import logistic

from torchrank import PlackettLuce, RelaxedPlackettLuce

LOGITS = torch.tensor([[0.3, -1.0, 2.0, 0.0], [5.0, 0.0, 0.0, -3.0]], dtype=torch.float64)


def drawn(call):
    torch.manual_seed(3)
    return call()


@pytest.mark.parametrize("shape", [(), (7,), (2, 3)])
def test_hard_samples_are_those_of_the_distribution(shape):
    hard = drawn(lambda: PlackettLuce(LOGITS).sample(shape))
    straight = drawn(lambda: RelaxedPlackettLuce(0.5, LOGITS, straight_through=True).rsample(shape))
    assert straight.equal(hard)
    smooth = drawn(lambda: RelaxedPlackettLuce(1e-9, LOGITS).rsample(shape))
    torch.testing.assert_close(smooth, hard)
    for k in (0, 2, 4):
        first = drawn(lambda: RelaxedPlackettLuce(0.5, LOGITS, straight_through=True).rsample_top_k(k, shape))  # noqa: B023
        assert first.equal((hard > 4 - k).double())


def test_gradients_are_those_of_smooth_samples():
    logits = LOGITS.clone().requires_grad_()
    gradients = []
    for straight in (False, True):
        law = RelaxedPlackettLuce(0.8, logits, straight_through=straight)
        samples = drawn(lambda: law.rsample((5,)))  # noqa: B023
        tops = drawn(lambda: law.rsample_top_k(2, (5,)))  # noqa: B023
        weights = torch.arange(4.0, dtype=torch.float64)
        gradients.append(torch.autograd.grad((samples @ weights).sum() + (tops @ weights).sum(), logits)[0])
    assert gradients[0].any()
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_samples_have_derivatives(noise):
    logits, window = LOGITS.clone().requires_grad_(), torch.tensor(0.8, dtype=torch.float64, requires_grad=True)

    def samples(logits, window):
        law = RelaxedPlackettLuce(window, logits, noise=noise)
        return drawn(lambda: torch.cat([law.rsample((3,)), law.rsample_top_k(2, (3,))], -1))

    assert torch.autograd.gradcheck(samples, (logits, window))


def test_mean_gradient_of_two_items():
    """The expectation over the noise, a logistic difference, by quadrature; samples within five standard errors."""
    logits = torch.tensor([0.4, 0.0], dtype=torch.float64, requires_grad=True)
    window, many = 1.2, 40_000

    def slope(t):  # of the expected rank of the first item in the difference t of noisy logits
        return max(0.0, 1 - abs(t) / window) / window

    expected, _ = quad(lambda t: slope(t) * logistic.pdf(t - 0.4), -window, window, points=[0.0])
    torch.manual_seed(0)
    rows = logits.expand(many, 2)
    (gradients,) = torch.autograd.grad(RelaxedPlackettLuce(window, rows).rsample()[:, 0].sum(), rows)
    mean, error = gradients[:, 0].mean(), gradients[:, 0].std() / many**0.5
    assert abs(float(mean) - expected) < 5 * float(error)
    torch.testing.assert_close(gradients.sum(-1), torch.zeros(many, dtype=torch.float64), rtol=0, atol=1e-12)


def test_forms():
    law = RelaxedPlackettLuce(0.5, LOGITS.float())
    assert law.rsample((3,)).shape == (3, 2, 4)
    assert law.rsample().dtype == torch.float32
    assert not RelaxedPlackettLuce(0.5, LOGITS.requires_grad_(False).clone().requires_grad_()).sample().requires_grad
    assert law.expand((5, 2)).rsample().shape == (5, 2, 4)
    assert law.support.check(law.rsample((4,))).all()
    assert law.rsample().sum(-1).tolist() == pytest.approx([10, 10], abs=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RelaxedPlackettLuce(0.0, LOGITS), ValueError, "window=0.0"),
        (lambda: RelaxedPlackettLuce(1.0, LOGITS, noise="pink"), ValueError, "noise='pink'"),
        (lambda: RelaxedPlackettLuce(1.0, LOGITS.long()), TypeError, "logits"),
        (lambda: RelaxedPlackettLuce(1.0, LOGITS).log_prob(LOGITS), NotImplementedError, "PlackettLuce"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
