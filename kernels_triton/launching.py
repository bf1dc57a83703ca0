"""What every launcher does around its kernels: the device of its tensors, whole tiles, and the card's architecture."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from kernels_triton import tiles

Launcher = TypeVar("Launcher", bound=Callable[..., Any])
_INTERPRETED = 90  # the architecture whose tiles kernels have under the interpreter


def on_device_of_tensors(launch: Launcher) -> Launcher:
    """A launcher that runs with the device of its first argument as the current one, and with autocast off.

    Triton launches on the current device and its current stream, which may be another card's. Autocast would round the
    matrix products that launchers make in torch.
    """

    @wraps(launch)
    def guarded(x: Tensor, *args: Any, **settings: Any) -> Any:
        kind = x.device.type
        with (
            torch.cuda.device(x.device) if x.is_cuda else nullcontext(),
            torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext(),
        ):
            return launch(x, *args, **settings)

    return guarded  # type: ignore[return-value]


def architecture_of(x: Tensor) -> int:
    """The tile tables' architecture for the device of a tensor."""
    return tiles.architecture(torch.cuda.get_device_capability(x.device)) if x.is_cuda else _INTERPRETED


def options_of(tile: tiles.SignTile | tiles.SmoothedTile) -> dict[str, int]:
    """What a kernel that multiplies tiles is compiled for."""
    return {
        "BX": tile.rows_x,
        "BY": tile.rows_y,
        "BK": tile.items,
        "CHUNK": tile.chunk,
        "num_warps": tile.warps,
        "num_stages": tile.stages,
        "maxnreg": tile.registers,
    }


def round_up(size: int, multiple: int) -> int:
    """The least multiple that is not below ``size``."""
    return -(-size // multiple) * multiple
