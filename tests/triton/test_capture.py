"""Calls that `benchmarks.gpu.graphs` captures as CUDA graphs ask the device nothing."""

from importlib.util import find_spec

import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

from tests.triton.card import Card, to_card

graphs = pytest.importorskip("benchmarks.gpu.graphs", reason="needs a checkout")


@pytest.mark.parametrize("name", graphs.CALLS)
def test_what_can_be_captured_asks_the_device_nothing(monkeypatch, name):
    with Card(monkeypatch) as card:
        given = to_card(torch.arange(6 * 9).reshape(6, 9))
        graphs.CALLS[name](given)
    assert card.waits == []
    assert card.launches
