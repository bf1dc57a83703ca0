"""Keep the interpreter's tests out of the main process: Triton has to be told before it is imported."""

import os

import pytest

collect_ignore = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["interpret"]


@pytest.fixture
def nobody_was_warned(monkeypatch):
    """What is known of devices is asked for again, before and after."""
    from torchrank.ops import engines  # imported by none of the interpreter's tests before they choose

    monkeypatch.setattr(engines, "_warned", set())
    engines.why_unsuited.cache_clear()
    yield
    engines.why_unsuited.cache_clear()
