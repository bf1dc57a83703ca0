"""One small problem of one engine, for a checker to watch: ``python -m benchmarks.gpu.small_case METHOD DEVICE``."""

import sys

import torch

from benchmarks.gpu.equality import make_ranks
from benchmarks.gpu.smoothed import evaluate, random_scores
from torchrank.ops.pair_counts import WORKSPACE, pair_counts


def main(method: str, device: str) -> None:
    """Solve a symmetric and a cross problem that straddle tiles."""
    if method == "smoothed":
        x, y = random_scores(70, 150, device, 1), random_scores(33, 150, device, 2)
        for other, columns in ((None, 70), (y, 33)):
            evaluate(x, other, random_scores(70, columns, device, 3), "uniform", "exact")
    else:
        _count(method, device)
    if device == "cuda":
        torch.cuda.synchronize()


def _count(method: str, device: str) -> None:
    m, m2 = (70, 33) if method == "signs" else (5, 3)  # inversions take a program a pair, which racecheck makes slow
    x, y = make_ranks("partial", (2, m, 150), seed=1).to(device), make_ranks("tied", (2, m2, 150), seed=2).to(device)
    for other in (None, y):
        pair_counts(x, other, True, method, WORKSPACE, False)


if __name__ == "__main__":
    main(*sys.argv[1:])
