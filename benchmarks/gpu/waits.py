"""How often a Gram matrix makes the host wait for the device: at most once, and never where nothing has to be asked."""

import warnings
from collections.abc import Callable
from typing import Any

import torch

import torchrank
from benchmarks.gpu.parts import Context, Verdict, part

# (settings, most waits): unranked items and ties are asked for together; integers have no NaN, signs need no ties.
CALLS: tuple[tuple[dict[str, Any], torch.dtype, int], ...] = (
    ({"method": "signs"}, torch.float32, 1),
    ({"method": "inversions"}, torch.float32, 1),
    ({"method": "auto"}, torch.float64, 1),
    ({"method": "inversions"}, torch.int32, 1),
    ({"method": "signs"}, torch.int32, 0),
    ({"method": "signs", "missing": "pairwise"}, torch.float32, 0),
)


@part("waits", seconds=10)
def waits(context: Context) -> Verdict:
    """Count synchronizations of ``kendall_gram`` of two inputs, with and without a second set of rankings."""
    too_many: list[str] = []
    for settings, dtype, most in CALLS:
        X, Y = (torch.arange(m * 64, device=context.device).reshape(m, 64).to(dtype) for m in (9, 5))
        for name, other in (("X", None), ("X, Y", Y)):
            count = _synchronizations(lambda X=X, other=other, kw=settings: torchrank.kendall_gram(X, other, **kw))
            context.record(arguments=name, settings=settings, dtype=str(dtype), waits=count, most=most)
            too_many += [f"{count} for {name} with {settings} and {dtype}"] if count > most else []
    return Verdict(not too_many, f"TOO OFTEN: {'; '.join(too_many)}" if too_many else "at most one wait a call")


def _synchronizations(call: Callable[[], Any]) -> int:
    """Warnings of torch's synchronization debug mode; 0 where there is no device to wait for."""
    call()  # compiles, and loads modules, which may wait
    if not torch.cuda.is_available():
        return 0
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return sum("synchroniz" in str(warning.message) for warning in caught)
