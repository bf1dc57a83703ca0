"""Cards that the Triton kernels are not for take the reference, and say so once."""

from importlib.util import find_spec

import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

import torchrank
from tests.triton.card import Card, to_card, to_host
from torchrank.ops import engines

pytestmark = pytest.mark.usefixtures("nobody_was_warned")
X = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("vendor", ["old", "AMD"])
@pytest.mark.parametrize("name", ["kendall_gram", "smoothed_kendall_gram"])
def test_the_reference_answers_with_one_warning(monkeypatch, recwarn, vendor, name):
    call = getattr(torchrank, name)
    settings = {"window": 0.5} if name.startswith("smoothed") else {}
    expected = call(X, **settings)
    if vendor == "AMD":
        monkeypatch.setattr(torch.version, "hip", "6.2")
    with Card(monkeypatch, capability=(7, 5)) as card:
        results = [call(to_card(X), **settings) for _ in range(2)]
    assert not card.launches
    assert all(torch.allclose(to_host(result), expected, atol=1e-6) for result in results)
    reason = "built for AMD's" if vendor == "AMD" else "compute capability is 7.5, and the Triton kernels need 8.0"
    (warning,) = recwarn
    assert reason in str(warning.message)


def test_asking_for_a_fast_engine_is_refused_with_the_reason(monkeypatch):
    with Card(monkeypatch, capability=(7, 5)), pytest.raises(RuntimeError, match=r"'signs' has no engine .* 7\.5"):
        torchrank.kendall_gram(to_card(X), method="signs")


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 0), (10, 0), (12, 0), (13, 1)])
def test_newer_cards_run_the_kernels(monkeypatch, recwarn, capability):
    with Card(monkeypatch, capability=capability) as card:
        torchrank.kendall_gram(to_card(X))
    assert card.launches
    assert not recwarn


def test_other_devices_have_a_reason():
    assert "no fast engine is written for 'mps'" in str(engines.why_missing("mps"))
