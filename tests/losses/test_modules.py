import copy
import math

import pytest
import torch

from torchrank import KendallLoss, WindowSchedule, kendall_loss

G = torch.Generator().manual_seed(0)
X, Y = torch.randn(6, 8, generator=G, dtype=torch.float64), torch.rand(6, 8, generator=G)


def test_it_is_the_function():
    loss = KendallLoss(0.7, noise="gaussian", variant="a", scheme="product", reduction="none")
    w, mask = torch.rand(6, 8, generator=G), torch.rand(6, 8, generator=G) < 0.8
    words = {"window": 0.7, "noise": "gaussian", "variant": "a", "reduction": "none", "weights": w, "scheme": "product"}
    torch.testing.assert_close(loss(X, Y, weights=w, mask=mask), kendall_loss(X, Y, mask=mask, **words))
    pairs = (w[:1].mT * w[:1]).fill_diagonal_(0)
    torch.testing.assert_close(
        KendallLoss(0.7)(X, Y, pairs=pairs), kendall_loss(X, Y, window=0.7, pairs=pairs), rtol=1e-12, atol=1e-12
    )
    assert "window=0.7, learnable=False, noise='gaussian', variant='a'" in repr(loss)


def test_a_fixed_window_is_no_parameter_and_is_kept():
    loss = KendallLoss(0.3)
    assert not list(loss.parameters())
    fresh = KendallLoss()
    fresh.load_state_dict(loss.state_dict())
    assert fresh.window == loss.window == pytest.approx(0.3)
    assert copy.deepcopy(loss).half().log_window.dtype == torch.float64
    loss.window = 2.0
    assert loss.window == pytest.approx(2.0)


def test_a_learnable_window_has_the_right_gradient():
    loss = KendallLoss(0.7, learnable=True)

    def of_parameter(log_window):
        return torch.func.functional_call(loss, {"log_window": log_window}, (X, Y))

    assert [*loss.state_dict()] == [name for name, _ in loss.named_parameters()] == ["log_window"]
    assert torch.autograd.gradcheck(of_parameter, (loss.log_window.detach().clone().requires_grad_(),))


def test_a_schedule_moves_the_window_by_equal_factors_and_stays():
    loss = KendallLoss(1.0)
    schedule = WindowSchedule(loss, end=0.001, n_steps=3)
    seen = []
    for _ in range(5):
        schedule.step()
        seen.append(loss.window)
    assert seen == pytest.approx([0.1, 0.01, 0.001, 0.001, 0.001])


def test_a_schedule_goes_on_from_its_state():
    loss = KendallLoss(1.0)
    schedule = WindowSchedule(loss, end=0.01, n_steps=4)
    schedule.step()
    fresh = KendallLoss(5.0)
    fresh.load_state_dict(loss.state_dict())
    resumed = WindowSchedule(fresh, end=3.0, n_steps=1)
    resumed.load_state_dict(schedule.state_dict())
    for _ in range(3):
        schedule.step()
        resumed.step()
        assert fresh.window == loss.window


def test_training_recovers_an_order_and_noise_does_not_move_the_optimum():
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    features = torch.randn(40, 10, 3, generator=G, dtype=torch.float64)
    target = features @ weights
    model = torch.nn.Linear(3, 1, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 1.0, 1.0]]))
    loss = KendallLoss(2.0)
    schedule = WindowSchedule(loss, end=0.2, n_steps=150)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        loss(model(features)[..., 0], target).backward()
        optimizer.step()
        schedule.step()
    assert float(kendall_loss(model(features)[..., 0].detach(), target, window=1e-9)) < 0.02
    assert float(torch.cosine_similarity(model.weight.detach()[0], weights, dim=0)) > 0.999


@pytest.mark.parametrize("window", [0, -1.0, math.nan, math.inf])
def test_what_is_refused(window):
    with pytest.raises(ValueError, match="window="):
        KendallLoss(window)
    with pytest.raises(ValueError, match="end="):
        WindowSchedule(KendallLoss(), end=window, n_steps=3)
    with pytest.raises(ValueError, match="n_steps=0"):
        WindowSchedule(KendallLoss(), end=1.0, n_steps=0)
    with pytest.raises(TypeError, match="learnable='no' is str; expected bool"):
        KendallLoss(1.0, learnable="no")
    with pytest.raises(TypeError, match="loss is Linear; expected a KendallLoss"):
        WindowSchedule(torch.nn.Linear(2, 2), end=1.0, n_steps=2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="learnable"):
        WindowSchedule(KendallLoss(learnable=True), end=1.0, n_steps=1)
    for word in ("noise", "variant", "scheme", "reduction"):
        with pytest.raises(ValueError, match=f"{word}='no'"):
            KendallLoss(**{word: "no"})
