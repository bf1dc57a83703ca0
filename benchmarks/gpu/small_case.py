"""One small problem of one engine, for a checker to watch: ``python -m benchmarks.gpu.small_case METHOD DEVICE``."""

import sys

import torch

from benchmarks.gpu.equality import make_ranks
from torchrank.ops.pair_counts import WORKSPACE, pair_counts


def main(method: str, device: str) -> None:
    """Count a symmetric and a cross problem that straddle tiles."""
    x, y = make_ranks("partial", (2, 70, 150), seed=1).to(device), make_ranks("tied", (2, 33, 150), seed=2).to(device)
    for other in (None, y):
        pair_counts(x, other, True, method, WORKSPACE, False)
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main(*sys.argv[1:])
