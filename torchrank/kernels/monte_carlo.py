"""Monte-Carlo estimates of the smoothed Kendall kernel, and what the theory says about their error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank._progress import progress_bar
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall import kendall_gram
from torchrank.kernels.smoothed import one_window
from torchrank.ops.checks import complete_scores, exact_differences
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.units import in_common_unit
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES
from torchrank.rankings.validate import (
    Scores,
    check_at_least,
    check_choice,
    check_count,
    check_finite,
    check_generator,
    check_positive,
    check_workspace,
    score_pair,
)
from torchrank.typing import Array, Estimator, Noise


@dataclass(frozen=True)
class Jitters:
    """Independent jitters for every score of every row."""

    window: Tensor  # ()
    noise: str  # "uniform" or "gaussian"
    count: int
    generator: torch.Generator | None

    def draw(self, scores: Tensor) -> Tensor:
        """``scores`` with a jitter of its own for each."""
        if self.noise == "uniform":
            noise = torch.empty_like(scores).uniform_(-0.5, 0.5, generator=self.generator)
        else:
            noise = torch.empty_like(scores).normal_(generator=self.generator)
        return scores + self.window.to(scores.device) * noise

    def draw_all(self, scores: Tensor) -> Tensor:
        """``(..., count, m, n)``."""
        return torch.stack([self.draw(scores) for _ in range(self.count)], dim=-3)


def paired(
    x: Tensor, y: Tensor | None, jitters: Jitters, unbiased_diagonal: bool, workspace: int, progress: bool
) -> Tensor:
    """Mean over d of the Kendall kernels of the d-th jitters of both sides, ``(..., m, m2)``.

    An unbiased diagonal compares every jitter of a row with its next one, around the circle.
    """
    total: Tensor | float = 0.0
    diagonal: Tensor | float = 0.0
    first = before = jitters.draw(x)
    for d in progress_bar("monte_carlo_kendall_gram", "sample", range(jitters.count), progress=progress):
        drawn = first if d == 0 else jitters.draw(x)
        met = None if y is None else jitters.draw(y)
        total = total + kendall_gram(drawn, met, variant="a", workspace=workspace)
        if unbiased_diagonal and d:
            diagonal = diagonal + _row_by_row(before, drawn, workspace)
        before = drawn
    mean = torch.as_tensor(total) / jitters.count
    if unbiased_diagonal:
        return _with_diagonal(mean, (diagonal + _row_by_row(before, first, workspace)) / jitters.count)
    return mean


def full(
    x: Tensor, y: Tensor | None, jitters: Jitters, unbiased_diagonal: bool, workspace: int, progress: bool
) -> Tensor:
    """Mean of the Kendall kernels of all jitters of one side with all of the other, ``(..., m, m2)``.

    As many jitters are compared in one call as the result of the call leaves room for.
    """
    rows = jitters.draw_all(x)
    columns = rows if y is None else jitters.draw_all(y)
    D, m, m2 = jitters.count, x.shape[-2], columns.shape[-2]
    batch = torch.broadcast_shapes(x.shape[:-2], columns.shape[:-3])
    step = max(1, min(D, math.isqrt(workspace // (16 * max(1, math.prod(batch) * m * m2)))))
    starts = range(0, D, step)
    calls = [(r, c) for r in starts for c in starts if y is not None or c <= r]
    total: Tensor | float = 0.0
    for r, c in progress_bar("monte_carlo_kendall_gram", "call", calls, progress=progress):
        left = rows[..., r : r + step, :, :]
        right = None if y is None and r == c else columns[..., c : c + step, :, :].flatten(-3, -2)
        kernels = kendall_gram(left.flatten(-3, -2), right, variant="a", workspace=workspace)
        met = min(step, D - c)
        part = kernels.unflatten(-1, (met, m2)).unflatten(-3, (left.shape[-3], m)).sum(dim=(-4, -2))
        total = total + (part / 2 if right is None else part)
    mean = torch.as_tensor(total) / D**2
    if y is None:
        mean = mean + mean.mT
    if unbiased_diagonal:
        return _with_diagonal(mean, (D * mean.diagonal(dim1=-2, dim2=-1) - 1) / (D - 1))
    return mean


ESTIMATORS: dict[str, Callable[[Tensor, Tensor | None, Jitters, bool, int, bool], Tensor]] = {
    "full": full,
    "paired": paired,
}


@isolated
@shares_arguments(ARGUMENTS)
def monte_carlo_kendall_gram(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    window: float | Tensor,
    n_samples: int,
    noise: Noise = "uniform",
    generator: torch.Generator | None = None,
    estimator: Estimator = "full",
    unbiased_diagonal: bool = False,
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array:
    r"""Estimate of the smoothed Kendall kernel from jitters that are drawn, in [-1, 1].

    The mean of Kendall kernels of variant "a" over D jitters :math:`\tilde x^{(d)}` of every row,

    .. math:: G_D(x, y) = \frac{1}{D^2} \sum_{d, e} K_a(\tilde x^{(d)}, \tilde y^{(e)})

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 14). :func:`smoothed_kendall_gram` is what it estimates, and is
    exact; :func:`monte_carlo_bound` tells how far off this may be.

    Args:
        X: {uncertain}
        Y: {others}
        window: the scale of the jitter, one positive number.
        n_samples: D, the number of jitters of every row.
        noise: {noise}
        generator: where they come from; None means torch's default generator.
        estimator: "full" averages over all D^2 pairs of jitters; "paired" compares the d-th jitter of a row with the
            d-th of the other. That takes D Kendall kernels instead of D^2. Its standard deviation is hardly larger
            where jitters reorder few items (by 5 % at most for normal scores and windows up to 1), but up to sqrt(D)
            times as large where they reorder nearly all. Both are unbiased off the diagonal.
        unbiased_diagonal: without ``Y`` both sides share their jitters, and the expected diagonal is
            G(x, x) + (1 - G(x, x)) / D for "full" and 1 for "paired": a ridge, and the matrix is positive
            semi-definite. True takes unbiased estimates for the diagonal instead, and then **the matrix may have
            negative eigenvalues**.
        workspace: bytes of memory to use at most beside inputs, results and drawn jitters.
        progress: {progress}

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`.

    Raises:
        ValueError: NaN among the scores (naming row and item); a window that is not positive and finite; fewer than two
            items; shapes, devices or words that do not fit; ``unbiased_diagonal`` with ``Y`` or a single jitter.
        TypeError: scores or a window that are not real numbers; prepared rankings, which have no differences.
        RuntimeError: backward through scores or window.
    """
    check_choice(noise, "noise", tuple(NOISES))
    check_choice(estimator, "estimator", tuple(ESTIMATORS))
    check_count(n_samples, "n_samples", least=2 if unbiased_diagonal else 1, unit="jitters of every row")
    check_generator(generator)
    workspace = check_workspace(workspace)
    pair = score_pair(X, Y)
    x = complete_scores(exact_differences(pair.X, "X").to(torch.float64), "X")
    y = None if pair.Y is None else complete_scores(exact_differences(pair.Y, "Y").to(torch.float64), "Y")
    x, y, width = in_common_unit(x, y, one_window(window))
    jitters = Jitters(width, noise, int(n_samples), generator)
    if unbiased_diagonal and y is not None:
        raise ValueError("unbiased_diagonal=True is for Y=None: with another Y every entry is unbiased already")
    kernel = ESTIMATORS[estimator](x, y, jitters, unbiased_diagonal, workspace, progress)
    return pair.origin.gram(kernel.to(pair.dtype), symmetric=pair.Y is None)


def monte_carlo_bound(n_samples: int, *, n_rankings: int = 1, delta: float = 0.05) -> float:
    r"""Bound on the error of Monte-Carlo features of the smoothed Kendall kernel that holds with high probability.

    With probability above :math:`1 - \delta`, for all m rankings at once,

    .. math:: \lVert \Psi_D(x_i) - \Psi(x_i) \rVert \le \bigl(2 + \sqrt{8 \log(m / \delta)}\bigr) / \sqrt D

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, lemma 1). It is far from tight: the exact mean square of the left side is
    (1 - G(x, x)) / D, and for ``delta=0.05`` the bound is at least 6.9 times the root of that.

    Args:
        n_samples: D, jitters of every ranking.
        n_rankings: m.
        delta: probability that the bound fails, between 0 and 1.

    Returns:
        The bound, a distance of feature vectors, which have norm 1 or less.

    Raises:
        ValueError, TypeError: counts below 1, or ``delta`` outside (0, 1).
    """
    check_count(n_samples, "n_samples", least=1)
    check_finite(n_samples, "n_samples", 1)
    return _confidence(n_rankings, delta) / math.sqrt(n_samples)


def monte_carlo_samples(n_rankings: int, *, lam: float, excess: float, delta: float = 0.05) -> int:
    r"""How many jitters make a support vector machine on the Monte-Carlo kernel nearly as good as on the exact one.

    The objective :math:`\frac{\lambda}{2} \lVert w \rVert^2 +` mean hinge loss of the machine that was trained with D
    jitters of every ranking is, with probability above :math:`1 - \delta`, at most
    :math:`\sqrt{8 / (\lambda D)}\, (2 + \sqrt{8 \log(m / \delta)})` above its minimum (Jiao and Vert, IEEE TPAMI 40(7),
    2018, theorem 3). This is the least D that makes that at most ``excess``.

    Args:
        n_rankings: m, training rankings.
        lam: regularization, above 0.
        excess: allowed excess of the objective, above 0.
        delta: probability that the bound fails, between 0 and 1.

    Returns:
        D.

    Raises:
        ValueError, TypeError: numbers out of range.
    """
    for value, name in ((lam, "lam"), (excess, "excess")):
        check_positive(value, name)
    confidence, regularization, most = (Fraction(float(v)) for v in (_confidence(n_rankings, delta), lam, excess))
    return math.ceil(8 * confidence**2 / (regularization * most**2))  # exact, and without a largest number


def _confidence(n_rankings: int, delta: float) -> float:
    check_count(n_rankings, "n_rankings", least=1)
    check_at_least(delta, "delta", 0)
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is out of range; it is a probability strictly between 0 and 1")
    return 2 + math.sqrt(8 * (math.log(n_rankings) - math.log(delta)))


def _row_by_row(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    """Kendall kernels ``(..., m)`` of the rows of x with those of y."""
    return kendall_gram(x[..., None, :], y[..., None, :], variant="a", workspace=workspace)[..., 0, 0]


def _with_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    return matrix - torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1) - diagonal)
