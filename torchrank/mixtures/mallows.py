"""Mixture of Mallows distributions."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.centers import CENTERS, centers_of_margins, improved
from torchrank.clustering.geometries import FeatureGeometry
from torchrank.distributions.mallows_law import MOST_LAM, lam_of_mean_distance, log_partition
from torchrank.mixtures.mixture import Mixture, MixtureStatistics, Rows, log_shares, warn_of_caps
from torchrank.mixtures.total_rankings import total_rankings
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.isolation import isolated
from torchrank.rankings.pairs import discordant_with_centers, pair_signs, ranks_of_signs
from torchrank.rankings.validate import Scores, check_choice, check_count, check_positive


class MallowsParameters(NamedTuple):
    """Of c components; leading dimensions are those of the starts."""

    log_shares: Tensor  # (..., c)
    centers: Tensor  # (..., c, p) pair signs
    lam: Tensor  # (..., c)


@isolated
@shares_arguments(ARGUMENTS)
class MallowsMixture(Mixture):
    r"""Mixture of Mallows distributions on total rankings of n items.

    .. math:: f(x) = \sum_j p_j \frac{e^{-\lambda_j n_d(x, \pi_j)}}{Z(\lambda_j)}, \qquad
              Z(\lambda) = \prod_{i=1}^n \frac{1 - e^{-i\lambda}}{1 - e^{-\lambda}}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 19), fitted by expectation-maximization (Murphy and Martin,
    Computational Statistics and Data Analysis 41, 2003). With ``center="kemeny"`` the M-step is exact. Borda's and
    Copeland's centers are approximations of Kemeny's; they replace a center only when they are better, so that the
    likelihood never falls. Concentrations are maximum-likelihood given the center, by Newton's method; where a
    component sits on equal rankings that has no maximum, and ``max_lam`` is taken.

    Parameters are ``logits``, of which the shares are the softmax, and ``concentrations``. They are lam itself: an
    optimizer may take one through 0, where all rankings are alike, and a negative one is that of the reversed center.
    The central rankings are discrete, so gradients do not reach them. The signs of all pairs of items of the different
    rankings are held in memory, 4 n^2 bytes each.

    Args:
        n_items: n, at least 2.
        n_components: c.
        center: "kemeny", "borda" or "copeland": how centers are found.
        max_lam: largest concentration, above 0.
        init: {init}
        n_init: {n_init}
        tol: {tol}
        max_iter: {max_iter}

    Attributes:
        centers: ``(c, n)`` central rankings, int64 scores from 0 to n - 1, larger = preferred.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    centers: Tensor

    def __init__(
        self,
        n_items: int,
        n_components: int,
        *,
        center: str = "kemeny",
        max_lam: float = MOST_LAM,
        init: str | Matrix = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, init=init, n_init=n_init, tol=tol, max_iter=max_iter)
        check_count(n_items, "n_items", 2)
        check_choice(center, "center", CENTERS)
        check_positive(max_lam, "max_lam")
        self.n_items, self.center, self.max_lam = n_items, center, max_lam
        self.concentrations = nn.Parameter(torch.ones(n_components, dtype=torch.float64))
        self.register_buffer("centers", torch.arange(n_items).expand(n_components, -1).clone())

    @property
    def lam(self) -> Tensor:
        """``(c,)`` the concentrations."""
        return self.concentrations.detach().clone()

    @property
    def n_free_parameters(self) -> int:
        """Shares and concentrations."""
        return 2 * self.n_components - 1

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"n_items={self.n_items}, center={self.center!r}, {super().extra_repr()}"

    def _rows(self, X: Scores, weights: Matrix | None, *, training: bool) -> Rows:
        ranks, groups, origin = total_rankings(X, self.n_items, weights, training=training)
        return Rows(pair_signs(ranks), groups, origin)

    def _parameters_now(self) -> MallowsParameters:
        return MallowsParameters(self.logits.log_softmax(0), pair_signs(self.centers), self.concentrations)

    def _keep(self, parameters: MallowsParameters) -> None:
        self.logits.copy_(parameters.log_shares)
        self.concentrations.copy_(parameters.lam)
        self.centers = ranks_of_signs(parameters.centers, self.n_items)

    def _log_densities(self, points: Tensor, parameters: MallowsParameters) -> Tensor:
        discordant = discordant_with_centers(points, parameters.centers)
        lam = parameters.lam[..., None]
        return -lam * discordant - log_partition(parameters.lam, self.n_items)[..., None]

    def _moments(self, points: Tensor, shares: Tensor) -> Tensor:
        return shares @ points

    def _maximize(self, statistics: MixtureStatistics, previous: MallowsParameters | None) -> MallowsParameters:
        counts, sums = statistics.counts, statistics.moments
        found = pair_signs(centers_of_margins(sums, counts, self.n_items, self.center))
        centers, _ = improved(found, None if previous is None else previous.centers, sums)
        agreement = (centers * sums).sum(-1)
        mean = (sums.shape[-1] - agreement / torch.where(counts > 0, counts, 1)) / 2
        lam = lam_of_mean_distance(mean, self.n_items, self.max_lam, None if previous is None else previous.lam)
        if previous is not None:
            lam = torch.where(counts > 0, lam, previous.lam)
        return MallowsParameters(log_shares(counts), centers, lam)

    def _geometry(self, points: Tensor, weights: Tensor) -> FeatureGeometry:
        return FeatureGeometry(points, weights)

    def _warn_of_limits(self, parameters: MallowsParameters) -> None:
        warn_of_caps(parameters.lam, self.max_lam)
