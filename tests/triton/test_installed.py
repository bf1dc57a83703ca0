import os
import platform
from importlib.util import find_spec

import pytest

WHEELS = platform.system() == "Linux" and platform.machine() == "x86_64"


@pytest.mark.skipif(not (WHEELS and os.environ.get("CI") == "true"), reason="only where CI must run the Triton tests")
def test_triton_is_there_so_that_its_tests_are_not_all_skipped():
    assert find_spec("triton") is not None
    assert os.environ.get("TRITON_INTERPRET") != "1"
