"""How good clusters are, and how much two clusterings agree."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from torchrank.metrics.numbers import real_of
from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.derivatives import not_followed
from torchrank.rankings.isolation import isolated
from torchrank.rankings.labels import as_labels
from torchrank.rankings.unmapped import COUNTS, SEARCHES, unmapped
from torchrank.rankings.validate import as_weights, check_count
from torchrank.typing import Array, Values

Labels = Matrix  # (m,) integers or strings


@isolated
@unmapped(COUNTS)
def silhouette_samples(distances: Values[Array], labels: Labels, weights: Values | None = None) -> Array:
    r"""Silhouette of every row: how much nearer it is to its own cluster than to the next one, in [-1, 1].

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    with :math:`a_i` the mean distance to the other rows of its cluster and :math:`b_i` the least mean distance to the
    rows of another one; 0 for a row that is alone in its cluster (Rousseeuw, J. Comput. Appl. Math. 20, 1987). Equal to
    scikit-learn's ``silhouette_samples(..., metric="precomputed")``, but runs where the distances are.

    Args:
        distances: ``(m, m)`` such as :func:`torchrank.kendall_distance` gives: symmetric, and 0 on the diagonal.
        labels: ``(m,)`` integers or strings.
        weights: ``(m,)`` how many equal rows each stands for, so that repeated rankings need one row; None means 1. A
            row of weight 0 changes nothing for the others, and gets the silhouette that it would have as one more row
            of its cluster, 0 if that has none.

    Returns:
        ``(m,)`` float64; a NumPy array if ``distances`` is one.

    Raises:
        ValueError: shapes that do not fit, a matrix that is not symmetric, has a diagonal other than 0 or entries below
            0, fewer than two clusters, or no fewer clusters than (weighted) rows. Rounding, up to half the digits of
            the dtype, is let pass.
        TypeError: labels that are neither integers nor strings, distances that are not real numbers.
    """
    D, origin = _distances(distances)
    clusters, counts = _labels(labels, len(D), "labels").to(D.device), as_weights(weights, D)
    own = torch.nn.functional.one_hot(clusters).to(torch.bool)  # [m, k]
    members = own * counts[:, None]
    totals, sizes = D @ members, members.sum(0)
    filled = int((sizes > 0).sum())
    if not 2 <= filled < float(counts.sum()):
        raise ValueError(
            f"labels name {filled} clusters of {float(counts.sum()):g} rows; a silhouette needs from 2 clusters to "
            "rows - 1"
        )
    others = sizes[clusters] - counts.clamp(max=1)  # rows of the same cluster, this one left out
    within = totals[own] / torch.where(others > 0, others, 1)
    between = (totals / torch.where(sizes > 0, sizes, 1)).masked_fill(own | (sizes == 0), torch.inf).amin(-1)
    scale = torch.maximum(within, between)
    silhouette = torch.where((others > 0) & (scale > 0), (between - within) / torch.where(scale > 0, scale, 1), 0)
    silhouette = not_followed(silhouette, distances, weights, by="silhouette_samples", why="looks at values")
    return origin.wrap(silhouette)


@isolated
@unmapped(COUNTS)
def silhouette_score(distances: Values[Array], labels: Labels, weights: Values | None = None) -> float:
    """Mean of :func:`silhouette_samples`, weighted.

    Args:
        distances: ``(m, m)`` distances, symmetric, 0 on the diagonal.
        labels: ``(m,)`` integers or strings, the cluster of each row.
        weights: ``(m,)`` how many equal rows each stands for; None means 1 each.

    Returns:
        From -1 to 1, larger = clusters further apart.

    Raises:
        ValueError, TypeError: as :func:`silhouette_samples`.
    """
    samples = torch.as_tensor(silhouette_samples(distances, labels, weights))
    counts = as_weights(weights, samples[:, None])
    return float(samples @ counts / counts.sum())


@isolated
@unmapped(COUNTS)
def rand_index(labels: Labels, others: Labels, *, adjusted: bool = False, weights: Values | None = None) -> float:
    """Share of pairs of rows that two clusterings treat alike, together in both or apart in both; 1 = the same.

    Through scikit-learn, which has to be installed.

    Args:
        labels: ``(m,)`` integers or strings.
        others: ``(m,)`` integers or strings; the names of the two need not be the same.
        adjusted: correct for chance (Hubert and Arabie, J. Classif. 2, 1985): 0 for random labels on average.
        weights: ``(m,)`` how many equal rows each stands for, whole numbers; None means 1.

    Returns:
        From 0 to 1; adjusted at most 1, and below 0 for clusterings less alike than by chance.

    Raises:
        ValueError: lengths that differ, weights that are not whole numbers.
        ImportError: scikit-learn is not installed.
    """
    from sklearn.metrics import adjusted_rand_score, rand_score

    first = _labels(labels, None, "labels").cpu()
    second = _labels(others, len(first), "others").cpu()
    if weights is not None:
        counts = as_weights(weights, first[:, None]).cpu()
        if bool((counts != counts.round()).any()):
            raise ValueError("weights have fractions; here they are numbers of equal rows")
        first, second = (part.repeat_interleave(counts.long()) for part in (first, second))
    score = adjusted_rand_score if adjusted else rand_score
    return float(score(first.numpy(), second.numpy()))


@isolated
@unmapped(SEARCHES)
def bootstrap_stability(
    cluster: Callable[[Tensor], Labels],
    weights: Values,
    *,
    repeats: int = 100,
    adjusted: bool = False,
    generator: torch.Generator | None = None,
) -> np.ndarray:
    """How much clusterings of two bootstrap samples agree on all rows, again and again.

    Every repeat draws two samples with replacement, as many rows as there are, lets ``cluster`` find clusters in each,
    and compares the labels that these give to all rows of the original data (Jiao and Vert, IEEE TPAMI 40(7), 2018,
    appendix B). A sample is a vector of weights: how many times each row was drawn.

    Args:
        cluster: called with the weights ``(m,)`` of a sample; returns labels ``(m,)`` of all rows, also of those that
            were not drawn. For a model: ``lambda w: (model.fit(X, w), model.predict(X))[1]``.
        weights: ``(m,)`` how many equal rows each row of the data stands for, whole numbers.
        repeats: pairs of samples.
        adjusted: which Rand index; see :func:`rand_index`.
        generator: source of the samples.

    Returns:
        ``(repeats,)`` Rand indices.

    Raises:
        ValueError, TypeError: as :func:`rand_index`, and for ``repeats`` below 1.
        ImportError: scikit-learn is not installed.
    """
    check_count(repeats, "repeats", 1)
    table = as_tensor(weights, "weights")[0]
    counts = as_weights(table, table[:, None])
    rows = int(counts.sum())

    def sample() -> Tensor:
        source = counts.device if generator is None else generator.device
        drawn = torch.multinomial(counts.to(source), rows, replacement=True, generator=generator)
        return torch.bincount(drawn, minlength=len(counts)).to(counts)

    return np.array(
        [rand_index(cluster(sample()), cluster(sample()), adjusted=adjusted, weights=counts) for _ in range(repeats)]
    )


def _distances(distances: Matrix) -> tuple[Tensor, Origin]:
    """A checked matrix of distances in float64, its diagonal exactly 0, and where it came from."""
    given = real_of(distances, "distances")
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"distances have shape {tuple(given.shape)}; expected a square matrix")
    D = given.to(torch.float64)
    if not bool(D.isfinite().all()):
        row, column = _place(~D.isfinite())
        raise ValueError(f"distances[{row}, {column}] is {D[row, column].item()}; distances must be finite")
    rounding = math.sqrt(torch.finfo(given.dtype if given.is_floating_point() else D.dtype).eps)
    _check_entries(D, rounding * float(D.abs().max()) if len(D) else 0.0)
    if bool((D.diagonal() != 0).any()) or bool((D < 0).any()):  # rounding; the caller's matrix stays as it is
        D = D.clamp(min=0).fill_diagonal_(0)
    return D, Origin.of(distances)


def _check_entries(D: Tensor, rounding: float) -> None:
    """Raise where a matrix does not hold distances of rows among themselves."""
    below = rounding < -D
    if bool(below.any()):
        row, column = _place(below)
        raise ValueError(
            f"distances[{row}, {column}] is {D[row, column].item():g}; distances are at least 0. A Gram matrix holds "
            "similarities; kendall_distance gives distances of rankings"
        )
    own = D.diagonal().abs() > rounding
    if bool(own.any()):
        row = int(own.nonzero()[0])
        raise ValueError(
            f"distances[{row}, {row}] is {D[row, row].item():g}; the diagonal must be 0, as a row is at no distance "
            "from itself. A Gram matrix holds similarities; kendall_distance gives distances of rankings"
        )
    if torch.equal(D, D.mT):  # without another matrix
        return
    apart = (D - D.mT).abs() > rounding
    if bool(apart.any()):
        row, column = _place(apart)
        raise ValueError(
            f"distances are not symmetric: [{row}, {column}] is {D[row, column].item():g} and [{column}, {row}] "
            f"{D[column, row].item():g}; expected the distances of the same rows on both sides, in the same order"
        )


def _place(wrong: Tensor) -> tuple[int, int]:
    row, column = (int(i) for i in wrong.nonzero()[0])
    return row, column


def _labels(labels: Labels, m: int | None, name: str) -> Tensor:
    """Labels as ``(m,)`` int64 from 0 up without gaps."""
    given = as_labels(labels, name)
    if given.ndim != 1 or (m is not None and len(given) != m):
        raise ValueError(f"{name} have shape {tuple(given.shape)}; expected ({'m' if m is None else m},)")
    return torch.unique(given, return_inverse=True)[1]
