"""What all mixtures of distributions of rankings have in common."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank._warnings import warn
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.geometries import FeatureGeometry, GramGeometry
from torchrank.clustering.seeds import check_clustering, start_labels
from torchrank.kernels.points import Groups
from torchrank.linalg.state import GrowingBuffers
from torchrank.mixtures.em import MixtureFit, Parameters, em
from torchrank.mixtures.statistics import MixtureStatistics, memberships, soft_members
from torchrank.processes import Group
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.batches import Batched, Batches, as_batches, refuse_weights, refuse_without_batches
from torchrank.rankings.derivatives import of_rows
from torchrank.rankings.isolation import isolated
from torchrank.rankings.partial_orders import PartialOrders
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, check_at_least, check_choice
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.typing import Array, Criterion, Init, Values

CRITERIA = get_args(Criterion)


class Rows(NamedTuple):
    """Checked data; for training every different row that counts once, since votes repeat."""

    points: Any  # what the components' densities are functions of
    groups: Groups  # which rows the points are
    origin: Origin

    @property
    def weights(self) -> Tensor:
        """``(u,)`` float64 weights of the points; in training in a unit of their own, so that scale does not matter."""
        return self.groups.weights


@isolated
@shares_arguments(ARGUMENTS, OF_BATCHES)
class Mixture(GrowingBuffers, ABC):
    r"""A mixture :math:`f(x) = \sum_j p_j f_j(x)`, trained by expectation-maximization or by gradients.

    Subclasses say what a component is. All steps are written for parameters with leading dimensions, so that EM runs
    from many starts at once; the module's own parameters are those of the best start. They can be trained in any other
    way too: ``-model.log_prob(X).sum()`` is differentiable in all of them. Parameters, arithmetic and results are in
    float64 whatever the dtype of the scores, also after ``.float()`` or ``.half()``.
    """

    logits: nn.Parameter

    def __init__(self, n_components: int, *, init: Init | Values, n_init: int, tol: float, max_iter: int) -> None:
        super().__init__()
        check_clustering(n_components, init, n_init, max_iter, name="n_components")
        check_at_least(tol, "tol", 0)
        self.n_components, self.init, self.n_init, self.tol, self.max_iter = n_components, init, n_init, tol, max_iter
        self.logits = nn.Parameter(torch.zeros(n_components, dtype=torch.float64))

    @property
    def weights(self) -> Tensor:
        """``(c,)`` the shares p of the components."""
        return self.logits.detach().softmax(0)

    # What a subclass has to say.

    @abstractmethod
    def _rows(self, X: Any, weights: Matrix | None, *, training: bool) -> Rows:
        """Check ``X``, and with ``training`` learn what has to be known of training rows."""

    @abstractmethod
    def _parameters_now(self) -> Parameters:
        """The module's parameters as a NamedTuple, log-shares first."""

    @abstractmethod
    def _keep(self, parameters: Parameters) -> None:
        """Make these the module's parameters."""

    @abstractmethod
    def _log_densities(self, points: Any, parameters: Parameters) -> Tensor:
        """``(..., c, u)`` log f_j of all points."""

    @abstractmethod
    def _moments(self, points: Any, shares: Tensor, parameters: Parameters | None) -> Tensor:
        """``(..., c, q)`` what the M-step needs, linear in the weighted memberships ``(..., c, u)``.

        Where points leave something open it is what the parameters expect; there are none at a start.
        """

    @abstractmethod
    def _maximize(self, statistics: MixtureStatistics, previous: Parameters | None) -> Parameters:
        """The M-step; components without weight keep what they had."""

    @abstractmethod
    def _geometry(self, points: Any, weights: Tensor) -> GramGeometry | FeatureGeometry:
        """In which k-means++ draws seeds."""

    @property
    @abstractmethod
    def n_free_parameters(self) -> int:
        """Continuous parameters, for :meth:`criterion`; central rankings, which are discrete, are not counted."""

    def _penalty(self, parameters: Parameters) -> Tensor:
        """``(...)`` subtracted from the mean log-likelihood while fitting."""
        return parameters[0].new_zeros(parameters[0].shape[:-1])

    # What follows from it.

    def component_log_prob(self, X: Scores[Array] | PartialOrders) -> Array:
        """Log-probabilities ``(m, c)`` of rankings ``(m, n)`` under each component."""
        rows = self._new_rows(X)
        return self._result(self._log_densities(rows.points, self._parameters_now()).mT, rows, X)

    def log_prob(self, X: Scores[Array] | PartialOrders) -> Array:
        """Log-probabilities ``(m,)`` of rankings ``(m, n)``, differentiable in the parameters of the model."""
        rows = self._new_rows(X)
        return self._result(self._log_joint(rows.points, self._parameters_now()).logsumexp(-2), rows, X)

    def forward(self, X: Scores[Array] | PartialOrders) -> Array:
        """:meth:`log_prob`."""
        return self.log_prob(X)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Scores[Array] | PartialOrders) -> Array: ...

    @torch.no_grad()
    def predict_proba(self, X: Scores[Array] | PartialOrders) -> Array:
        """Probabilities ``(m, c)`` that rankings ``(m, n)`` came from each component; rows add up to 1."""
        rows = self._new_rows(X)
        return self._result(self._log_joint(rows.points, self._parameters_now()).softmax(-2).mT, rows, X)

    @torch.no_grad()
    def predict(self, X: Scores[Array] | PartialOrders) -> Array:
        """Components ``(m,)`` int64 that rankings ``(m, n)`` most probably came from."""
        rows = self._new_rows(X)
        return self._result(self._log_joint(rows.points, self._parameters_now()).argmax(-2), rows, X)

    @torch.no_grad()
    def criterion(self, X: Scores | PartialOrders, weights: Values | None = None, name: Criterion = "bic") -> float:
        """Information criterion of the model on rankings, lower = better: -2 log-likelihood + a penalty.

        The likelihood is that of the rankings as they are given, partial ones too. Models of the same rows, read by the
        same words, can be compared: with ``missing="interleaving"`` more agrees, and is more likely, than with "topk".

        Args:
            X: ``(m, n)`` rankings, as for :meth:`fit`.
            weights: {weights}
            name: "bic" (Schwarz, Ann. Statist. 6(2), 1978), whose penalty is free parameters x log(sum of weights); or
                "aic" (Akaike, IEEE TAC 19(6), 1974), 2 x free parameters.

        Raises:
            ValueError: no rows, an unknown name, and what :meth:`fit` refuses.
        """
        check_choice(name, "name", CRITERIA)
        log_likelihood, total = self._log_likelihood(X, weights)
        penalty = total.log() if name == "bic" else 2
        return float(-2 * log_likelihood + self.n_free_parameters * penalty)

    def aic(self, X: Scores | PartialOrders, weights: Values | None = None) -> float:
        """:meth:`criterion` "aic"."""
        return self.criterion(X, weights, "aic")

    def bic(self, X: Scores | PartialOrders, weights: Values | None = None) -> float:
        """:meth:`criterion` "bic"."""
        return self.criterion(X, weights, "bic")

    @torch.no_grad()
    def mean_log_prob(self, X: Scores | PartialOrders, weights: Values | None = None) -> float:
        """Weighted mean of :meth:`log_prob` over rows; rows of weight 0 are left out.

        Raises:
            ValueError: no rows, and what :meth:`fit` refuses.
        """
        log_likelihood, total = self._log_likelihood(X, weights)
        return float(log_likelihood / total)

    @torch.no_grad()
    def summarize(self, X: Scores | PartialOrders, weights: Values | None = None) -> MixtureStatistics:
        """The E-step: sufficient statistics of some rankings under the present parameters, to be added up."""
        rows = self._new_rows(X, weights)
        parameters = self._parameters_now()
        log_likelihood, shares = self._e_step(rows, parameters)
        return self._statistics(rows.points, shares, log_likelihood, parameters)

    @torch.no_grad()
    def update(self, statistics: MixtureStatistics) -> None:
        """The M-step: set the parameters that statistics of :meth:`summarize` ask for."""
        self._keep(self._maximize(statistics, self._parameters_now()))

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self,
        X: Scores | PartialOrders | Batched,
        weights: Values | None = None,
        *,
        generator: torch.Generator | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        group: Group = None,
    ) -> MixtureFit:
        """Fit by expectation-maximization from many starts.

        Args:
            X: ``(m, n)`` rankings, or what the subclass says. {batches} Their starts are fitted to a sample of 4,096
                rows, and the best goes on over all of them. For :class:`torchrank.MallowsMixture`.
            weights: {weights} Their scale changes the log-likelihoods, and neither parameters nor iterations.
            generator: {generator}
            progress: {progress}
            checkpoint: {checkpoint}
            group: {group}

        Returns:
            How it went.

        Raises:
            ValueError: weights that are negative or all 0, unranked items, no rows.
            TypeError: scores that are not real numbers.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: fewer different rows than components, or else a concentration that reached its cap; a component
                that is empty.
        """
        batches = as_batches(X)
        if batches is not None:
            refuse_weights(weights)
            return self._fit_in_batches(
                batches, generator=generator, progress=progress, checkpoint=checkpoint, group=group
            )
        refuse_without_batches(checkpoint=checkpoint, group=group)
        rows = self._rows(X, weights, training=True)
        total = rows.weights.sum()
        geometry = self._geometry(rows.points, rows.weights)
        starts = 1 if self.n_components == 1 else self.n_init
        labels = start_labels(geometry, rows.groups, self.n_components, self.init, starts, generator)
        shares = soft_members(labels, self.n_components) * rows.weights

        def e_step(parameters: Parameters) -> tuple[Tensor, Tensor]:
            log_likelihood, shares = self._e_step(rows, parameters)
            return log_likelihood - total * self._penalty(parameters), shares

        def m_step(shares: Tensor, previous: Parameters | None) -> Parameters:
            statistics = self._statistics(rows.points, shares, shares.new_zeros(len(shares)), previous)
            return self._maximize(statistics, previous)

        self.to(total.device)  # all parameters are replaced
        tol = self.tol * float(total)
        result = em(m_step(shares, None), e_step, m_step, tol=tol, max_iter=self.max_iter, progress=progress)
        self._keep(result.parameters)
        self.remember(rows.origin.items)
        penalty = float(total * self._penalty(result.parameters))
        fit = result.evidence(penalty, rows.groups.unit)
        if len(rows.weights) < self.n_components:
            warn(
                f"n_components={self.n_components} is more than the {len(rows.weights)} different rows, so that "
                "components share rows or have next to none; fit fewer"
            )
        else:
            self._warn_of_limits(rows.points, result.parameters)
        self._warn_of(fit)
        return fit

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"n_components={self.n_components}, n_init={self.n_init}, tol={self.tol}, max_iter={self.max_iter}"

    def _new_rows(self, X: Any, weights: Matrix | None = None) -> Rows:
        rows = self._rows(X, weights, training=False)
        self.check_items(rows.origin.items)
        return rows

    def _result(self, values: Tensor, rows: Rows, X: Any) -> Matrix:
        return rows.origin.wrap(of_rows(values, X, by=type(self).__name__))

    def _warn_of(self, fit: MixtureFit) -> None:
        """Warn of components that are empty, and of an iteration that was cut short."""
        empty = (self.logits == -math.inf).nonzero()[:, 0].tolist()
        if empty:
            warn(f"components {empty} became empty; fit fewer")
        fit.warn_unless_converged(self.tol)

    def _fit_in_batches(self, batches: Batches, **_: Any) -> MixtureFit:
        """Fit to rows that come in batches, for subclasses that can."""
        raise ValueError(f"{type(self).__name__} takes all rows at once, and no batches; MallowsMixture takes them")

    def _warn_of_limits(self, points: Any, parameters: Parameters) -> None:
        """Warn where the best parameters are at the edge of what is allowed."""

    def _log_likelihood(self, X: Any, weights: Matrix | None) -> tuple[Tensor, Tensor]:
        """Weighted sum over all rows, and the sum of weights."""
        rows = self._new_rows(X, weights)
        if len(rows.weights) == 0:
            raise ValueError("X has no rows; at least one is needed")
        log_prob = self._log_joint(rows.points, self._parameters_now()).logsumexp(-2)
        return _weighted(log_prob, rows.weights), rows.weights.sum()

    def _log_joint(self, points: Any, parameters: Parameters) -> Tensor:
        """``(..., c, u)`` log p_j f_j."""
        return parameters[0][..., None] + self._log_densities(points, parameters)

    def _e_step(self, rows: Rows, parameters: Parameters) -> tuple[Tensor, Tensor]:
        """Weighted log-likelihood ``(...)``, and weights times memberships ``(..., c, u)``; all in logarithms."""
        return memberships(self._log_joint(rows.points, parameters), rows.weights)

    def _statistics(
        self, points: Any, shares: Tensor, log_likelihood: Tensor, parameters: Parameters | None
    ) -> MixtureStatistics:
        return MixtureStatistics(shares.sum(-1), self._moments(points, shares, parameters), log_likelihood)


def _weighted(values: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over rows, in which a row of weight 0 counts nothing even if its value is infinite."""
    return torch.where(weights > 0, values * weights, 0).sum(-1)
