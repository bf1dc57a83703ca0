"""Items of worth 0, whose logit is -inf: the limit of equal logits that fall without end."""

import math
from itertools import permutations, product

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from torchrank import PlackettLuce, RelaxedPlackettLuce

LOW = -math.inf
SETS = [[1.0, 0.0, LOW], [1.0, LOW, LOW], [LOW, LOW, LOW], [LOW, 0.5, LOW, 2.0]]
TIES = [None, torch.tensor([-1.0], dtype=torch.float64), torch.tensor([-1.0, LOW], dtype=torch.float64)]


def values(n: int, *, tied: bool, partial: bool) -> torch.Tensor:
    """All rankings of n items, as scores."""
    if not tied:
        rows = [list(map(float, row)) for row in permutations(range(n))]
    else:
        rows = [list(map(float, row)) for row in product(range(n), repeat=n) if max(map(row.count, row)) <= 2]
    if partial:
        rows = [[math.nan if score == 0 else score for score in row] for row in rows]
    return torch.tensor(rows, dtype=torch.float64)


def gradients(law: PlackettLuce, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities (r,) and the gradient of each in the logits (r, n)."""
    logs = law.log_prob(value)
    slopes = [torch.autograd.grad(log, law.logits, retain_graph=True)[0] for log in logs]
    return logs.detach(), torch.stack(slopes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("missing", ["raise", "topk", "interleaving"])
@pytest.mark.parametrize("log_ties", TIES)
@pytest.mark.parametrize("logits", SETS)
def test_values_and_gradients_are_the_limit(logits: list, log_ties, missing, dtype) -> None:
    value = values(len(logits), tied=log_ties is not None, partial=missing != "raise")
    settings = {"log_ties": log_ties, "missing": missing}
    at = torch.tensor(logits, dtype=dtype, requires_grad=True)
    logs, slopes = gradients(PlackettLuce(at, **settings), value)
    near = torch.tensor(logits, dtype=torch.float64).clamp(min=-600).requires_grad_()
    limit, limit_slopes = gradients(PlackettLuce(near, **settings), value)
    possible = limit > -100
    assert (logs[~possible] == LOW).all()
    assert not slopes.isnan().any()
    assert (slopes[:, at == LOW] == 0).all()
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(logs[possible].double(), limit[possible], rtol=tolerance, atol=tolerance)
    worthy = at.detach() > LOW
    torch.testing.assert_close(
        slopes[possible][:, worthy].double(), limit_slopes[possible][:, worthy], rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("log_ties", TIES[:2])
@pytest.mark.parametrize("worthless", [1, 2])
def test_derivatives_of_every_mode_beside_them(worthless: int, log_ties) -> None:
    value = torch.tensor([[4.0, 3, 2, 1], [3, 4, 2, 1]], dtype=torch.float64)
    rest = torch.full((worthless,), LOW, dtype=torch.float64)
    known = torch.tensor([0.5, 1.0, 0.2][: 4 - worthless], dtype=torch.float64, requires_grad=True)

    def logs(known: torch.Tensor) -> torch.Tensor:
        return PlackettLuce(torch.cat([known, rest]), log_ties=log_ties).log_prob(value)

    assert gradcheck(logs, known, check_forward_ad=True)
    assert gradgradcheck(logs, known)
    at = torch.cat([known.detach(), rest]).requires_grad_()
    (slope,) = torch.autograd.grad(PlackettLuce(at, log_ties=log_ties).log_prob(value).sum(), at, create_graph=True)
    (second,) = torch.autograd.grad(slope.square().sum(), at)
    assert second.isfinite().all()
    assert (second[-worthless:] == 0).all()


def test_far_apart_with_ties() -> None:
    """Logits further apart than the exponents of float64: the last two items are as likely in either order."""
    logits = torch.tensor([0.0, -2000.0, -2000.0], dtype=torch.float64)
    law = PlackettLuce(logits, log_ties=torch.tensor([LOW], dtype=torch.float64))
    assert float(law.log_prob(torch.tensor([3.0, 2.0, 1.0]))) == pytest.approx(-math.log(2), rel=1e-14)


@pytest.mark.parametrize("log_ties", TIES[:2])
@pytest.mark.parametrize("logits", SETS)
def test_samples_have_the_probabilities(logits: list, log_ties) -> None:
    """Five standard deviations of 20,000 draws."""
    torch.manual_seed(0)
    law = PlackettLuce(torch.tensor(logits, dtype=torch.float64), log_ties=log_ties)
    rows, counts = law.sample((20_000,)).unique(dim=0, return_counts=True)
    p = law.log_prob(rows).exp()
    assert float(p.sum()) == pytest.approx(1, abs=1e-12)
    assert ((counts / 20_000 - p).abs() < 5 * (p * (1 - p) / 20_000).sqrt() + 1e-12).all()


def test_batches_of_laws() -> None:
    laws = PlackettLuce(torch.tensor([[1.0, 0.0, LOW], [LOW, 0.0, LOW]]))
    value = torch.tensor([3.0, 2.0, 1.0])
    wanted = torch.tensor([-math.log1p(math.exp(-1)), LOW])
    torch.testing.assert_close(laws.log_prob(value), wanted)
    torch.testing.assert_close(PlackettLuce(torch.full((3,), LOW)).worths, torch.full((3,), 1 / 3))


def test_relaxed_samples() -> None:
    """The hard ranking of items of worth 0 is random, the smooth one ties them; neither moves."""
    torch.manual_seed(0)
    logits = torch.tensor([LOW, 1.0, LOW, 0.0], requires_grad=True)
    soft = RelaxedPlackettLuce(0.5, logits).rsample((500,))
    assert (soft[:, [0, 2]] == 1.5).all()
    (slope,) = torch.autograd.grad((soft * torch.tensor([1.0, 5.0, 2.0, 3.0])).sum(), logits)
    assert slope.isfinite().all()
    assert slope[[0, 2]].tolist() == [0, 0]
    torch.manual_seed(1)
    hard = RelaxedPlackettLuce(0.5, logits, straight_through=True).rsample((500,))
    torch.manual_seed(1)
    assert (hard == PlackettLuce(logits).sample((500,))).all()
    assert 0.3 < float((hard[:, 0] == 1).double().mean()) < 0.7
    shares = RelaxedPlackettLuce(0.5, logits).rsample_top_k(3, (5,))
    assert shares.tolist() == [[0.5, 1, 0.5, 1]] * 5
