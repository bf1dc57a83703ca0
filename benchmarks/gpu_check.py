"""``python -m benchmarks.gpu_check``: everything that only a GPU can tell, in under five minutes, in one JSON file.

Every CUDA path is compared with the CPU engine, small problems run under NVIDIA's memory and race checkers, and the
engines are timed beside rates measured on the same card. It needs the checkout (not installed), torch with CUDA,
triton, numpy, scipy, numba and tqdm. The exit status is 1 if any count is wrong or an error too large. ``--dry-run``
goes the same way to the end at tiny size with the CPU in the place of the GPU and without Triton.

A new op adds a module under ``benchmarks/gpu`` with functions registered by ``@part`` and its name below.
"""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from benchmarks.env import environment, kernels_digest
from benchmarks.gpu.parts import PARTS, Context, Part, Verdict
from benchmarks.registry import RESULTS

MODULES = (
    *("rates", "equality", "public", "waits", "graphs", "smoothed", "losses", "learners"),
    *("timings", "planes", "tiling", "conditional", "sanitizer"),
)
LIMIT = 280.0  # seconds for all parts together
GRACE = 15.0  # more for the last call, which may hang


def main(arguments: list[str] | None = None) -> int:
    """Run all parts and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_check", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON file")
    parser.add_argument("--dry-run", action="store_true", help="rehearse at tiny size on the CPU")
    options = parser.parse_args(arguments)
    if not options.dry_run and not torch.cuda.is_available():
        parser.error(f"torch {torch.__version__} finds no CUDA device; rehearse with --dry-run")
    for module in MODULES:
        importlib.import_module(f"benchmarks.gpu.{module}")
    PARTS.sort(key=lambda part: MODULES.index(part.run.__module__.rpartition(".")[2]))  # whoever imported one before
    return 0 if check(options.out, dry=options.dry_run) else 1


def check(folder: Path, *, dry: bool) -> bool:
    """Run the parts, write the file after each, print a line for each, and say whether all passed."""
    device = "cpu" if dry else "cuda"
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gpu_check-{now}{'-dry' if dry else ''}.json"
    report: dict[str, Any] = {"run": now, "dry": dry, "environment": environment() | _driver(dry)}
    report |= {"kernels": kernels_digest(), "parts": {}}
    deadline = time.monotonic() + LIMIT
    watchdog = threading.Timer(LIMIT + GRACE, _give_up, [path])
    watchdog.daemon = True
    watchdog.start()
    shared: dict[str, Any] = {}
    passed = True
    for part in PARTS:
        start = time.monotonic()
        context = Context(device, dry, min(start + part.seconds, deadline), shared)
        verdict = _run(part, context)
        passed &= verdict.passed
        seconds = round(time.monotonic() - start, 1)
        report["parts"][part.name] = {**verdict._asdict(), "seconds": seconds, "rows": context.rows}
        report["passed"] = passed
        path.write_text(json.dumps(report, indent=1))
        print(f"{'ok  ' if verdict.passed else 'FAIL'} {part.name} ({seconds} s): {verdict.line}", flush=True)
    watchdog.cancel()
    print(f"{'all passed' if passed else 'FAILED'}; written to {path}")
    return passed


def _run(part: Part, context: Context) -> Verdict:
    """The part's verdict; an exception is a failed part, and must not cost the results of the others."""
    try:
        return part.run(context)
    except Exception as error:  # whatever it is, it goes into the report
        context.record(traceback=traceback.format_exc())
        return Verdict(False, f"{type(error).__name__}: {error}")


def _driver(dry: bool) -> dict[str, Any]:
    """What the environment of CPU benchmarks doesn't say about the card."""
    if dry:
        return {}
    properties = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return {
        "capability": torch.cuda.get_device_capability(),
        "multiprocessors": properties.multi_processor_count,
        "memory": properties.total_memory,
        "cuda": torch.version.cuda,
        "driver": subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
        if shutil.which(query[0])
        else None,
    }


def _give_up(path: Path) -> None:
    print(f"FAILED: a call has not returned for {GRACE:.0f} s; what was found until then is in {path}", flush=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
