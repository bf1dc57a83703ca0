import importlib
import inspect
import pkgutil
from typing import NamedTuple

import numpy as np
import torch

import torchrank
from torchrank._repr import short_repr


class Result(NamedTuple):
    array: np.ndarray
    tensor: torch.Tensor
    single: torch.Tensor
    scalar: np.float32
    whole: int
    word: str | None
    none: tuple[float, ...]
    one: list[float]
    many: list[float]

    __repr__ = short_repr


def test_numbers_words_and_shapes():
    result = Result(
        np.zeros(7), torch.zeros(2, 3, requires_grad=True), torch.tensor(1 / 3), np.float32(0.25), 12, None, (), [2.5],
        [1e9, 2.0, -0.5],
    )  # fmt: skip
    assert repr(result) == (
        "Result(array=<ndarray (7,)>, tensor=<Tensor (2, 3)>, single=0.333333, scalar=0.25, whole=12, word=None, "
        "none=(), one=<1 value, 2.5>, many=<3 values, 1e+09 to -0.5>)"
    )


def fits():
    """All classes of the package that are named as evidence of a fit."""
    found = set()
    for module in pkgutil.walk_packages(torchrank.__path__, "torchrank."):
        if module.name.startswith("torchrank.estimators") or module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) and name.endswith("Fit") and not name.startswith("_"):
                found.add(value)
    return found


def test_every_fit_is_short():
    found = fits()
    assert {"KMeansFit", "MMPLFit", "MixtureFit", "MallowsFit", "PlackettLuceFit"} <= {fit.__name__ for fit in found}
    for fit in found:
        assert fit.__repr__ is short_repr, fit


def test_a_long_fit_is_one_line():
    X = np.random.default_rng(0).permuted(np.tile(np.arange(20.0), (3000, 1)), axis=1)
    fit = torchrank.fit_plackett_luce(X)
    assert len(repr(fit)) < 300
    assert f"n_iter={fit.n_iter}, converged=True, reason='tolerance')" in repr(fit)


def test_a_tree_is_one_line():
    X = torch.arange(400.0, dtype=torch.float64)[:, None]
    Y = torch.stack([X.sin(), X.cos(), X * 0], dim=-1)[:, 0]
    tree = torchrank.rank_tree(X, Y, 3, min_leaf=1, generator=torch.Generator().manual_seed(0))
    assert tree.n_leaves > 50
    assert len(repr(tree)) < 400
