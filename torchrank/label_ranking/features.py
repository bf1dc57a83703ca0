"""Checks of features that stand beside rankings."""

import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.arrays import as_tensor

_LEAST_WIDTH = 1e-6  # k-means++ takes rows for equal whose squared distances are 1e-12 in the mean
_FEATURE_RATIO = 100.0  # of standard deviations; Euclidean distances then see one feature alone


def check_features(X: object, Y: object, whose: str = "") -> None:
    """Raise unless ``X`` is a tensor ``(N, d)`` of finite features and ``Y`` one ``(N, L)`` of the same N > 0 rows.

    ``whose`` stands before the names in messages.
    """
    X, Y = check_tensor(X, f"{whose}X"), check_tensor(Y, f"{whose}Y")
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or len(X) == 0:
        shapes = f"{whose}X has shape {tuple(X.shape)} and {whose}Y {tuple(Y.shape)}"
        raise ValueError(f"{shapes}; expected (N, d) and (N, L), N > 0")
    if not X.is_floating_point():
        raise TypeError(f"{whose}X has dtype {X.dtype}; expected floating-point features, for example X.double()")
    check_finite_features(X, f"{whose}X")


def check_validation(X: Tensor, Y: Tensor, validation: tuple[object, object]) -> tuple[Tensor, Tensor]:
    """Raise unless ``validation`` holds other rows of the same features ``(N, d)`` and labels ``(N, L)``."""
    others = check_tensor(validation[0], "validation X"), check_tensor(validation[1], "validation Y")
    check_features(*others, whose="validation ")
    for name, other, own in zip("XY", others, (X, Y), strict=True):
        if other.shape[1] != own.shape[1]:
            raise ValueError(
                f"validation {name} has {other.shape[1]} columns and {name} {own.shape[1]}; expected as many"
            )
    return others


def check_tensor(value: object, name: str) -> Tensor:
    """Raise unless ``value`` is a dense tensor of real numbers."""
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
    if torch.compiler.is_compiling() or X.is_meta or bool(X.isfinite().all()):
        return
    row, column = (int(i) for i in (~X.isfinite()).nonzero()[0])
    raise ValueError(
        f"{name} has {float(X[row, column])} at row {row}, feature {column}; features must be finite (NaN stands for "
        "unranked labels only): fill the value in or leave the row out"
    )


def check_distances(X: Tensor) -> None:
    """Raise where features ``(N, d)`` are not finite, or so large that squared distances would not be."""
    if not check_tensor(X, "X").is_floating_point() or X.is_meta or torch.compiler.is_compiling():
        return
    room = X.square().sum(-1) <= torch.finfo(X.dtype).max / 8  # |x - m|^2 is at most 4 times the largest of both
    if bool(room.all()):
        return
    check_finite_features(X)
    row = int((~room).nonzero()[0])
    raise ValueError(
        f"X has features up to {float(X[row].abs().max()):.3g} at row {row}; squared distances overflow in {X.dtype}: "
        "scale the features first"
    )


def warn_of_scales(X: Tensor) -> None:
    """Warn where features ``(N, d)`` are so small that rows look equal, or where distances see the largest one only."""
    width = X.amax(0) - X.amin(0)
    varying = width > 1e-12 * X.abs().amax(0)
    if not bool(varying.any()):
        return
    if float(width.max()) < _LEAST_WIDTH:  # before any squares, which may vanish
        warn(
            f"the features of any two rows differ by {float(width.max()):.3g} at most; so small distances are lost in "
            "squares and beside the least width of a gate, and rows fall into one cluster: scale the features first"
        )
        return
    spread = X.std(0, correction=0)[varying]
    if float(spread.max()) > _FEATURE_RATIO * float(spread.min()):
        warn(
            f"standard deviations of the features run from {float(spread.min()):.3g} to {float(spread.max()):.3g}; "
            "Euclidean distances will see the largest only: scale the features first"
        )
