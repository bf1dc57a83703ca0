"""Checks of features and label rankings together, and warnings of features that suit no distances."""

import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.features import check_finite_features, check_tensor

_LEAST_WIDTH = 1e-6  # of features; a gate is at least 1e-12 wide, and squares vanish long before 1e-300
_FEATURE_RATIO = 100.0  # of standard deviations; Euclidean distances then see one feature alone


def check_features(X: object, Y: object, whose: str = "") -> None:
    """Raise unless ``X`` is a tensor ``(N, d)`` of finite features and ``Y`` one ``(N, L)`` of the same N > 0 rows.

    ``whose`` stands before the names in messages.
    """
    X, Y = check_tensor(X, f"{whose}X"), check_tensor(Y, f"{whose}Y", rankings=True)
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or len(X) == 0:
        shapes = f"{whose}X has shape {tuple(X.shape)} and {whose}Y {tuple(Y.shape)}"
        raise ValueError(f"{shapes}; expected (N, d) and (N, L), N > 0")
    if not X.is_floating_point():
        raise TypeError(f"{whose}X has dtype {X.dtype}; expected floating-point features, for example X.double()")
    check_finite_features(X, f"{whose}X")


def check_validation(X: Tensor, Y: Tensor, validation: tuple[object, object]) -> tuple[Tensor, Tensor]:
    """Raise unless ``validation`` holds other rows of the same features ``(N, d)`` and labels ``(N, L)``."""
    others = check_tensor(validation[0], "validation X"), check_tensor(validation[1], "validation Y", rankings=True)
    check_features(*others, whose="validation ")
    for name, other, own in zip("XY", others, (X, Y), strict=True):
        if other.shape[1] != own.shape[1]:
            raise ValueError(
                f"validation {name} has {other.shape[1]} columns and {name} {own.shape[1]}; expected as many"
            )
    return others


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


def warn_of_features(X: Tensor, n_prototypes: int) -> None:
    """:func:`warn_of_scales`, and of fewer different rows than prototypes."""
    warn_of_scales(X)
    distinct = len(torch.unique(X, dim=0))
    if distinct < n_prototypes:
        warn(
            f"X has {distinct} distinct rows for {n_prototypes} prototypes, so some prototypes coincide; lower "
            "n_prototypes or n_clusters"
        )
