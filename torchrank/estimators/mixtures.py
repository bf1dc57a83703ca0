"""Mixtures of distributions of rankings as scikit-learn estimators."""

from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

import torchrank.mixtures as mixtures
from torchrank._docs import shares_arguments
from torchrank.distributions.agreeing import N_SAMPLES
from torchrank.distributions.mallows_law import MOST_LAM
from torchrank.estimators.clustering import RankingClusterer
from torchrank.estimators.fitting import ATTRIBUTES, SETTINGS
from torchrank.mixtures.em import MixtureFit
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.typing import Center, Criterion, MallowsTies, MissingWord

COMPLETE = (
    "this is a distribution of total rankings: complete the row, or use KernelGaussianMixture and a kernel that takes "
    "unranked items"
)


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class RankingMixture(DensityMixin, RankingClusterer):
    """Methods that all mixtures have, named as those of ``sklearn.mixture.GaussianMixture``."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities ``(m, n_components)`` of the components given rankings ``(m, n)``."""
        check_is_fitted(self)
        return to_numpy(self.model_.predict_proba(self._validated(X, reset=False)))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-probabilities ``(m,)`` of rankings; log-densities for :class:`KernelGaussianMixture`."""
        check_is_fitted(self)
        return to_numpy(self.model_.log_prob(self._validated(X, reset=False)))

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - a stub there
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean of :meth:`score_samples`, in which rows count by ``sample_weight`` ``(m,)``, as in :meth:`fit`."""
        check_is_fitted(self)
        return self.model_.mean_log_prob(*self._weighted_rows(X, sample_weight))

    def criterion(self, X: Any, sample_weight: Any = None, name: Criterion = "bic") -> float:
        """Information criterion of the model on rankings, lower = better: "bic" or "aic"; weights as in :meth:`fit`."""
        check_is_fitted(self)
        return self.model_.criterion(*self._weighted_rows(X, sample_weight), name)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """:meth:`criterion` "aic"."""
        return self.criterion(X, sample_weight, "aic")

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """:meth:`criterion` "bic"."""
        return self.criterion(X, sample_weight, "bic")

    def _keep(self, fit: MixtureFit, X: Tensor) -> None:
        self.labels_, self.log_likelihood_ = to_numpy(self.model_.predict(X)), fit.log_likelihood
        self.weights_ = to_numpy(self.model_.weights)


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class MallowsMixture(RankingMixture):
    """Mixture of Mallows distributions, for complete and partial rankings; see :class:`torchrank.MallowsMixture`.

    Args:
        n_components: number of components.
        missing: what unranked items, NaN, mean: "raise" refuses them, "topk" puts them below all ranked ones,
            "interleaving" anywhere.
        ties: "raise" refuses ties; with "unknown" any order of tied items agrees.
        center: "kemeny", "borda" or "copeland": how central rankings are found.
        max_lam: largest concentration.
        n_samples: sampled rankings for each row and component, where probabilities are not exact.
        init: "k-means++" or "random", or labels ``(m,)`` or ``(starts, m)`` of all training rows: integers from 0
            on, or names, which are numbered in their order.
        n_init: starts, of which the best is kept.
        tol: most that may be left to gain in log-likelihood, per unit of weight.
        max_iter: most iterations.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.
        device: {device}

    Attributes:
        weights_: ``(n_components,)`` shares of the components.
        centers_: ``(n_components, n)`` central rankings, scores from 0 to n - 1.
        lam_: ``(n_components,)`` concentrations.
        labels_: ``(m,)`` most probable component of each training row.
        log_likelihood_: weighted log-likelihood of the training rows.
        objective_: {objective} the log-likelihood.
        losses_: {losses}
        n_iter_: {n_iter}
        converged_: {converged}
        reason_: {reason}
        model_: the module.
        n_features_in_: number of items.
    """

    _learner, _learner_counts_items = mixtures.MallowsMixture, True
    _remedy = f"pass missing='topk' or 'interleaving' to say what unranked items mean; or {COMPLETE}"

    def __init__(
        self,
        n_components: int = 1,
        *,
        missing: MissingWord = "raise",
        ties: MallowsTies = "raise",
        center: Center = "kemeny",
        max_lam: float = MOST_LAM,
        n_samples: int = N_SAMPLES,
        init: Any = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.missing = missing
        self.ties = ties
        self.center = center
        self.max_lam = max_lam
        self.n_samples = n_samples
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    @property
    def _takes_unranked(self) -> bool:
        return self.missing != "raise"

    def _keep(self, fit: MixtureFit, X: Tensor) -> None:
        super()._keep(fit, X)
        self.centers_, self.lam_ = to_numpy(self.model_.centers), to_numpy(self.model_.lam)


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class KernelMallowsMixture(RankingMixture):
    """Mixture of kernel Mallows distributions of up to 7 items; see :class:`torchrank.KernelMallowsMixture`.

    Args:
        n_components: number of components.
        ridge: strength of the penalty on theta, above 0.
        init: "k-means++" or "random", or labels ``(m,)`` or ``(starts, m)`` of all training rows: integers from 0
            on, or names, which are numbered in their order.
        n_init: starts, of which the best is kept.
        tol: most that may be left to gain in log-likelihood, per unit of weight.
        max_iter: most iterations.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.
        device: {device}

    Attributes:
        weights_: ``(n_components,)`` shares of the components.
        theta_: ``(n_components, n(n-1)/2)`` natural parameters.
        labels_: ``(m,)`` most probable component of each training row.
        log_likelihood_: weighted log-likelihood of the training rows.
        objective_: {objective} the log-likelihood less the penalty.
        losses_: {losses}
        n_iter_: {n_iter}
        converged_: {converged}
        reason_: {reason}
        model_: the module.
        n_features_in_: number of items.
    """

    _learner, _learner_counts_items = mixtures.KernelMallowsMixture, True
    _remedy = COMPLETE

    def __init__(
        self,
        n_components: int = 1,
        *,
        ridge: float = 1e-5,
        init: Any = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def _keep(self, fit: MixtureFit, X: Tensor) -> None:
        super()._keep(fit, X)
        self.theta_ = to_numpy(self.model_.theta)


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class KernelGaussianMixture(RankingMixture):
    """Mixture of Gaussians in a kernel's feature space; see :class:`torchrank.KernelGaussianMixture`.

    Args:
        n_components: number of components.
        kernel: a kernel module, a function of two score matrices, or "precomputed"; None means the Kendall kernel.
            Densities need k(x, x) of every row, so with "precomputed" only training rows can be predicted.
        dimension: dimension of the feature space; None means n(n-1)/2, for the Kendall kernel only.
        max_lam: largest concentration.
        init: "k-means++" or "random", or labels ``(m,)`` or ``(starts, m)`` of all training rows: integers from 0
            on, or names, which are numbered in their order.
        n_init: starts, of which the best is kept.
        tol: most that may be left to gain in log-likelihood, per unit of weight.
        max_iter: most iterations.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.
        device: {device}

    Attributes:
        weights_: ``(n_components,)`` shares of the components.
        lam_: ``(n_components,)`` concentrations, 1 / (2 lam) being the variance.
        labels_: ``(m,)`` most probable component of each training row.
        log_likelihood_: weighted log-likelihood of the training rows.
        objective_: {objective} the log-likelihood.
        losses_: {losses}
        n_iter_: {n_iter}
        converged_: {converged}
        reason_: {reason}
        model_: the module.
        n_features_in_: columns of ``X``.
    """

    _learner = mixtures.KernelGaussianMixture

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: Any = None,
        dimension: int | None = None,
        max_lam: float = 1e6,
        init: Any = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.dimension = dimension
        self.max_lam = max_lam
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def _keep(self, fit: MixtureFit, X: Tensor) -> None:
        super()._keep(fit, X)
        self.lam_ = to_numpy(self.model_.lam)
