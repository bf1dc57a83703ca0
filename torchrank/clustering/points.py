"""What is fitted to points of a kernel's feature space: checked Gram matrices, explicit features, diagonals."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrank.kernels.kendall import kendall_features
from torchrank.kernels.modules import KendallKernel, SmoothedKendallKernel
from torchrank.kernels.points import Groups, Kernel, Points, as_points, gram, grouped, row_weights
from torchrank.kernels.smoothed import smoothed_features
from torchrank.linalg.symmetric import as_double, check_psd, check_symmetric
from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.missing import PARTIAL
from torchrank.rankings.names import check_same_rows
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.prepared import Rankings, weights_said
from torchrank.rankings.validate import as_gram
from torchrank.rankings.weights import in_own_unit
from torchrank.typing import Variant

_DIAGONAL_BLOCK = 64


def training_gram(kernel: Kernel, points: Points) -> Tensor:
    """The checked Gram matrix ``(u, u)`` float64 of training points; they are it for "precomputed"."""
    if kernel == "precomputed" and isinstance(points, Tensor):
        return points
    return checked_gram(gram(kernel, points), "the kernel's Gram matrix")[0]


def kernel_diagonal(kernel: Kernel, X: Points) -> Tensor:
    """k(x, x) of every row, ``(m,)`` float64, from small diagonal blocks of the Gram matrix."""
    starts = range(0, len(X), _DIAGONAL_BLOCK)
    blocks = [as_double(gram(kernel, X[start : start + _DIAGONAL_BLOCK]).diagonal()) for start in starts]
    return (
        torch.cat(blocks)
        if blocks
        else torch.zeros(0, dtype=torch.float64, device=(X.ranks if isinstance(X, Rankings) else X).device)
    )


def given_diagonal(diagonal: Matrix, rows: Tensor) -> Tensor:
    """k(x, x) as the caller gave it for ``rows`` (m2, ...), ``(m2,)`` float64."""
    own = as_tensor(diagonal, "diagonal")[0]
    if own.shape != rows.shape[:1]:
        raise ValueError(f"diagonal has shape {tuple(own.shape)}; expected ({len(rows)},), k(x, x) of every row")
    return as_double(own).to(rows.device)


def weights_of_new(weights: Matrix | None, rows: Tensor) -> Tensor:
    """:func:`row_weights` of rows that nothing is fitted to, so that there may be none."""
    return rows.new_ones(len(rows), dtype=torch.float64) if weights is None else row_weights(weights, rows)


def ungrouped(counts: Tensor, unit: float = 1.0) -> Groups:
    """Every row a point by itself, whatever its weight ``(m,)``."""
    everything = torch.arange(len(counts), device=counts.device)
    return Groups(everything, counts, torch.ones_like(counts, dtype=torch.bool), everything, unit)


class TrainingPoints(NamedTuple):
    """What a model is fitted to: the u different rankings that count, or a Gram matrix of m points as it is."""

    points: Points  # (u, n) rankings or scores, or (m, m)
    groups: Groups
    given: Points  # (m, n) all that was given
    origin: Origin


def training_points(kernel: Kernel, X: Any, weights: Matrix | None) -> TrainingPoints:
    """Check rankings and weights, leave out rows of weight 0, and count equal ones once.

    Raises:
        ValueError, TypeError: as :func:`as_points` and :func:`row_weights`; for "precomputed" as :func:`checked_gram`.
    """
    if kernel == "precomputed":
        matrix, origin = checked_gram(X)
        check_same_rows(origin.rows, weights)
        own, unit = in_own_unit(row_weights(weights, matrix))
        return TrainingPoints(matrix, ungrouped(own, float(unit)), matrix, origin)
    points, rows, origin = as_points(kernel, X)
    groups = grouped(rows, row_weights(weights_said(X, weights), rows))
    return TrainingPoints(points[groups.first], groups, points, origin)


def explicit_features(kernel: Kernel, X: Points) -> Tensor | None:
    """Features ``(m, d)`` float64 whose products are the kernel, where they take less room than a Gram matrix; or None.

    They are known for the Kendall kernel of complete rankings and for its smoothed form, d = n(n-1)/2.
    """
    m, n = X.shape
    if n_pairs(n) >= m:
        return None
    if isinstance(kernel, KendallKernel) and isinstance(X, Rankings):
        complete = X.complete or X.known().complete
        return torch.as_tensor(kendall_features(X, variant=_variant(kernel, X))) if complete else None
    if isinstance(kernel, SmoothedKendallKernel) and isinstance(X, Tensor):
        return as_double(smoothed_features(X, window=kernel.window, noise=kernel.noise))
    return None


def _variant(kernel: KendallKernel, X: Rankings) -> Variant:
    """The variant that the kernel has for complete rankings."""
    return kernel.variant or ("a" if (kernel.missing or X.missing) in PARTIAL else "b")


def checked_gram(K: Matrix, name: str = "K") -> tuple[Tensor, Origin]:
    """A Gram matrix of training points in float64, checked, and where it came from.

    The check that it is positive semi-definite is one Cholesky decomposition, ``m^3 / 3`` operations, where it is.

    Raises:
        TypeError: not floating-point numbers.
        ValueError: not square, not symmetric, with NaN or infinite entries, or with an eigenvalue more negative than
            half the digits of its dtype allow.
    """
    given, origin = as_gram(K, name, square=True)
    if given.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(given.shape)}; expected one square matrix")
    check_symmetric(given, name)
    check_psd(
        given, name, "it is not a kernel's Gram matrix: kernels of missing='pairwise' and of unpenalized ties give such"
    )
    return as_double(given.detach()), origin


def rows_against_training(K: Matrix, m: int) -> tuple[Tensor, Origin]:
    """New rows against the m training rows, ``(m2, m)`` float64, and where they came from.

    Raises:
        ValueError: another number of columns, or entries that are not finite.
    """
    given, origin = as_gram(K, "K", square=False)
    if given.ndim != 2 or given.shape[1] != m:
        raise ValueError(
            f"K has shape {tuple(given.shape)}; expected (rows, {m}), new rows against the {m} training rows"
        )
    if not bool(given.isfinite().all()):
        row, column = (int(i) for i in (~given.isfinite()).nonzero()[0])
        raise ValueError(f"K[{row}, {column}] is {given[row, column].item()}; a Gram matrix must be finite")
    return as_double(given), origin
