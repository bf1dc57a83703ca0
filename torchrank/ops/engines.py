"""Which fast engines this installation has, and why the others are missing."""

import importlib
from functools import cache

import torch

from torchrank._warnings import warn

OLDEST = (8, 0)  # compute capability; on 7.5 every tensor-core kernel spills registers
ENGINE_MODULE = {"cpu": "numba", "cuda": "triton"}


@cache
def why_missing(device_type: str) -> str | None:
    """None if the device type has its fast engines, else the reason with the remedy.

    Cards of one type may still differ: :func:`why_unsuited`.
    """
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


@cache
def why_unsuited(device: torch.device) -> str | None:
    """Why a device whose type has fast engines can't run them: Triton's are for NVIDIA cards from 8.0 on; else None."""
    if device.type != "cuda":
        return None
    if torch.version.hip:
        return "the Triton kernels are written for NVIDIA cards, and this torch is built for AMD's"
    capability = torch.cuda.get_device_capability(device)
    if capability < OLDEST:
        have, need = (".".join(map(str, pair)) for pair in (capability, OLDEST))
        return f"its compute capability is {have}, and the Triton kernels need {need} or newer"
    return None


def runs_triton(device: torch.device) -> bool:
    """Whether the Triton kernels run on a CUDA device; one that they are not for is warned about once."""
    if why_missing("cuda"):
        return False
    reason = why_unsuited(device)
    if reason:
        warn_once(device, reason)
    return reason is None


_warned: set[str] = set()


def warn_once(device: torch.device, reason: str) -> None:
    """Say, the first time for each type of device, that it has the reference engine only."""
    if device.type not in _warned:
        _warned.add(device.type)
        warn(f"torchrank uses its slow reference engine on {device.type}: {reason}")
