"""Checks of features, which stand beside rankings."""

import torch
from torch import Tensor

from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.prepared import Prepared, Rankings


def check_tensor(value: object, name: str, *, rankings: bool = False) -> Tensor:
    """Raise unless ``value`` is a dense tensor of real numbers, or ``rankings``, of which the ranks come back."""
    if isinstance(value, Rankings) and rankings:
        return value.ranks
    if isinstance(value, Prepared):
        raise TypeError(f"{name} are prepared rankings, which are no features; pass a tensor")
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is {type(value).__name__}; expected a tensor (torchrank.estimators take arrays)")
    return as_tensor(value, name)[0]


def check_n_features(X: object, n_features: int) -> Tensor:
    """Raise unless ``X`` is a tensor ``(N, n_features)``."""
    X = check_tensor(X, "X")
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"X has shape {tuple(X.shape)}; expected (N, {n_features}) features")
    return X


def check_finite_features(X: Tensor, name: str = "X") -> None:
    """Raise where features ``(N, d)`` have NaN or infinity; compiled graphs and the meta device do without."""
    check_tensor(X, name)
    if not torch.compiler.is_compiling() and not X.is_meta:
        on_values(lambda values: _finite(values, name), X)


def _finite(X: Tensor, name: str) -> Tensor:
    if bool(X.isfinite().all()):
        return X
    *_, row, column = (int(i) for i in (~X.isfinite()).nonzero()[0])
    raise ValueError(
        f"{name} has {float(X[~X.isfinite()][0])} at row {row}, feature {column}; features must be finite (NaN stands "
        "for unranked labels only): fill the value in or leave the row out"
    )


def check_distances(X: Tensor) -> None:
    """Raise where features ``(N, d)`` are not finite, or so large that squared distances would not be."""
    if check_tensor(X, "X").is_floating_point() and not X.is_meta and not torch.compiler.is_compiling():
        on_values(_near, X)


def _near(X: Tensor) -> Tensor:
    room = X.square().sum(-1) <= torch.finfo(X.dtype).max / 8  # |x - m|^2 is at most 4 times the largest of both
    if bool(room.all()):
        return X
    _finite(X, "X")
    raise ValueError(
        f"X has features up to {float(X[~room][0].abs().max()):.3g} at row {int((~room).nonzero()[0][-1])}; squared "
        f"distances overflow in {X.dtype}: scale the features first"
    )
