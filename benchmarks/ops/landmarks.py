"""Features of rankings from landmarks, and beside scikit-learn's Nystroem as many rows as can be waited for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

import torchrank as tr
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank import estimators

_ITEMS, _LANDMARKS = 50, 200


@benchmark("landmarks")
def run(recorder: Recorder, m: int = 100_000, few: int = 100, landmarks: int = _LANDMARKS, repeats: int = 3) -> None:
    """100,000 rankings of 50 items, 200 landmarks; scikit-learn, which calls a kernel pair by pair: 100 and 50."""
    X = np.random.default_rng(0).normal(size=(m, _ITEMS))
    kernel: Any = tr.MallowsKernel(lam=4.0, normalize=True)
    ours = estimators.LandmarkFeatures(kernel, landmarks, random_state=0)
    fewer = landmarks // 4
    few_of_ours = estimators.LandmarkFeatures(kernel, fewer, random_state=0)
    theirs = Nystroem(kernel=kernel, n_components=fewer, random_state=0)
    ours.fit_transform(X[: 2 * landmarks])
    _say(recorder, "torchrank", m, landmarks, alternate({"": lambda: ours.fit_transform(X)}, repeats)[""])
    small: dict[str, Callable[[], Any]] = {
        "torchrank": lambda: few_of_ours.fit_transform(X[:few]),
        "scikit-learn": lambda: theirs.fit_transform(X[:few]),
    }
    for name, seconds in alternate(small, repeats).items():
        _say(recorder, name, few, fewer, seconds)


def _say(recorder: Recorder, name: str, m: int, landmarks: int, seconds: list[float]) -> None:
    shape = [m, _ITEMS, landmarks]
    recorder.append(what=name, shape=shape, seconds=median(seconds), all_seconds=seconds)
    print(f"{name:<15}{shape!s:<22}{median(seconds):.3f} s, {1e6 * median(seconds) / m:.1f} us a row", flush=True)
