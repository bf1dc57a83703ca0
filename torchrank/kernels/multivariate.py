"""Kernels between multivariate rankings: several rankings of different item sets by the same person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from torchrank.kernels.kendall import kendall_gram
from torchrank.ops.checks import simplex_weights
from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_names
from torchrank.rankings.validate import Scores, check_finite
from torchrank.typing import Array, Kind

Kernel: TypeAlias = Callable[..., Any]  # of X and Y or None
# A list of score matrices or, where a kernel knows how to cut it, one matrix.
Parts: TypeAlias = Sequence[Scores[Kind]] | Scores[Kind]


@isolated
def multivariate_gram(
    X: Sequence[Scores[Array]],
    Y: Sequence[Scores[Array]] | None = None,
    *,
    weights: Sequence[float] | Tensor | None = None,
    kernel: Kernel | Sequence[Kernel] | None = None,
) -> Array:
    r"""Weighted mean of kernels on the parts of multivariate rankings.

    .. math:: K(x, y) = \sum_{j=1}^{p} \mu_j\, K_j(x_j, y_j), \qquad \sum_j \mu_j = 1, \quad \mu_j \ge 0

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 8, which leaves the sign of the weights unsaid: with a negative one
    the sum need not be positive semi-definite).

    Args:
        X: p parts, part j being scores ``(..., m, n_j)`` of its own items, for the same m rankers in the same order.
        Y: p parts ``(..., m2, n_j)``; None means ``X``.
        weights: p numbers, at least 0 and adding up to 1; a tensor may require a gradient. None means 1/p each.
        kernel: called as ``kernel(X_j, Y_j)`` with ``Y_j=None`` for ``Y=None``, one for all parts or a list of p: a
            function, for example ``functools.partial(mallows_gram, lam=0.1)``, or a kernel module. None means
            :func:`torchrank.kendall_gram`.

    Returns:
        ``(..., m, m2)``, a NumPy array if all kernels return arrays, else a tensor. Gradients pass to ``weights`` and
        to whatever the kernels are differentiable in.

    Raises:
        ValueError: no parts, numbers of parts that differ, parts with different numbers of rankers, weights that are
            negative or do not add up to 1; and what the kernels raise.
        TypeError: something else than a list of parts.

    Example:
        >>> music = np.array([[1.0, 2.0], [2.0, 1.0]])
        >>> films = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
        >>> multivariate_gram([music, films], weights=[0.25, 0.75]).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    parts = as_parts(X, "X")
    others = [None] * len(parts) if Y is None else as_parts(Y, "Y")
    kernel = kendall_gram if kernel is None else kernel
    if isinstance(kernel, str) or not isinstance(kernel, (Callable, Iterable)):
        raise TypeError(f"kernel is {kernel!r}; expected a function of two sets of scores, or a list of them")
    kernels = [*kernel] if isinstance(kernel, Iterable) else [kernel] * len(parts)
    for index, one in enumerate(kernels):
        if not callable(one):
            raise TypeError(f"kernel has {one!r} for part {index}; expected a function of two sets of scores")
    return weighted_sum(kernels, parts, others, simplex(weights, len(parts)))


def as_parts(X: Any, name: str) -> list[Scores]:
    """The parts of multivariate rankings, checked to be a list."""
    if not isinstance(X, (list, tuple)):
        raise TypeError(f"{name} is a {type(X).__name__}; expected a list of p parts, each a matrix of scores")
    if not X:
        raise ValueError(f"{name} has no parts; expected at least one")
    return [*X]


def simplex(weights: Sequence[float] | Tensor | None, p: int) -> Tensor:
    """``(p,)`` floating-point weights on the simplex."""
    if weights is None:
        return torch.full((p,), 1 / p, dtype=torch.float64)
    if isinstance(weights, (list, tuple)):
        for part, weight in enumerate(weights):
            check_finite(weight, f"weights[{part}]", 0)
        given = torch.tensor(weights, dtype=torch.float64)
    else:
        given = as_tensor(weights, "weights")[0]
    if given.shape != (p,) or given.is_complex():
        raise ValueError(
            f"weights has shape {tuple(given.shape)} and dtype {given.dtype}; expected {p} real numbers, one for each "
            "part"
        )
    return simplex_weights(given if given.is_floating_point() else given.to(torch.float64))


def log_weights(weights: Tensor) -> Tensor:
    """Logits of weights, refused where one is 0."""
    if not bool((weights > 0).all()):
        raise ValueError(f"weights={weights.tolist()} has a zero; a learnable weight has to be above 0")
    return weights.detach().double().log()


def weighted_sum(
    kernels: Sequence[Kernel], X: Sequence[Scores[Array]], Y: Sequence[Scores | None], weights: Tensor
) -> Array:
    """The sum of ``weights[j] * kernels[j](X[j], Y[j])``."""
    for count, what in ((len(Y), "parts of Y"), (len(kernels), "kernels")):
        if count != len(X):
            raise ValueError(f"{len(X)} parts of X and {count} {what}; expected one for each, in the same order")
    grams = [_of_part(part, *arguments) for part, arguments in enumerate(zip(kernels, X, Y, strict=True))]
    checked = [as_tensor(gram, "the kernel's values") for gram in grams]
    tensors, first = [tensor for tensor, _ in checked], checked[0][1]
    for part, (_, own) in enumerate(checked):
        for names, its, axis in ((first.rows, own.rows, "rows"), (first.items, own.items, "columns")):
            remedy = "all parts rank the same people: bring them into one order"
            check_same_names(names, its, f"{axis} of part 0", f"{axis} of part {part}", remedy)
    origin = first._replace(numpy=all(own.numpy for _, own in checked))
    for part, gram in enumerate(tensors):
        if gram.ndim < 2:
            raise ValueError(
                f"the kernel of part {part} gives shape {tuple(gram.shape)}, not (..., m, m2); parts are matrices of "
                "scores, one row for each person"
            )
        if gram.shape[-2:] != tensors[0].shape[-2:]:
            raise ValueError(
                f"part {part} compares {gram.shape[-2]} with {gram.shape[-1]} rankings, part 0 {tensors[0].shape[-2]} "
                f"with {tensors[0].shape[-1]}; all parts rank the same people, in the same order"
            )
    weights = weights.to(tensors[0].device)
    total = weights[0] * tensors[0]
    for weight, gram in zip(weights[1:], tensors[1:], strict=True):
        total = total + weight * gram
    return origin.named(total, "rows", "items")


def _of_part(part: int, kernel: Kernel, x: Scores, y: Scores | None) -> Matrix:
    try:
        return kernel(x, y)
    except ValueError as error:
        raise ValueError(f"part {part}: {error}") from error
