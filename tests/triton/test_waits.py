"""How often public calls wait for a card: the limits that ``benchmarks.gpu.waits`` holds on a real one."""

from importlib.util import find_spec

import pytest

if find_spec("triton") is None:
    pytest.skip("triton is not installed", allow_module_level=True)

from tests.triton.card import Card, to_card

waits = pytest.importorskip("benchmarks.gpu.waits", reason="needs a checkout")


@pytest.mark.parametrize("call", waits.CALLS, ids=lambda call: call.name)
def test_no_call_waits_more_often_than_it_may(monkeypatch, call):
    with Card(monkeypatch) as card:
        for two in (False, True):
            run = call.prepared(to_card, two=two)
            card.waits.clear()
            run()
            assert len(card.waits) <= call.most, card.waits
