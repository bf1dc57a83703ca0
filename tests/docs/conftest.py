import sys

import pytest


@pytest.fixture(autouse=True)
def _figures_close():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
