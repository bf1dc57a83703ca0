"""Plackett-Luce worths that depend on features of the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.distributions.ascent import Point, ascend, inverse
from torchrank.distributions.choice_lists import choice_lists, one_set
from torchrank.distributions.choices import MISSING, UNTIED
from torchrank.distributions.likelihood import PlackettLuceObjective
from torchrank.distributions.plackett_luce import PlackettLuce
from torchrank.distributions.priors import LogPrior, NormalPrior, log_prior
from torchrank.evidence import Evidence
from torchrank.linalg.precision import KeepsPrecision
from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.features import check_finite_features
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import RemembersItems, check_same_names
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.sparse_forms import from_rankings
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, as_scores, as_weights, check_choice, check_count, check_finite
from torchrank.typing import Array, Kind, MissingWord, Values

_FLAT = 10  # times the largest derivative allowed at the end: a curvature that a maximum has more of
_EXACT = 1e-12
_SAME_ITEMS = "pass features.loc[X.columns], or features.to_numpy() to take its rows by their place"


@dataclass(frozen=True, kw_only=True)
class RegressionFit(Evidence, Generic[Kind]):
    """Evidence of a fit; the objective is the log-likelihood plus the prior's logarithm, which rises."""

    log_likelihood: float  # of the weighted rankings
    covariance: Kind  # (d, d) of the coefficients: inverse information, that of the prior included
    standard_errors: Kind  # (d,) of the coefficients

    __repr__ = short_repr


@isolated
class PlackettLuceRegression(KeepsPrecision, RemembersItems):
    r"""Plackett-Luce distribution whose logits are a linear function of features of the items.

    .. math:: \theta_i = \sum_k f_{ik} \beta_k

    (for comparisons Springall, Appl. Statist. 22(1), 1973; Yıldız, Dy, Erdoğmuş et al., AISTATS 2020). So items that
    were never ranked have worths too. A feature that is the same for all items of every ranking has no effect, and
    there is no intercept.

    ``fit`` finds the maximum by Newton's method. The coefficients can be trained in any other way too:
    ``-model.log_prob(X, features).sum()`` is differentiable in them and in the features, which may come from a network.
    Parameters and results are in float64 whatever the dtype of features, also after ``.float()`` or ``.half()``.

    Args:
        n_features: d, at least 1.
        missing: what unranked items of rankings mean: "raise", "interleaving" or "topk", as for
            :class:`torchrank.PlackettLuce`.
        prior: None for maximum likelihood; a :class:`torchrank.distributions.NormalPrior` of the coefficients, or its
            variance, one number above 0.

    Attributes:
        coefficients: ``(d,)`` :math:`\beta`, zeros before a fit.

    Raises:
        ValueError, TypeError: settings out of range.

    Example:
        >>> features = np.array([[0.0], [1.0], [2.0]])
        >>> model = PlackettLuceRegression(1)
        >>> fit = model.fit([[1, 2, 3], [1, 3, 2], [2, 1, 3]], features)
        >>> model(np.array([[5.0]])).round(3)
        array([5.123])
    """

    def __init__(
        self, n_features: int, *, missing: MissingWord = "raise", prior: float | NormalPrior | None = None
    ) -> None:
        super().__init__()
        check_count(n_features, "n_features", 1)
        check_choice(missing, "missing", MISSING)
        self.n_features = n_features
        self.missing: MissingWord = missing
        self.prior = prior if prior is None or isinstance(prior, NormalPrior) else NormalPrior(0.0, prior)
        self._log_prior(torch.device("cpu"))
        self.coefficients = nn.Parameter(torch.zeros(n_features, dtype=torch.float64))

    def forward(self, features: Values[Array]) -> Array:
        """Logits ``(..., n)`` of items with features ``(..., n, d)``, larger = preferred."""
        table, origin = self._checked(features)
        return origin.wrap(table @ self.coefficients)

    if TYPE_CHECKING:

        @override
        def __call__(self, features: Values[Array]) -> Array: ...

    def distribution(self, features: Values[Array]) -> PlackettLuce:
        """The distribution of rankings of items with features ``(..., n, d)``."""
        return PlackettLuce(self._checked(features)[0] @ self.coefficients, missing=self.missing)

    def log_prob(self, X: Scores[Array], features: Values[Array]) -> Array:
        """Log-probabilities ``(..., m)`` of rankings ``(..., m, n)`` of items with features ``(..., n, d)``."""
        scores, origin = as_scores(X, least_dims=1)
        logits = self._checked(features, origin.items)[0] @ self.coefficients
        return origin.wrap(PlackettLuce(logits[..., None, :], missing=self.missing).log_prob(scores.to(logits.device)))

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self,
        X: Scores[Array],
        features: Values[Array],
        weights: Values | None = None,
        *,
        tol: float = 1e-10,
        max_iter: int = 100,
    ) -> RegressionFit[Array]:
        """Set the coefficients to those of maximum likelihood, or of the maximum with the prior.

        Args:
            X: ``(m, n)`` scores without ties, one ranking a row: larger = preferred, NaN = unranked; or sparse ones.
            features: ``(n, d)`` of the items.
            weights: ``(m,)`` at least 0; None means those of a data set, or 1 each. Weighing a row is the same
                as repeating it.
            tol: stop when no derivative in a coefficient, for features of unit standard deviation, exceeds ``tol``
                times the sum of weights.
            max_iter: steps at most.

        Returns:
            :class:`RegressionFit`; arrays for NumPy, tensors for torch.

        Raises:
            ValueError: ties, unranked items with ``missing="raise"``, shapes that do not fit, features that are not
                finite, and, without a prior, data for which there is no maximum: some combination of features is the
                same for all items of each ranking, or never prefers another item than the one chosen.
            TypeError: scores, features or weights that are not real numbers.

        Warns:
            ConvergenceWarning: the fit stopped before the derivatives were small enough.
        """
        check_finite(tol, "tol", 0)
        check_count(max_iter, "max_iter", least=0)
        rankings = self._rankings(X)
        table, own = self._checked(features, rankings.origin.items, training=True)
        if table.ndim != 2 or len(table) != rankings.shape[1]:
            raise ValueError(f"features has shape {tuple(table.shape)}; X ranks {rankings.shape[1]} items")
        weight = as_weights(weights, rankings).detach()
        total, device = float(weight.sum()), rankings.items.device
        table, prior = table.detach().to(device), self._log_prior(device)
        lists = choice_lists(rankings, weight)
        scale = table.std(0, correction=0)
        scale = torch.where(scale > 0, scale, 1)
        objective = _LinearObjective(PlackettLuceObjective(lists, None), (table - table.mean(0)) / scale, scale, prior)
        end = ascend(objective, table.new_zeros(self.n_features), "newton", tol * total, max_iter)
        information = end.point.information()
        if prior is None and bool((torch.linalg.eigvalsh(information) < _FLAT * max(tol, _EXACT) * total).any()):
            raise ValueError(
                "Plackett-Luce regression has no maximum of the likelihood for these features: some combination of "
                "them does not differ between the items of a ranking, or always prefers the item that was chosen; "
                "leave features out, or pass prior=1.0 (a variance)"
            )
        if not (converged := end.slope <= tol * total):
            warn_not_converged(
                f"Plackett-Luce regression did not converge in {end.n_iter} steps: the largest derivative is "
                f"{end.slope:.3g}, {tol * total:.3g} was asked for; raise max_iter or tol"
            )
        self.remember(own.items)  # names of the features, which are the columns here
        self.coefficients.data = (end.point.parameters / scale).to(self.coefficients.device)
        covariance = inverse(information, None) / torch.outer(scale, scale)
        return RegressionFit(
            objective=tuple(end.trace),
            losses=(-end.trace[-1],),
            n_iter=end.n_iter,
            converged=converged,
            reason="tolerance" if converged else "max_iter",
            log_likelihood=end.point.log_likelihood,
            covariance=rankings.origin.wrap(covariance),
            standard_errors=rankings.origin.wrap(covariance.diagonal().sqrt()),
        )

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return f"n_features={self.n_features}, missing={self.missing!r}, prior={self.prior}"

    def _rankings(self, X: Scores) -> SparseRankings:
        said = None if self.missing == "raise" else self.missing
        found = one_set(X, said)
        rankings = found if isinstance(found, SparseRankings) else from_rankings(found, "X")
        rankings.refuse_ties("X", UNTIED)
        return rankings

    def _checked(self, features: Matrix, items: Any = None, *, training: bool = False) -> tuple[Tensor, Origin]:
        table, origin = as_tensor(features, "features", "real numbers, one row for each item")
        check_same_names(items, origin.rows, "the items of X", "rows of features", _SAME_ITEMS)
        if not training:
            self.check_items(origin.items, "features")
        if table.ndim < 2 or table.shape[-1] != self.n_features:
            raise ValueError(f"features has shape {tuple(table.shape)}; expected (items, {self.n_features})")
        check_finite_features(table, "features")
        return table.to(self.coefficients.device, torch.float64), origin

    def _log_prior(self, device: torch.device) -> LogPrior | None:
        return None if self.prior is None else log_prior(self.prior, self.n_features, device, "features")


class _LinearObjective:
    """The objective of logits as one of coefficients of features, divided by their scale."""

    level: Tensor | None = None

    def __init__(self, inner: PlackettLuceObjective, features: Tensor, scale: Tensor, prior: LogPrior | None) -> None:
        self.inner, self.features, self.scale, self.prior = inner, features, scale, prior

    def at(self, parameters: Tensor) -> _LinearPoint:
        return _LinearPoint(self, parameters)


class _LinearPoint:
    """The objective at some coefficients, of features divided by their scale."""

    def __init__(self, objective: _LinearObjective, parameters: Tensor) -> None:
        self.inner: Point = objective.inner.at(objective.features @ parameters)
        self.features, self.parameters = objective.features, parameters
        self.prior, self.scale = objective.prior, objective.scale
        self.log_likelihood = self.value = self.inner.value
        self.gradient = self.features.mT @ self.inner.gradient
        if self.prior is not None:
            self.value += float(self.prior.value(parameters / self.scale))
            self.gradient = self.gradient + self.prior.gradient(parameters / self.scale) / self.scale

    def product(self, x: Tensor) -> Tensor:
        return self.information() @ x

    def diagonal(self) -> Tensor:
        return self.information().diagonal()

    def information(self) -> Tensor:
        products = torch.stack([self.inner.product(column) for column in self.features.unbind(-1)], -1)
        information = self.features.mT @ products
        if self.prior is not None:
            eye = torch.diag_embed(1 / self.scale)
            information = information + self.prior.product(self.parameters / self.scale, eye) / self.scale[:, None]
        return information
