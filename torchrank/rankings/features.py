"""Checks of features that stand beside rankings."""

import warnings

import torch
from torch import Tensor

_FEATURE_RATIO = 100.0  # of standard deviations; Euclidean distances then see one feature alone


def check_features(X: object, Y: object) -> None:
    """Raise unless ``X`` is a tensor ``(N, d)`` of finite features and ``Y`` one ``(N, L)`` of the same N > 0 rows."""
    for name, value in (("X", X), ("Y", Y)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} is {type(value).__name__}; expected a tensor (torchrank.estimators take arrays)")
    assert isinstance(X, Tensor)
    assert isinstance(Y, Tensor)
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y) or len(X) == 0:
        raise ValueError(f"X has shape {tuple(X.shape)} and Y {tuple(Y.shape)}; expected (N, d) and (N, L), N > 0")
    if not X.is_floating_point():
        raise TypeError(f"X has dtype {X.dtype}; expected floating-point features, for example X.double()")
    check_finite_features(X)


def check_finite_features(X: Tensor) -> None:
    """Raise where features ``(N, d)`` have NaN or infinity; compiled graphs do without the check."""
    if torch.compiler.is_compiling() or bool(X.isfinite().all()):
        return
    row, column = (int(i) for i in (~X.isfinite()).nonzero()[0])
    raise ValueError(
        f"X has {float(X[row, column])} at row {row}, feature {column}; features must be finite (NaN stands for "
        "unranked labels only): fill the value in or leave the row out"
    )


def warn_of_scales(X: Tensor, stacklevel: int) -> None:
    """Warn where standard deviations of features ``(N, d)`` differ so much that distances see the largest only."""
    spread = X.std(0, correction=0)
    spread = spread[spread > 1e-12 * X.abs().amax(0)]
    if len(spread) and float(spread.max() / spread.min()) > _FEATURE_RATIO:
        warnings.warn(
            f"standard deviations of the features run from {float(spread.min()):.3g} to {float(spread.max()):.3g}; "
            "Euclidean distances will see the largest only: scale the features first",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
