"""Mixture of kernel Mallows distributions: Mallows with any vector of pair preferences as center."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.geometries import FeatureGeometry
from torchrank.mixtures.components import log_shares
from torchrank.mixtures.mixture import Mixture, Rows
from torchrank.mixtures.statistics import MixtureStatistics
from torchrank.mixtures.total_rankings import total_rankings
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.isolation import isolated
from torchrank.rankings.pairs import pair_signs
from torchrank.rankings.validate import check_count, check_positive
from torchrank.typing import Init, Values

MOST_ITEMS = 7  # 5,040 rankings to sum over; of 8 items there are 40,320
_NEWTON_STEPS = 100
_HALVINGS = 40
_LEAST_DECREMENT = 1e-18  # a unit of weight: theta is then right to about 1e-9
_ROUNDING = 1e-13  # relative error of the objective, below which it says nothing of a step


class KernelMallowsParameters(NamedTuple):
    """Of c components; leading dimensions are those of the starts."""

    log_shares: Tensor  # (..., c)
    theta: Tensor  # (..., c, p)


@isolated
@shares_arguments(ARGUMENTS)
class KernelMallowsMixture(Mixture):
    r"""Mixture of kernel Mallows distributions on total rankings of up to 7 items.

    .. math:: f(x) = \sum_j p_j \frac{e^{\theta_j \cdot \Phi(x)}}{\sum_{y} e^{\theta_j \cdot \Phi(y)}}

    with :math:`\Phi` the feature vector of the Kendall kernel, signs of all pairs divided by the root of their number.
    Jiao and Vert (IEEE TPAMI 40(7), 2018, equation 22) write it with a center :math:`\mu` in feature space and a
    concentration, :math:`e^{-\lambda \lVert \Phi(x) - \mu \rVert^2}`. Since :math:`\Phi(x)` has norm 1, only
    :math:`\theta = 2 \lambda \mu` matters: :math:`(c\mu, \lambda/c)` is the same distribution for every c. In
    :math:`\theta` the log-likelihood is concave, contrary to what the paper says of the pair, and the M-step is one
    moment-matching problem, solved by Newton's method. With :math:`\mu` the features of a ranking it is the Mallows
    distribution of concentration :math:`4\lambda` divided by the number of pairs.

    Where all rankings of a component agree on a pair, the likelihood has no maximum. A ridge keeps it finite: EM
    maximizes the mean log-likelihood of the rows less
    :math:`\tfrac{1}{2} \text{ridge} \sum_j \lVert \theta_j \rVert^2`, so that neither the number of rows nor the scale
    of their weights decides how strong it is.

    The normalizer is a sum over all n! rankings. Beyond 7 items that is refused; use
    :class:`torchrank.KernelGaussianMixture` there.

    Args:
        n_items: n, from 2 to 7.
        n_components: c.
        ridge: strength of the penalty on theta, above 0.
        init: {init}
        n_init: {n_init}
        tol: {tol}
        max_iter: {max_iter}

    Attributes:
        theta: parameter ``(c, n(n-1)/2)``, in the order of ``torch.triu_indices(n, n, 1)``.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    all_features: Tensor

    def __init__(
        self,
        n_items: int,
        n_components: int,
        *,
        ridge: float = 1e-5,
        init: Init | Values = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, init=init, n_init=n_init, tol=tol, max_iter=max_iter)
        check_count(n_items, "n_items", 2)
        if n_items > MOST_ITEMS:
            raise ValueError(
                f"n_items={n_items} is too large: the normalizer is a sum over all rankings, {math.factorial(n_items)} "
                f"of them; up to {MOST_ITEMS} items are possible, beyond use KernelGaussianMixture or MallowsMixture"
            )
        check_positive(ridge, "ridge")
        self.n_items, self.ridge = n_items, ridge
        everything = torch.tensor(list(permutations(range(n_items))))
        self.register_buffer("all_features", _features(everything), persistent=False)
        self.theta = nn.Parameter(torch.zeros(n_components, self.all_features.shape[1], dtype=torch.float64))

    @property
    def n_free_parameters(self) -> int:
        """Shares and theta."""
        return self.n_components - 1 + self.theta.numel()

    def penalty(self) -> Tensor:
        """What EM subtracts from the mean log-likelihood; differentiable."""
        return self._penalty(self._parameters_now())

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"n_items={self.n_items}, ridge={self.ridge}, {super().extra_repr()}"

    def _rows(self, X: Any, weights: Matrix | None, *, training: bool) -> Rows:
        ranks, groups, origin = total_rankings(X, self.n_items, weights, training=training)
        return Rows(_features(ranks), groups, origin)

    def _parameters_now(self) -> KernelMallowsParameters:
        return KernelMallowsParameters(self.logits.log_softmax(0), self.theta)

    def _keep(self, parameters: KernelMallowsParameters) -> None:
        self.logits.copy_(parameters.log_shares)
        self.theta.copy_(parameters.theta)

    def _log_densities(self, points: Tensor, parameters: KernelMallowsParameters) -> Tensor:
        normalizer = (parameters.theta @ self.all_features.mT).logsumexp(-1)
        return parameters.theta @ points.mT - normalizer[..., None]

    def _moments(self, points: Tensor, shares: Tensor, parameters: KernelMallowsParameters | None) -> Tensor:
        return shares @ points

    def _maximize(
        self, statistics: MixtureStatistics, previous: KernelMallowsParameters | None
    ) -> KernelMallowsParameters:
        counts, sums = statistics.counts, statistics.moments
        total = counts.sum(-1, keepdim=True)
        start = torch.zeros_like(sums) if previous is None else previous.theta
        theta = match_moments(sums / total[..., None], counts / total, self.all_features, self.ridge, start)
        return KernelMallowsParameters(log_shares(counts), theta)

    def _penalty(self, parameters: KernelMallowsParameters) -> Tensor:
        return self.ridge / 2 * parameters.theta.square().sum((-1, -2))

    def _geometry(self, points: Tensor, weights: Tensor) -> FeatureGeometry:
        return FeatureGeometry(points, weights)


def match_moments(
    sums: Tensor,  # (..., p) weighted sums of features
    counts: Tensor,  # (...) sums of weights
    features: Tensor,  # (n!, p) features of all rankings
    ridge: float,
    start: Tensor,  # (..., p)
) -> Tensor:
    r"""Theta under which the expected features are those of the data, but for the ridge.

    It maximizes the strictly concave :math:`\theta \cdot s - N \log Z(\theta) - \tfrac{1}{2} r \lVert\theta\rVert^2`, s
    being the sums, N the counts and r the ridge, by damped Newton steps from ``start``.
    """
    identity = ridge * torch.eye(sums.shape[-1], dtype=sums.dtype, device=sums.device)

    theta = start
    for _ in range(_NEWTON_STEPS):
        chances = (theta @ features.mT).softmax(-1)
        mean = chances @ features
        covariance = (chances[..., None, :] * features.mT) @ features - mean[..., :, None] * mean[..., None, :]
        gradient = sums - counts[..., None] * mean - ridge * theta
        step = torch.linalg.solve(counts[..., None, None] * covariance + identity, gradient)
        if bool(((step * gradient).sum(-1) <= _LEAST_DECREMENT * (1 + counts)).all()):
            break
        theta = theta + _step_length(theta, step, sums, counts, features, ridge)[..., None] * step
    return theta


def _step_length(theta: Tensor, step: Tensor, sums: Tensor, counts: Tensor, features: Tensor, ridge: float) -> Tensor:
    """Of 1, 1/2, 1/4, ... the first share ``(...)`` of each step that does not make the objective worse."""

    def objective(theta: Tensor) -> Tensor:
        log_partition = (theta @ features.mT).logsumexp(-1)
        return (theta * sums).sum(-1) - counts * log_partition - ridge / 2 * theta.square().sum(-1)

    value = objective(theta)
    least = value - _ROUNDING * (1 + value.abs())
    length = torch.ones_like(value)
    for _ in range(_HALVINGS):
        worse = objective(theta + length[..., None] * step) < least
        if not bool(worse.any()):
            return length
        length = torch.where(worse, length / 2, length)
    return length


def _features(ranks: Tensor) -> Tensor:
    """Feature vectors ``(..., p)`` of the Kendall kernel, of norm 1."""
    signs = pair_signs(ranks)
    return signs / math.sqrt(signs.shape[-1])
