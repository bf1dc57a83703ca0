"""``python -m benchmarks.run devices --device cpu,cuda``: public calls on the CPU and on a card, side by side.

Every case is run on every device before it is timed, and the results are compared. Then come memory, and warm calls
that take turns. Rows go to ``devices.jsonl``, the picture lies beside it, and the table is printed;
``python -m benchmarks.devices.page`` puts both into docs/gpu.md.
"""

import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import torchrank
from benchmarks.devices import kernels, learners  # noqa: F401 - they register the cases
from benchmarks.devices.cases import CASES, Case, scores
from benchmarks.devices.measure import REPEATS, Device, peak_bytes, seconds_of, transfer_seconds, turns
from benchmarks.devices.page import draw, summary
from benchmarks.registry import Recorder, device_benchmark, median
from torchrank import ConvergenceWarning

LIMIT = 220.0  # seconds, after which a run with a card begins no further size: cards are lent by the minute
SMALL_ROWS, SMALL_ITEMS, SMALL_REPEATS = 64, 10, 101


@device_benchmark("devices")
def run(recorder: Recorder, names: Sequence[str], quick: bool) -> None:
    """Time all cases on the devices that there are."""
    devices = available(names)
    on_a_card = any(device.where.type == "cuda" for device in devices)
    compare(recorder, devices, quick=quick, limit=LIMIT if on_a_card else math.inf)


def available(names: Sequence[str]) -> list[Device]:
    """Those of the devices that are here, the CPU before cards and if there is no card, and a line for every other."""
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    found = []
    for name in names:
        where = torch.device(name)
        if where.type == "cuda" and (where.index or 0) >= cards:
            why = (
                f"the last CUDA device is cuda:{cards - 1}"
                if cards
                else f"torch {torch.__version__} finds no CUDA device"
            )
            print(f"{name}: column left out; {why}")
        else:
            found.append(Device(name, where))
    found = found or [Device("cpu", torch.device("cpu"))]
    return sorted(found, key=lambda device: device.where.type != "cpu")  # cards are compared with the first


def compare(recorder: Recorder, devices: Sequence[Device], *, quick: bool = False, limit: float = math.inf) -> None:
    """Record, print and draw all cases.

    Raises:
        AssertionError: cases failed, or results differ between devices by more than their tolerance; after all rows are
            written.
    """
    rows: list[dict[str, Any]] = []

    def record(**row: Any) -> None:
        rows.append(row)
        recorder.append(**row)

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    record(devices=[device.name for device in devices], quick=quick, compiled_before=compiled_before(), load=load)
    end = time.monotonic() + limit
    wrong: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are cut short on purpose
        for case, size in [(each, size) for each in CASES for size in ([each.quick] if quick else each.sizes)]:
            what = f"{case.name}, {size:,} {case.axis}"
            if time.monotonic() > end:
                record(left_out=what)
                continue
            try:
                for row in measured(case, size, devices, 1 if quick else REPEATS):
                    record(**row)
                    wrong += [f"{what}: {row['device']} differs by {row['difference']:.1e}"] if row["differs"] else []
            except Exception as error:  # whatever it is, it must not cost the rows of other cases
                record(failed=what, error=f"{type(error).__name__}: {error}")
                wrong.append(f"{what}: {type(error).__name__}: {error}")
                print(f"FAILED {wrong[-1]}", flush=True)
        # At the end, so that it compiles nothing that the first call of a case is to compile.
        for row in overhead(devices, 5 if quick else SMALL_REPEATS):
            record(**row)
    picture = recorder.path.with_suffix(".png")
    draw(rows, picture)
    print(f"\n{summary(rows)}\n\nrun {recorder.run}: rows in {recorder.path}, picture {picture}")
    if wrong:
        raise AssertionError("; ".join(wrong))


def measured(case: Case, size: int, devices: Sequence[Device], repeats: int) -> Iterator[dict[str, Any]]:
    """A row for each device: its first call, warm calls, the way to it, and memory."""
    inputs = case.inputs(size)
    runs = {}
    for device in devices:
        there = device.put(inputs)
        runs[device.name] = device.waited(lambda there=there: case.call(*there))
    first = {name: seconds_of(run) for name, run in runs.items()}
    differences = {name: difference(result, first[devices[0].name][1]) for name, (_, result) in first.items()}
    first = {name: seconds for name, (seconds, _) in first.items()}  # results are not to be held any longer
    peaks = {device.name: peak_bytes(device, runs[device.name]) for device in devices}
    warm = turns(runs, repeats)
    for device in devices:
        name = device.name
        tolerance = case.tolerance
        row: dict[str, Any] = {
            "case": case.name,
            "axis": case.axis,
            "size": size,
            "device": name,
            "first_seconds": first[name],
            "seconds": median(warm[name]),
            "all_seconds": warm[name],
            "input_bytes": sum(tensor.nbytes for tensor in inputs),
            "transfer_seconds": transfer_seconds(device, inputs),
            "peak_bytes": peaks[name],
            "difference": differences[name],
            "differs": tolerance is not None and not differences[name] <= tolerance,
        }
        print(
            f"{case.name:<34}{size:>8,} {name:<8} first {row['first_seconds']:8.3f} s  warm {row['seconds']:9.5f} s"
            f"{'  DIFFERS' if row['differs'] else ''}",
            flush=True,
        )
        yield row


def difference(result: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest value."""
    result, expected = (tensor.detach().double().cpu() for tensor in (result, expected))
    return float((result - expected).abs().max() / expected.abs().max().clamp(min=1e-300))


def overhead(devices: Sequence[Device], repeats: int) -> Iterator[dict[str, Any]]:
    """A call so small that only what surrounds it counts, beside the same in plain torch."""
    X = scores(SMALL_ROWS, SMALL_ITEMS)
    runs = {}
    for device in devices:
        (there,) = device.put((X,))
        own = device.waited(lambda there=there: torchrank.kendall_gram(there))
        plain = device.waited(lambda there=there: in_plain_torch(there))
        if not difference(own(), plain()) < 1e-6:
            raise AssertionError(f"kendall_gram differs from plain torch on {device.name}")
        runs |= {f"{device.name} torchrank": own, f"{device.name} torch": plain}
    seconds = {name: median(taken) for name, taken in turns(runs, repeats).items()}
    for device in devices:
        own, plain = (seconds[f"{device.name} {by}"] for by in ("torchrank", "torch"))
        yield {
            "small": [SMALL_ROWS, SMALL_ITEMS],
            "device": device.name,
            "seconds": own,
            "torch_seconds": plain,
        }


def in_plain_torch(X: Tensor) -> Tensor:
    """Kendall's kernel of rankings without ties as one would write it: signs of all pairs times their transpose."""
    n = X.shape[-1]
    signs = (X[:, :, None] - X[:, None, :]).sign().flatten(1)
    return signs @ signs.mT / (n * (n - 1))


def compiled_before() -> dict[str, bool]:
    """Whether earlier processes left compiled code, which a first call then only loads."""
    numba = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(torchrank.__file__).parent / "cpu")
    triton = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    return {"numba": any(numba.rglob("*.nbc")), "triton": any(triton.rglob("*.cubin"))}
