"""Mixture of Mallows distributions."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.centers import CENTERS, centers_of_margins, improved
from torchrank.clustering.geometries import FeatureGeometry
from torchrank.distributions.agreeing import N_SAMPLES
from torchrank.distributions.choices import MISSING
from torchrank.distributions.mallows_law import MOST_LAM, known_pairs, lam_of_mean_distance
from torchrank.distributions.partial_rows import TIES
from torchrank.mixtures.batched_fit import Steps, fit_in_batches
from torchrank.mixtures.components import log_shares, warn_of_caps
from torchrank.mixtures.em import MixtureFit
from torchrank.mixtures.mallows_batches import BatchedRows
from torchrank.mixtures.mallows_parameters import MallowsParameters
from torchrank.mixtures.mixture import Mixture, Rows
from torchrank.mixtures.partial_rankings import PartialPoints, partial_rankings
from torchrank.mixtures.statistics import MixtureStatistics
from torchrank.processes import Group
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.batches import Batches
from torchrank.rankings.isolation import isolated
from torchrank.rankings.pairs import n_pairs, pair_signs, ranks_of_signs
from torchrank.rankings.validate import check_choice, check_count, check_positive
from torchrank.stream.passes import Chunk, Passes
from torchrank.typing import Center, Init, MallowsTies, MissingWord, Values


@isolated
@shares_arguments(ARGUMENTS)
class MallowsMixture(Mixture):
    r"""Mixture of Mallows distributions on total rankings of n items, for complete and partial rankings.

    .. math:: f(x) = \sum_j p_j \frac{e^{-\lambda_j n_d(x, \pi_j)}}{Z(\lambda_j)}, \qquad
              Z(\lambda) = \prod_{i=1}^n \frac{1 - e^{-i\lambda}}{1 - e^{-\lambda}}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 19), fitted by expectation-maximization (Murphy and Martin,
    Computational Statistics and Data Analysis 41, 2003). With ``center="kemeny"`` the M-step is exact. Borda's and
    Copeland's centers are approximations of Kemeny's; they replace a center only when they are better, so that the
    likelihood never falls. Concentrations are maximum-likelihood given the center, by Newton's method; where a
    component sits on equal rankings that has no maximum, and ``max_lam`` is taken.

    A partial ranking stands for all total rankings that agree with it, and its probability is the sum of theirs, as
    for :func:`torchrank.fit_mallows`. With groups of items that have no order inside, as in top-k lists and ties, there
    is a formula and the M-step stays exact. Of sub-rankings and of comparisons of pairs
    (:func:`torchrank.from_preferences`, which all methods take in place of scores) the M-step takes the pairs expected
    under the parameters before, so that the likelihood still never falls. Sums over agreeing rankings are exact where a
    row leaves at most 16,384 sets of items to go through, always for up to 14 items. Beyond that they are estimated
    from ``n_samples`` rankings a row and component, drawn by the sampler AMP of Lu and Boutilier (JMLR 15, 2014). The
    same row under the same parameters has the same estimate always; the likelihood may then fall by the error of the
    estimates, and EM ends when it does.

    Parameters are ``logits``, of which the shares are the softmax, and ``concentrations``. They are lam itself: an
    optimizer may take one through 0, where all rankings are alike, and a negative one is that of the reversed center.
    The central rankings are discrete, so gradients do not reach them. The signs of all pairs of items of the different
    rankings are held in memory, 4 n^2 bytes each.

    Args:
        n_items: n, at least 2.
        n_components: c.
        missing: what unranked items mean: "raise", an error; "topk", less preferred than all ranked items;
            "interleaving", anything; None leaves it to prepared rankings (:func:`torchrank.rank`, which takes a word
            for each row), and is "raise" for scores.
        ties: "raise", an error; or "unknown": tied items were not told apart, any order of them agrees.
        center: "kemeny", "borda" or "copeland": how centers are found.
        max_lam: largest concentration, above 0.
        n_samples: sampled rankings for each row and component, where sums are not exact.
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
        missing: MissingWord | None = None,
        ties: MallowsTies = "raise",
        center: Center = "kemeny",
        max_lam: float = MOST_LAM,
        n_samples: int = N_SAMPLES,
        init: Init | Values = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, init=init, n_init=n_init, tol=tol, max_iter=max_iter)
        check_count(n_items, "n_items", 2)
        check_choice(center, "center", CENTERS)
        check_positive(max_lam, "max_lam")
        if missing is not None:
            check_choice(missing, "missing", MISSING)
        check_choice(ties, "ties", TIES)
        check_count(n_samples, "n_samples", 2)
        self.n_items, self.center, self.max_lam = n_items, center, max_lam
        self.missing: MissingWord | None = missing
        self.ties: MallowsTies = ties
        self.n_samples = n_samples
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
        partial = "" if self.missing is None else f"missing={self.missing!r}, "
        partial += "" if self.ties == "raise" else f"ties={self.ties!r}, "
        return f"n_items={self.n_items}, {partial}center={self.center!r}, {super().extra_repr()}"

    def _rows(self, X: Any, weights: Matrix | None, *, training: bool) -> Rows:
        points, groups, origin = partial_rankings(
            X,
            self.n_items,
            weights,
            missing=self.missing,
            ties=self.ties,
            n_samples=self.n_samples,
            training=training,
        )
        return Rows(points, groups, origin)

    def _parameters_now(self) -> MallowsParameters:
        return MallowsParameters(self.logits.log_softmax(0), pair_signs(self.centers), self.concentrations)

    def _keep(self, parameters: MallowsParameters) -> None:
        self.logits.copy_(parameters.log_shares)
        self.concentrations.copy_(parameters.lam)
        self.centers = ranks_of_signs(parameters.centers, self.n_items)

    def _log_densities(self, points: PartialPoints, parameters: MallowsParameters) -> Tensor:
        return points.log_probabilities(parameters.centers, parameters.lam)

    def _moments(self, points: PartialPoints, shares: Tensor, parameters: MallowsParameters | None) -> Tensor:
        return points.moments(shares, *((None, None) if parameters is None else parameters[1:]))

    def _maximize(self, statistics: MixtureStatistics, previous: MallowsParameters | None) -> MallowsParameters:
        counts, n = statistics.counts, self.n_items
        sums, groups = statistics.moments.split([n_pairs(n), n - 1], dim=-1)
        found = pair_signs(centers_of_margins(sums, counts, n, self.center))
        centers, _ = improved(found, None if previous is None else previous.centers, sums)
        divisor = torch.where(counts > 0, counts, 1)
        groups = groups / divisor[..., None]
        mean = (known_pairs(n, groups) - (centers * sums).sum(-1) / divisor) / 2
        start = None if previous is None else previous.lam
        lam = lam_of_mean_distance(mean, n, self.max_lam, start, groups)
        if previous is not None:
            lam = torch.where(counts > 0, lam, previous.lam)
        return MallowsParameters(log_shares(counts), centers, lam)

    def _geometry(self, points: PartialPoints, weights: Tensor) -> FeatureGeometry:
        return FeatureGeometry(points.signs, weights)

    def _warn_of_limits(self, points: PartialPoints, parameters: MallowsParameters) -> None:
        warn_of_caps(parameters.lam, self.max_lam)
        sums = points.sums(parameters.centers, parameters.lam)
        if points.agreeing is not None and sums is not None:
            points.agreeing.warn_of_few_samples(sums.effective)

    def _fit_in_batches(self, batches: Batches, *, group: Group, progress: bool, **options: Any) -> MixtureFit:
        rows = BatchedRows(self.n_items, self.missing, self.ties, self.n_samples)

        def start(sample: Chunk) -> MallowsParameters:
            other = copy.deepcopy(self)  # a fit that is broken off leaves this one as it was
            other.fit(sample.rankings, sample.weights, generator=options["generator"])
            return other._parameters_now()

        steps = Steps(MallowsParameters, start, rows.of_shares, rows.statistics, self._maximize, self._penalty)
        passes = Passes(batches, rows.read, group=group, title="EM", progress=progress)
        plan = rows.plan() | {"center": self.center, "max_lam": self.max_lam, "n_init": self.n_init}
        options |= {"init": self.init, "n_components": self.n_components, "tol": self.tol, "max_iter": self.max_iter}
        result, facts = fit_in_batches(passes, steps, plan=plan, **options)
        self.to(passes.first.ranks.device)  # all parameters are replaced
        self._keep(result.parameters)
        self.remember(passes.first.origin.items)
        fit = result.evidence(0.0, 1.0)
        self._warn_of_limits(rows.points(facts.sample.rankings), result.parameters)
        self._warn_of(fit)
        return fit
