"""Mixture of isotropic Gaussians in a kernel's feature space, known by the Gram matrix alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.geometries import GramGeometry, means
from torchrank.clustering.points import (
    given_diagonal,
    kernel_diagonal,
    rows_against_training,
    training_gram,
    training_points,
    ungrouped,
    weights_of_new,
)
from torchrank.kernels.modules import KendallKernel
from torchrank.kernels.points import Kernel, as_points, check_kernel, gram, scores_of_points
from torchrank.linalg.symmetric import as_double
from torchrank.mixtures.components import log_shares, warn_of_caps
from torchrank.mixtures.mixture import Mixture, Rows
from torchrank.mixtures.statistics import MixtureStatistics
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.distinct import places_among
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_rows
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.validate import Scores, check_count, check_positive
from torchrank.typing import Init, Values

_SAME = 1e-6  # of the largest entry: rounding between Gram matrices of the same rows
_TIGHTER = 1e-3  # variance of a component, in that of all rankings, that is usual still


class KernelGaussianParameters(NamedTuple):
    """Of c components; leading dimensions are those of the starts."""

    log_shares: Tensor  # (..., c)
    coefficients: Tensor  # (..., c, u) weights of the training rows whose combination is the center
    lam: Tensor  # (..., c)


class _Points(NamedTuple):
    """Rows by their kernel values with training rows and with themselves."""

    cross: Tensor  # (m, u)
    diagonal: Tensor  # (m,)
    rows: Tensor | None  # (m, q) equal where the kernel cannot tell rankings apart; None for a precomputed kernel


@isolated
@shares_arguments(ARGUMENTS)
class KernelGaussianMixture(Mixture):
    r"""Mixture of isotropic Gaussian densities of rankings' feature vectors.

    .. math:: g(x) = \sum_j p_j \Bigl(\frac{\lambda_j}{\pi}\Bigr)^{d/2} e^{-\lambda_j \lVert \Phi(x) - \mu_j \rVert^2}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 23 and Algorithm 2). Distances and centers need kernel values only,

    .. math:: \lVert \Phi(x_i) - \mu_j \rVert^2 = K_{ii} - 2 (K w_j)_i + w_j^\top K w_j, \qquad
              \mu_j = \sum_i w_{ij} \Phi(x_i)

    so any kernel will do, also one of partial or multivariate rankings. But d, the dimension of the feature space, has
    to be known: how sharply rows are told apart grows with it. For the Kendall kernel of complete rankings it is
    n(n-1)/2; for any other say what it shall be.

    This is a density in feature space and not a distribution of rankings: its likelihood, and BIC, cannot be compared
    with those of the other mixtures. It is unbounded where a component sits on equal rankings, so ``lam`` is capped.

    Parameters are ``logits``, of which the shares are the softmax, ``log_lam`` and ``coefficients``.

    Args:
        n_components: c.
        kernel: a kernel module, a function ``kernel(X, Y)``, or "precomputed", for which :meth:`fit` takes the Gram
            matrix ``(m, m)`` and the other methods that of training rows, or a pair ``(K, diagonal)``: new rows against
            training rows ``(m2, m)``, and k(x, x) of the new rows ``(m2,)``. None means
            :class:`torchrank.KendallKernel`.
        dimension: d; None means n(n-1)/2, for the Kendall kernel of complete rankings only.
        max_lam: largest concentration, for kernels whose values are of order 1.
        init: {init}
        n_init: {n_init}
        tol: {tol}
        max_iter: {max_iter}

    Attributes:
        rankings: ``(u, n)`` the different training rankings; no columns for a precomputed kernel.
        coefficients: parameter ``(c, u)``.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    kernel: Kernel
    rankings: Tensor
    training_gram: Tensor
    coefficients: nn.Parameter

    def __init__(
        self,
        n_components: int,
        *,
        kernel: Kernel | None = None,
        dimension: int | None = None,
        max_lam: float = 1e6,
        init: Init | Values = "k-means++",
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(n_components, init=init, n_init=n_init, tol=tol, max_iter=max_iter)
        self.kernel = check_kernel(kernel)
        if dimension is not None:
            check_count(dimension, "dimension", 1)
        elif not (isinstance(self.kernel, KendallKernel) and self.kernel.missing in (None, "raise")):
            raise ValueError(
                "dimension is missing: only for the Kendall kernel of complete rankings is it known; pass that of the "
                "kernel's feature space, which decides how sharply rows are told apart"
            )
        check_positive(max_lam, "max_lam")
        self.dimension, self.max_lam = dimension, max_lam
        self.log_lam = nn.Parameter(torch.zeros(n_components, dtype=torch.float64))
        self.register_growing(
            rankings=torch.empty(0, 0),
            training_gram=torch.empty(0, 0, dtype=torch.float64),
            coefficients=nn.Parameter(torch.empty(n_components, 0, dtype=torch.float64)),
        )

    @property
    def lam(self) -> Tensor:
        """``(c,)`` the concentrations; 1 / (2 lam) is the variance."""
        return self.log_lam.detach().exp()

    @property
    def n_free_parameters(self) -> int:
        """Shares, concentrations and centers of the dimension of the feature space."""
        return 2 * self.n_components - 1 + self.n_components * self._dimension()

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        kernel = "" if isinstance(self.kernel, nn.Module) else f"kernel={self.kernel!r}, "
        return f"{kernel}dimension={self.dimension}, {super().extra_repr()}"

    def _dimension(self) -> int:
        n = self.rankings.shape[1]
        return n * (n - 1) // 2 if self.dimension is None else self.dimension

    def _rows(self, X: Any, weights: Matrix | None, *, training: bool) -> Rows:
        if training:
            return self._training_rows(X, weights)
        u = len(self.training_gram)
        if u == 0:
            raise ValueError("this model has no training rows yet; call fit first")
        if self.kernel == "precomputed":
            return self._precomputed_rows(X, weights)
        new, rows, origin = as_points(self.kernel, X)
        if new.shape[1] != self.rankings.shape[1]:
            raise ValueError(
                f"X has shape {tuple(new.shape)}; expected (rankings, {self.rankings.shape[1]}), the items fitted"
            )
        cross = as_double(gram(self.kernel, new, as_points(self.kernel, self.rankings, "rankings")[0]))
        points = _Points(cross, kernel_diagonal(self.kernel, new), rows)
        return Rows(points, ungrouped(weights_of_new(weights_said(X, weights), cross)), origin)

    def _result(self, values: Tensor, rows: Rows, X: Any) -> Matrix:
        return super()._result(values, rows, None if self.kernel == "precomputed" else X)  # a kernel is followed

    def _precomputed_rows(self, X: Scores, weights: Matrix | None) -> Rows:
        given, diagonal = X if isinstance(X, tuple) else (X, None)
        cross, origin = rows_against_training(given, len(self.training_gram))
        check_same_rows(origin.rows, weights)
        if diagonal is not None:
            own = given_diagonal(diagonal, cross)
        elif self._is_training_gram(cross):
            own = cross.diagonal()
        else:
            raise ValueError(
                "X is not the Gram matrix of the training rows in their order but holds new rows against them; "
                "densities need k(x, x) of the new rows too: pass (K, diagonal)"
            )
        return Rows(_Points(cross, own, None), ungrouped(weights_of_new(weights, cross)), origin)

    def _is_training_gram(self, cross: Tensor) -> bool:
        """Also up to rounding, but not the same rows in another order."""
        known = self.training_gram
        slack = _SAME * float(known.abs().max())
        return cross.shape == known.shape and bool((cross - known).abs().max() <= slack)

    def _training_rows(self, X: Scores, weights: Matrix | None) -> Rows:
        data = training_points(self.kernel, X, weights)
        self.rankings = scores_of_points(data.points)
        if self.kernel == "precomputed":
            self.rankings = self.rankings[:, :0]
        self.training_gram = training_gram(self.kernel, data.points)
        points = _Points(self.training_gram, self.training_gram.diagonal(), None)
        return Rows(points, data.groups, data.origin)

    def _parameters_now(self) -> KernelGaussianParameters:
        return KernelGaussianParameters(self.logits.log_softmax(0), self.coefficients, self.log_lam.exp())

    def _keep(self, parameters: KernelGaussianParameters) -> None:
        self.logits.copy_(parameters.log_shares)
        self.log_lam.copy_(parameters.lam.log())
        # Optimizers look at gradients as vectors, and those have the strides of their parameter.
        self.coefficients = nn.Parameter(parameters.coefficients.clone(memory_format=torch.contiguous_format))

    def _log_densities(self, points: _Points, parameters: KernelGaussianParameters) -> Tensor:
        centers, lam = parameters.coefficients, parameters.lam[..., None]
        norms = ((centers @ self.training_gram) * centers).sum(-1, keepdim=True)
        distances = points.diagonal - 2 * centers @ points.cross.mT + norms
        return self._dimension() / 2 * (lam / math.pi).log() - lam * distances.clamp(min=0)

    def _moments(self, points: _Points, shares: Tensor, parameters: KernelGaussianParameters | None) -> Tensor:
        """The memberships of the training rows: a center is a combination of them."""
        if points.cross is self.training_gram:
            return shares
        counted = (shares > 0).flatten(0, -2).any(0)
        place = self._training_rows_of(points, counted)
        moments = shares.new_zeros((*shares.shape[:-1], len(self.training_gram)))
        return moments.index_add_(-1, place[counted], shares[..., counted])

    def _training_rows_of(self, points: _Points, counted: Tensor) -> Tensor:
        """Which training row each new row equals, ``(m,)``: they may come in any order, repeated, or in parts."""
        if points.rows is not None:
            known, new = as_points(self.kernel, self.rankings, "rankings")[1], points.rows
        else:  # equal kernel values with all training rows and with itself are an equal place in feature space
            known = torch.cat([self.training_gram, self.training_gram.diagonal()[:, None]], dim=1)
            new = torch.cat([points.cross, points.diagonal[:, None]], dim=1)
        place = places_among(known, new)
        strange = (counted & (place < 0)).nonzero()
        if len(strange):
            raise ValueError(
                f"row {int(strange[0])} of X is none of the {len(known)} training rows; centers are combinations of "
                "those, so summarize takes training rows only, and weights of 0 leave rows out"
            )
        return place

    def _maximize(
        self, statistics: MixtureStatistics, previous: KernelGaussianParameters | None
    ) -> KernelGaussianParameters:
        counts, shares = statistics.counts, statistics.moments
        centers = means(shares)
        norms = ((centers @ self.training_gram) * centers).sum(-1)
        scatter = (shares @ self.training_gram.diagonal() - counts * norms).clamp(min=0)
        lam = self._dimension() * counts / (2 * scatter)
        lam = torch.where(scatter > 0, lam, self.max_lam).clamp(max=self.max_lam)
        if previous is not None:
            filled = counts > 0
            centers = torch.where(filled[..., None], centers, previous.coefficients)
            lam = torch.where(filled, lam, previous.lam)
        return KernelGaussianParameters(log_shares(counts), centers, lam)

    def _geometry(self, points: _Points, weights: Tensor) -> GramGeometry:
        return GramGeometry(points.cross, weights)

    def _warn_of_limits(self, points: _Points, parameters: KernelGaussianParameters) -> None:
        variance = float(self.training_gram.diagonal().mean() - self.training_gram.mean())
        if 0 < _TIGHTER * variance * self.max_lam < self._dimension() / 2:
            warn_of_caps(
                parameters.lam,
                self.max_lam,
                "hold rankings that are equal or too close together for max_lam (the mean squared distance from the "
                f"mean of all is {variance:.3g})",
                "; raise it, or multiply the kernel by a constant",
            )
        else:
            warn_of_caps(parameters.lam, self.max_lam)
