"""``python -m benchmarks.run NAME``: run a registered benchmark and append its rows to the results.

``--device cpu,cuda`` names the devices of a benchmark that compares devices, and ``--quick`` rehearses it.
"""

import argparse
import importlib
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import BENCHMARKS, DEVICE_BENCHMARKS, RESULTS, Recorder

MODULES = (
    "benchmarks.aggregation",
    "benchmarks.classification",
    "benchmarks.clustering",
    "benchmarks.conditional",
    "benchmarks.devices.run",
    "benchmarks.gradient_descent",
    "benchmarks.label_ranking",
    "benchmarks.losses",
    "benchmarks.preferences",
    "benchmarks.scale",
    "benchmarks.training",
    *(
        f"benchmarks.ops.{name}"
        for name in (
            "kendall_gram",
            "footprint",
            "cost",
            "partial",
            "smoothed",
            "sparse",
            "stream",
            "landmarks",
            "batched_fits",
        )
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    for module in MODULES:
        importlib.import_module(module)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("name", choices=sorted({*BENCHMARKS, *DEVICE_BENCHMARKS}))
    parser.add_argument("--device", help='devices, separated by commas: "cpu", "cuda", "cuda:1"; default "cpu"')
    parser.add_argument("--quick", action="store_true", help="tiny sizes; rows go to a temporary folder without --out")
    parser.add_argument("--out", type=Path, help="folder for the rows; default benchmarks/results")
    options = parser.parse_args(arguments)
    name: str = options.name
    if name in BENCHMARKS:
        for option, given in (("--device", options.device is not None), ("--quick", options.quick)):
            if given:
                parser.error(f"{name} does not take {option}; those that do: {', '.join(sorted(DEVICE_BENCHMARKS))}")
        BENCHMARKS[name](Recorder(name, options.out or RESULTS))
        return
    devices = list(dict.fromkeys(("cpu" if options.device is None else options.device).split(",")))
    unknown = [device for device in devices if not re.fullmatch(r"cpu|cuda(:\d+)?", device)]
    if unknown:
        parser.error(f'--device has {unknown[0]!r}; expected "cpu", "cuda" or "cuda:1", separated by commas')
    folder = options.out or (Path(tempfile.mkdtemp()) if options.quick else RESULTS)
    DEVICE_BENCHMARKS[name](Recorder(name, folder), devices, options.quick)


if __name__ == "__main__":
    main()
