"""Ahead-of-time tests need Triton's compiler, which interpreted kernels don't have."""

import os
from importlib.util import find_spec

collect_ignore = []
if find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1":
    collect_ignore = ["test_compile.py"]
