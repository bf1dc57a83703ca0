"""``python -m benchmarks.run NAME``: run a registered benchmark and append its rows to the results."""

import argparse
import importlib

from benchmarks.registry import BENCHMARKS, Recorder

MODULES = (
    "benchmarks.aggregation",
    "benchmarks.classification",
    "benchmarks.clustering",
    "benchmarks.conditional",
    "benchmarks.label_ranking",
    "benchmarks.preferences",
    "benchmarks.scale",
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


def main() -> None:
    """Parse the command line and run."""
    for module in MODULES:
        importlib.import_module(module)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHMARKS))
    name = parser.parse_args().name
    BENCHMARKS[name](Recorder(name))


if __name__ == "__main__":
    main()
