"""Rankings as points of a kernel's feature space: kernels checked and called, equal rows counted once."""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from torchrank.kernels.modules import KendallKernel, MallowsKernel, SmoothedKendallKernel
from torchrank.linalg.precision import kernel_values
from torchrank.ops.checks import complete_scores
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.distinct import distinct_rows
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.ties import sortable
from torchrank.rankings.validate import Scores, as_scores, as_weights
from torchrank.rankings.weights import in_own_unit

Kernel: TypeAlias = nn.Module | Callable[..., Matrix] | Literal["precomputed"]
Points: TypeAlias = Tensor | Rankings  # scores, or rankings where only their order counts
CHOOSE_KERNEL = "choose a kernel that takes unranked items, such as kernel=KendallKernel(missing='topk')"


def check_kernel(kernel: Kernel | None) -> Kernel:
    """The kernel to use; None means the Kendall kernel.

    Raises:
        TypeError: neither a kernel nor "precomputed".
    """
    if kernel is None:
        return KendallKernel()
    if isinstance(kernel, type):
        raise TypeError(f"kernel is the class {kernel.__name__}; pass a kernel made of it, {kernel.__name__}()")
    shape = getattr(kernel, "shape", None)
    if shape is not None:
        raise TypeError(
            f"kernel has shape {tuple(shape)}; pass kernel='precomputed', and the matrix in place of the rankings"
        )
    if kernel != "precomputed" and not callable(kernel):
        raise TypeError(f"kernel={kernel!r} is not a kernel; pass a kernel module, a function or 'precomputed'")
    return kernel


def as_points(kernel: Kernel, X: Scores, name: str = "X", *, derivative: bool = False) -> tuple[Points, Tensor, Origin]:
    """``X`` as the kernel takes it, ranked once and for all where only the order of scores counts.

    With ``derivative`` scores keep theirs; rankings have none.

    Returns:
        Rankings or scores ``(m, n)``; rows ``(m, q)`` that are equal where the kernel cannot tell scores apart; and
        where ``X`` came from.

    Raises:
        ValueError: more than one matrix; unranked items that the kernel refuses, by the row where they are, since the
            kernel sees rows in another order.
        TypeError: scores that are not real numbers.
    """
    if isinstance(kernel, (KendallKernel, MallowsKernel)):
        rankings = as_rankings(X, name, missing=kernel.missing, remedy=CHOOSE_KERNEL)
        _check_matrix(rankings.ranks, name)
        return rankings.in_float64(), rankings.ranks, rankings.origin
    smoothed = isinstance(kernel, SmoothedKendallKernel)
    scores, origin = as_scores(X, name, ordinal=not smoothed)
    scores = _check_matrix(scores if derivative else scores.detach(), name)
    if smoothed:
        complete_scores(scores.detach().to(torch.promote_types(scores.dtype, torch.float32)), name)
    return scores, sortable(scores.detach()), origin


def _check_matrix(scores: Tensor, name: str) -> Tensor:
    if scores.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(scores.shape)}; expected one matrix")
    return scores


def scores_of_points(points: Points) -> Tensor:
    """Points as scores, to be kept in a model's state."""
    return points.as_scores() if isinstance(points, Rankings) else points


def gram(kernel: Kernel, X: Points, Y: Points | None = None) -> Tensor:
    """The Gram matrix of a kernel module or function as a tensor."""
    assert not isinstance(kernel, str)
    if Y is None or isinstance(X, Rankings) or isinstance(Y, Rankings):
        return as_tensor(kernel(X, Y), "the kernel's values")[0]
    return as_tensor(kernel_values(kernel, X, Y), "the kernel's values")[0]


class Groups(NamedTuple):
    """Which of m rows are the u points that a model is fitted to."""

    first: Tensor  # (u,) the first row of each group of equal ones
    weights: Tensor  # (u,) float64, sums over the groups, in a unit of their own
    counted: Tensor  # (m,) bool: which rows take part
    inverse: Tensor  # group of each row that takes part
    unit: float  # times ``weights`` are the caller's


def grouped(rows: Tensor, counts: Tensor) -> Groups:
    """Equal rows ``(m, q)`` as one point; rows whose weight ``(m,)`` is 0 take no part."""
    weights, unit = in_own_unit(counts)
    counted = counts > 0
    distinct = distinct_rows(rows[counted])
    first = counted.nonzero()[:, 0][distinct.first]
    return Groups(first, distinct.total(weights[counted]), counted, distinct.inverse, float(unit))


def row_weights(weights: Matrix | None, rows: Tensor) -> Tensor:
    """Weights ``(m,)`` float64 of the rows of one matrix; see :func:`torchrank.rankings.validate.as_weights`."""
    checked = as_weights(weights, rows)
    if checked.ndim != 1:
        raise ValueError(f"weights has shape {tuple(checked.shape)}; expected ({len(rows)},)")
    return checked
