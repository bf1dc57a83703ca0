"""Matrices that are written to disk, and a way to stop at a chosen place."""

import numpy as np
import torch

import torchrank as tr

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (37, 8)).astype(float)
Y = RNG.normal(size=(11, 8))
PARTIAL = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
MATRICES = {
    "kernel": lambda **out: tr.kendall_gram(X, **out),
    "two sides": lambda **out: tr.kendall_gram(X, Y, **out),
    "float32": lambda **out: tr.kendall_gram(torch.from_numpy(X).float(), **out),
    "pairwise": lambda **out: tr.kendall_gram(PARTIAL, missing="pairwise", min_common=3, shrink=2.0, **out),
    "distance": lambda **out: tr.kendall_distance(X, tie_penalty=0.5, **out),
    "smoothed, sweep": lambda **out: tr.smoothed_kendall_gram(X, window=1.5, method="sweep", **out),
    "smoothed, sweep, two sides": lambda **out: tr.smoothed_kendall_gram(X, Y, window=0.3, method="sweep", **out),
    "Mallows": lambda **out: tr.mallows_gram(X, Y, lam=0.2, normalize=True, **out),
}


class Killed(BaseException):
    """In place of a signal, which no code can catch."""


def killed_at(monkeypatch, target, name, call):
    """Let the call with this number be the last."""
    original, calls = getattr(target, name), []

    def counted(*arguments, **settings):
        calls.append(name)
        if len(calls) == call:
            raise Killed
        return original(*arguments, **settings)

    monkeypatch.setattr(target, name, counted)
