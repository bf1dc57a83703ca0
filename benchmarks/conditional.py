"""Speed and memory of conditional ranking: ``python -m benchmarks.conditional [NAME ...]``.

Each row has its yardstick from the same run: two eigen-decompositions and four products for the closed form, Krylov
iterations with two dense products for the eigenbasis. Every timing comes after a comparison of results.
"""

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.registry import Recorder, alternate, benchmark
from torchrank.conditional import FitState, KroneckerEigh, kron_edge_rls, kron_iterative_rls, kron_rank_rls
from torchrank.linalg import cg

NODES = 1000
ITERATIONS = 200


def node_kernel(p: int, seed: int = 0) -> Tensor:
    """A full-rank Gaussian kernel of random points."""
    X = torch.randn(p, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.exp(-(torch.cdist(X, X) ** 2) / 40)


def labels(m: int, n: int) -> Tensor:
    """Random labels."""
    return torch.randn(m, n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def plain_cg(K: Tensor, F: Tensor, lam: float, iterations: int) -> Tensor:
    """CG on the symmetric system of the ranking loss, two dense products an iteration."""

    def center(v: Tensor) -> Tensor:
        return v - v.mean(1, keepdim=True)

    return cg(lambda v: center(K @ center(v) @ K) + lam * v, center(F), tol=0, max_iter=iterations).x


def closed_form(recorder: Recorder) -> None:
    """Closed-form RankRLS against its parts, against CG untied and in the eigenbasis, and leave-out predictions."""
    K, F = node_kernel(NODES), labels(NODES, NODES)
    difference = (
        (kron_rank_rls(K, None, F, 1.0) - kron_iterative_rls(K, None, F, 1.0, loss="ranking", tol=1e-12).duals)
        .abs()
        .max()
    )
    assert difference < 1e-8, f"closed form and iterations differ by {difference}"
    solver = KroneckerEigh(K, loss="ranking")

    def parts() -> Tensor:
        torch.linalg.eigh(K)
        torch.linalg.eigh(K)
        return K @ (K @ F @ K) @ K

    def leave_out() -> None:
        KroneckerEigh(K, loss="ranking").loo(F, 1.0, exclude="query")

    def iterate() -> None:
        fit = kron_iterative_rls(K, None, F, 1.0, loss="ranking", tol=0, max_iter=ITERATIONS)
        assert fit.n_iter == ITERATIONS, f"{fit.reason} after {fit.n_iter} iterations"

    contestants: dict[str, Callable[[], object]] = {
        "closed form": lambda: kron_rank_rls(K, None, F, 1.0),
        "two eigh and four products": parts,
        "decompose and leave out every query": leave_out,
        "solve again": lambda: solver.solve(F, 1.0),
        "leave out every query again": lambda: solver.loo(F, 1.0, exclude="query"),
        f"{ITERATIONS} CG iterations in the eigenbasis": iterate,
        "untied": lambda: plain_cg(K, F, 1.0, 20),
    }
    seconds = {name: min(values) for name, values in alternate(contestants, 5).items()}  # the least disturbed
    seconds[f"{ITERATIONS} untied CG iterations"] = seconds.pop("untied") * ITERATIONS / 20  # all cost the same
    for name, value in seconds.items():
        relative = value / seconds["closed form"]
        recorder.append(nodes=NODES, name=name, seconds=value, times_closed_form=relative)
        print(f"p={NODES} {name:<42} {value:8.3f} s = {relative:6.2f} x closed form")


def large(recorder: Recorder) -> None:
    """Time and peak memory of p = 5000, 25 million edges, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.conditional", "--large-child"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    row = json.loads(report)
    recorder.append(nodes=5000, name="closed form", **row)
    print(f"p=5000 closed form {row['seconds']:.1f} s, peak memory of the process {row['peak_gigabytes']:.2f} GB")


def closed_form_once(p: int, device: str) -> dict[str, float]:
    """Seconds and peak gigabytes of closed-form RankRLS with ``p`` nodes, checked on a few rows of its system.

    The peak is that of the device's memory on CUDA, else that of the whole process.
    """
    K, F = node_kernel(p).to(device), labels(p, p).to(device)
    _synchronize(device)
    start = time.perf_counter()
    A = kron_rank_rls(K, None, F, 1.0)
    _synchronize(device)
    seconds = time.perf_counter() - start
    if K.is_cuda:
        peak = torch.cuda.max_memory_allocated() / 1e9
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    misfit = F[:3] - K[:3] @ A @ K
    residual = float((misfit - misfit.mean(1, keepdim=True) - A[:3]).abs().max())
    assert residual < 1e-8, f"the system is solved to {residual} only"
    return {"seconds": seconds, "peak_gigabytes": peak}


def _synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def edges(recorder: Recorder) -> None:
    """Iterations on lists of edges between 2,000 and 2,000 nodes, 100 times the least disturbed of 20."""
    Ks, Ke = node_kernel(2000), node_kernel(2000, seed=5)
    generator = torch.Generator().manual_seed(2)
    for q in (10_000, 100_000, 1_000_000):
        pairs = torch.randint(2000, (q, 2), generator=generator)
        y = labels(1, q)[0]
        for loss in ("regression", "ranking"):
            moments: list[tuple[float, float]] = []

            def note(state: FitState, moments: list[tuple[float, float]] = moments) -> None:
                moments.append((time.perf_counter(), time.process_time()))

            kron_edge_rls(Ks, Ke, pairs, y, 1.0, loss=loss, tol=0, max_iter=20, callback=note)
            wall, processor = (
                100 * min(later[clock] - earlier[clock] for earlier, later in itertools.pairwise(moments))
                for clock in (0, 1)
            )
            recorder.append(
                nodes=4000, edges=q, loss=loss, name="100 CG iterations", seconds=wall, processor_seconds=processor
            )
            print(f"{q:>9} edges, {loss:<10} 100 CG iterations {wall:7.2f} s, processor {processor:7.2f} s")


PARTS = {"closed_form": closed_form, "edges": edges, "large": large}


@benchmark("conditional_speed")
def run(recorder: Recorder) -> None:
    """Run all parts."""
    for part in PARTS.values():
        part(recorder)


def main() -> None:
    """Run some parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--large-child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.large_child:
        print(json.dumps(closed_form_once(5000, "cpu")))
        return
    recorder = Recorder("conditional_speed")
    for name in arguments.parts or PARTS:
        PARTS[name](recorder)


if __name__ == "__main__":
    main()
