"""``python -m benchmarks.crossover [--write]``: up to how many items sign planes beat inversion counting on this CPU.

With ``--write`` the table goes to ``torchrank/cpu/crossover.py``, from which ``method="auto"`` chooses.
"""

import argparse
import re

import numpy as np
import torch

from benchmarks.env import ROOT
from benchmarks.registry import Recorder, alternate, median
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.pair_counts import WORKSPACE, pair_counts

_ROWS = (2, 8, 32, 128, 512)
_ITEMS = (16, 64, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384)
_TABLE = ROOT / "torchrank" / "cpu" / "crossover.py"


def main() -> None:
    """Measure, print, record, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the table of method='auto'")
    write = parser.parse_args().write
    recorder = Recorder("crossover")
    for name, levels in (("UNTIED", None), ("TIED", 9)):
        table = [(2 * m, _limit(recorder, m, levels)) for m in _ROWS]  # a Gram matrix has m rankings on each side
        kept = [row for k, row in enumerate(table) if k == 0 or row[1] != table[k - 1][1]]
        print(name, kept)
        if write:
            rows = "".join(f"({fewest}, {most}), " for fewest, most in kept).rstrip(", ")
            line = f"{name} = ({rows},)" if len(kept) == 1 else f"{name} = ({rows})"
            _TABLE.write_text(re.sub(rf"^{name} = .*$", line, _TABLE.read_text(), flags=re.MULTILINE))


def _limit(recorder: Recorder, m: int, levels: int | None) -> int:
    """The largest number of items for which signs wins with m rankings on each side."""
    limit = 0
    for n in _ITEMS:
        if m * m * n * n > 2e13:  # seconds a call: far beyond the crossover
            break
        rng = np.random.default_rng(n)
        scores = rng.standard_normal((m, n)) if levels is None else rng.integers(0, levels, (m, n)).astype(float)
        ranks = dense_ranks(torch.from_numpy(scores), "allow", "scores")[0][None]
        runs = {
            method: lambda ranks=ranks, method=method: pair_counts(ranks, None, False, method, WORKSPACE, False)
            for method in ("signs", "inversions")
        }
        for run in runs.values():
            run()  # compiles
        seconds = {method: median(times) for method, times in alternate(runs, 5).items()}
        recorder.append(n=n, m=m, levels=levels, seconds=seconds)
        if seconds["signs"] > 1.05 * seconds["inversions"]:  # a tie is no loss
            break
        limit = n
    return limit


if __name__ == "__main__":
    main()
