"""Which fast engines this installation has, and why the others are missing."""

import importlib
from functools import cache

ENGINE_MODULE = {"cpu": "numba", "cuda": "triton"}


@cache
def why_missing(device_type: str) -> str | None:
    """None if the device type has its fast engines, else the reason with the remedy."""
    module = ENGINE_MODULE.get(device_type)
    if module is None:
        return (
            f"no fast engine is written for {device_type!r} tensors; "
            "move them to the CPU or to CUDA, or use method='reference'"
        )
    try:
        importlib.import_module(module)
    except ImportError as error:
        return f"{module} cannot be imported ({error}); install it with: pip install {module}"
    return None
