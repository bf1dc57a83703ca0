"""Which engine the Kendall loss takes for CUDA tensors, as far as a machine without a GPU can tell."""

from importlib.util import find_spec

import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

import torchrank
from tests.triton.card import CARD, Card, to_card, to_host
from torchrank.ops import engines

pytestmark = pytest.mark.usefixtures("nobody_was_warned")
X = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
TABLE = torch.ones(9, 9) - torch.eye(9)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("scheme", ["sum", "product"])
def test_single_precision_has_a_kernel(monkeypatch, noise, scheme):
    for weights in (None, "hyperbolic"):
        with Card(monkeypatch) as card:
            x = to_card(X).requires_grad_()
            loss = torchrank.kendall_loss(x, to_card(X), window=0.5, noise=noise, scheme=scheme, weights=weights)
        (launch,) = card.launches
        assert (launch.kernel, launch.device) == ("agreement_kernel", CARD)
        assert launch.settings["WITH_SLOPES"]
        assert launch.settings["WEIGHTED"] == (0 if weights is None else 1 + ["product", "sum"].index(scheme))
        assert loss.device == CARD


def test_all_else_is_plain_torch(monkeypatch):
    for x, settings in ((X.double(), {}), (X, {"pairs": to_card(TABLE)})):
        expected = torchrank.kendall_loss(x, X, window=0.5, pairs=TABLE if settings else None)
        with Card(monkeypatch) as card:
            found = torchrank.kendall_loss(to_card(x), to_card(X), window=0.5, **settings)
        assert not card.launches
        torch.testing.assert_close(to_host(found), expected, rtol=1e-5, atol=1e-6)


def test_older_cards_and_no_triton_take_plain_torch(monkeypatch):
    expected = torchrank.kendall_loss(X, -X, window=0.5)
    with Card(monkeypatch, capability=(7, 5)) as card, pytest.warns(UserWarning, match=r"capability is 7\.5"):
        found = torchrank.kendall_loss(to_card(X), to_card(-X), window=0.5)
    assert not card.launches
    torch.testing.assert_close(to_host(found), expected, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(
        engines, "why_missing", lambda device: "triton cannot be imported" if device == "cuda" else None
    )
    with Card(monkeypatch) as card:
        found = torchrank.kendall_loss(to_card(X), to_card(-X), window=0.5)
    assert not card.launches
    torch.testing.assert_close(to_host(found), expected, rtol=1e-5, atol=1e-6)
