"""Speed and memory of all pairs of genes: ``python -m benchmarks.run top_scoring_pairs``."""

import resource
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.registry import Recorder, benchmark
from torchrank.classification import all_pairs_margins, top_scoring_pairs

SIZES = ((2_000, 62), (12_600, 102), (22_283, 198))  # genes, samples; the last is breast cancer 2
KEPT = 5_000


@benchmark("top_scoring_pairs")
def run(recorder: Recorder) -> None:
    """Time random samples with the ties of measured ones, 600 levels, after a check against untied NumPy."""
    rng = np.random.default_rng(0)
    _check(rng)
    for genes, samples in SIZES:
        X = rng.integers(0, 600, (samples, genes)).astype(np.float32)
        y = np.arange(samples) * 56 // samples >= 40
        for name, work in (
            ("top scoring pairs", lambda X=X, y=y: top_scoring_pairs(X, y, KEPT)),
            ("all pairs vote, 20 new samples", lambda X=X, y=y: all_pairs_margins(X, y, X[:20])),
        ):
            before, seconds = _peak(), _time(work)
            row = {"what": name, "genes": genes, "samples": samples, "seconds": seconds}
            comparisons = genes * (genes - 1) / 2 * samples / seconds
            recorder.append(
                **row,
                threads=torch.get_num_threads(),
                comparisons_per_second=comparisons,
                peak_mib=_peak(),
                peak_mib_before=before,
            )
            print(f"{name:<32} {genes:>7} x {samples:<4} {seconds:8.3f} s  peak {_peak():7.1f} MiB")


def _check(rng: np.random.Generator) -> None:
    X, y = rng.integers(0, 9, (11, 40)), np.arange(11) % 2
    i, j = np.triu_indices(40, 1)
    signs = np.sign(X[:, i] - X[:, j])
    best = np.abs(signs[y == 1].mean(0) - signs[y == 0].mean(0)).max() / 2
    found = top_scoring_pairs(X, y).score[0]
    if abs(found - best) > 1e-12:
        raise AssertionError(f"the best pair scores {best} and top_scoring_pairs says {found}")


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak() -> float:
    """Largest memory of the process so far, imports included, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
