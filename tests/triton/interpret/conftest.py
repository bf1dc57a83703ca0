"""Turn the Triton interpreter on; tests here run kernels on CPU tensors, a program after the other."""

import os
import sys

import pytest

if "triton" in sys.modules:
    pytest.exit("the interpreter needs a process of its own: run pytest tests/triton/interpret alone", returncode=3)
os.environ["TRITON_INTERPRET"] = "1"

pytest.importorskip("triton")
