"""A million rankings on disk into clusters, and kernel k-means beside scikit-learn's k-means of the same features."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans

import torchrank as tr
from benchmarks.apart import apart
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank.clustering.geometries import FeatureGeometry
from torchrank.clustering.points import ungrouped
from torchrank.clustering.seeds import start_labels

_SETUP = """
X = np.load({path!r}, mmap_mode="r")
tr.KernelKMeans({c}).fit(tr.Batches(X[:2000], 1000))
model = tr.KernelKMeans({c})
"""
_FIT = """
import json
fit = model.fit(tr.Batches(X), generator=torch.Generator().manual_seed(0))
print(json.dumps([fit.n_iter, fit.converged, fit.objective[-1]]))
"""


@benchmark("batched_fits")
def run(recorder: Recorder, m: int = 1_000_000, repeats: int = 3, seeds: int = 24) -> None:
    """10^6 rankings of 50 items on disk into 10 clusters; then 5,000 of 10 into 5, ten starts, beside scikit-learn."""
    n, c = 50, 10
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        _write(path, m, n, c)
        runs = [apart(_SETUP.format(path=str(path), c=c), _FIT) for _ in range(repeats)]
    seconds, memory = [cost.seconds for cost in runs], median([cost.peak_bytes for cost in runs])
    n_iter, converged, objective = json.loads(runs[0].said[-1])
    recorder.append(
        what="kernel k-means in batches",
        shape=[m, n, c],
        seconds=median(seconds),
        all_seconds=seconds,
        peak_bytes=memory,
        n_iter=n_iter,
        converged=converged,
        objective=objective,
    )
    print(f"{[m, n, c]} {median(seconds):.1f} s, {memory / 2**20:.0f} MiB, {n_iter} passes", flush=True)
    _beside_scikit_learn(recorder, seeds)


def _write(path: Path, m: int, n: int, c: int) -> None:
    """Noisy copies of c rankings, a part at a time."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (m, n))
    for cluster in range(c):
        part = rows[cluster::c]
        part[:] = rng.permutation(n) + rng.normal(0, n / 2, part.shape)
    rows.flush()


def _beside_scikit_learn(recorder: Recorder, seeds: int) -> None:
    m, n, c, starts = 5000, 10, 5, 10
    for seed in range(seeds):
        X = np.random.default_rng(seed).normal(size=(m, n))
        features = tr.kendall_features(X)
        model = tr.KernelKMeans(c, n_init=starts)
        found: dict[str, float] = {}

        def ours(model=model, X=X, seed=seed, found=found) -> None:
            found["torchrank"] = model.fit(X, generator=torch.Generator().manual_seed(seed)).objective[-1]

        def theirs(features=features, seed=seed, found=found) -> None:
            model: Any = KMeans  # whose stubs take no number of starts
            found["scikit-learn"] = float(model(c, n_init=starts, random_state=seed).fit(features).inertia_)

        seconds = alternate({"torchrank": ours, "scikit-learn": theirs}, 3)
        for name, values in seconds.items():
            recorder.append(
                what=f"{name}, {starts} starts",
                shape=[m, n, c],
                seed=seed,
                seconds=median(values),
                all_seconds=values,
                objective=found[name],
            )
        print(
            seed,
            {name: (round(median(values), 3), round(found[name], 2)) for name, values in seconds.items()},
            flush=True,
        )
        _from_the_same_starts(recorder, X, features, c, starts, seed)


def _from_the_same_starts(recorder: Recorder, X: Any, features: Any, c: int, starts: int, seed: int) -> None:
    """Draws of two programs differ by chance; from the same starts only what is made of them differs."""
    points, generator = torch.as_tensor(features, dtype=torch.float64), torch.Generator().manual_seed(seed)
    ones = torch.ones(len(points), dtype=torch.float64)
    labels = start_labels(FeatureGeometry(points, ones), ungrouped(ones), c, "k-means++", starts, generator)
    ours = tr.KernelKMeans(c, init=labels).fit(X).losses
    centers = [np.stack([features[row == j].mean(0) for j in range(c)]) for row in labels.numpy()]
    model: Any = KMeans  # whose stubs take neither centers nor a number of starts
    theirs = [float(model(c, init=start, n_init=1).fit(features).inertia_) for start in centers]
    recorder.append(
        what="the same starts", shape=[len(X), X.shape[1], c], seed=seed, torchrank=ours, scikit_learn=theirs
    )
    print(seed, "same starts", *(round(a - b, 6) for a, b in zip(ours, theirs, strict=True)), flush=True)
