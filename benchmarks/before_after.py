"""``python -m benchmarks.before_after OTHER``: this checkout beside another one, in processes that take turns.

Each turn is a process that imports one checkout, calls every case until it is warm, and gives the median of some calls.
The medians over the turns of both go to ``results/before_after.jsonl``, with both commits.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.env import ROOT
from benchmarks.registry import Recorder, median

CASES = {  # setup of X, and the public call
    "kendall_gram 64 x 10": ("torch.randn(64, 10)", "torchrank.kendall_gram(X)"),
    "kendall_gram 2 x 10": ("torch.randn(2, 10)", "torchrank.kendall_gram(X)"),
    "kendall_gram 3,000 x 10": ("torch.randn(3000, 10)", "torchrank.kendall_gram(X)"),
    "kendall_gram 2,000 x 100": ("torch.randn(2000, 100)", "torchrank.kendall_gram(X)"),
    "kendall_gram 6,000 x 100": ("torch.randn(6000, 100)", "torchrank.kendall_gram(X)"),
    "kendall_gram 500 x 1,000": ("torch.randn(500, 1000)", "torchrank.kendall_gram(X)"),
    "kendall_gram 30 x 20,000": ("torch.randn(30, 20000)", "torchrank.kendall_gram(X)"),
    "kendall_gram 500 x 1,000, no ties": ("torch.rand(500, 1000).argsort(1)", "torchrank.kendall_gram(X)"),
    "kendall_gram with ties, 2,000 x 100": ("torch.randn(2000, 100).round()", "torchrank.kendall_gram(X)"),
    "kendall_distance 2,000 x 100": ("torch.randn(2000, 100)", "torchrank.kendall_distance(X)"),
    "mallows_gram 2,000 x 100": ("torch.randn(2000, 100)", "torchrank.mallows_gram(X, lam=0.01)"),
    "pair_counts 1,000 x 100": ("torch.randn(1000, 100)", "torchrank.pair_counts(X)"),
    "topk 500 x 100": ("torch.randn(500, 100)", 'torchrank.kendall_gram(X, missing="topk")'),
    "smoothed_kendall_gram 300 x 100": ("torch.randn(300, 100)", "torchrank.smoothed_kendall_gram(X, window=1.0)"),
    "borda 5,000 x 20": ("torch.randn(5000, 20)", "torchrank.borda(X)"),
    "kemeny 500 x 10": ("torch.randn(500, 10)", "torchrank.kemeny(X)"),
    "fit_mallows 5,000 x 10": ("torch.randn(5000, 10)", "torchrank.fit_mallows(X)"),
    "fit_plackett_luce 1,000 x 10": ("torch.randn(1000, 10)", "torchrank.fit_plackett_luce(X)"),
    "KernelKMeans 1,000 x 10": (
        "torch.randn(1000, 10)",
        "torchrank.KernelKMeans(3, n_init=3).fit(X, generator=torch.Generator().manual_seed(0))",
    ),
    "RankingKMeans 1,000 x 8": (
        "torch.randn(1000, 8)",
        "torchrank.RankingKMeans(3, n_init=3).fit(X, generator=torch.Generator().manual_seed(0))",
    ),
    "MallowsMixture 1,000 x 6": (
        "torch.randn(1000, 6)",
        "torchrank.MallowsMixture(6, 2, n_init=3).fit(X, generator=torch.Generator().manual_seed(0))",
    ),
    "top_scoring_pairs 100 x 1,000": (
        "torch.randn(100, 1000)",
        "torchrank.top_scoring_pairs(X, torch.arange(100) % 2, 3)",
    ),
    "10,000 pairs of rankings of 100 items": (
        "torch.randn(10000, 1, 100)",
        "torchrank.kendall_gram(X, X.flip(-1))",
    ),
}
_TURN = """
import json, statistics, time, torch, torchrank
torch.manual_seed(0)
medians = {}
for name, (setup, call) in %s.items():
    X = eval(setup)
    run = compile(call, name, "eval")
    seconds, end = [], time.perf_counter() + 60
    for k in range(4000):
        start = time.perf_counter(); eval(run); seconds.append(time.perf_counter() - start)
        if k >= 5 and sum(seconds) > 1.2 or start > end: break
    medians[name] = statistics.median(seconds[len(seconds) // 3:])
print(json.dumps(medians))
"""


def main() -> None:
    """Parse the command line, take turns, print and record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description=__doc__)
    parser.add_argument("other", type=Path, help="another checkout, the state before")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain it")
    arguments = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if arguments.only in name}
    checkouts = {"before": arguments.other.resolve(), "after": ROOT}
    turns = [{name: _turn(folder, cases) for name, folder in checkouts.items()} for _ in range(arguments.turns)]
    recorder = Recorder("before_after")
    recorder.append(commits={name: _commit(folder) for name, folder in checkouts.items()}, turns=arguments.turns)
    for case in cases:
        before, after = (median([turn[name][case] for turn in turns]) for name in checkouts)
        recorder.append(case=case, before_s=before, after_s=after, ratio=after / before)
        print(f"{case:<45}{1e3 * before:>10.3f} ms{1e3 * after:>10.3f} ms{after / before:>7.2f}")


def _turn(folder: Path, cases: dict[str, tuple[str, str]]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", _TURN % repr(cases)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def _commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
