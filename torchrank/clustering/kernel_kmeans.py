"""Kernel k-means: clusters of rankings whose centers are means in the kernel's feature space."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.geometries import FeatureGeometry, GramGeometry, means, rounding_of
from torchrank.clustering.lloyd import KMeansFit, check_clustering, labels_of_all, lloyd, nearest_centers, start_labels
from torchrank.clustering.points import (
    explicit_features,
    given_diagonal,
    kernel_diagonal,
    rows_against_training,
    training_gram,
    training_points,
)
from torchrank.kernels.points import Kernel, as_points, check_kernel, gram, scores_of_points
from torchrank.linalg.state import GrowingBuffers
from torchrank.linalg.symmetric import as_double
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import Scores, check_positive


@isolated
@shares_arguments(ARGUMENTS)
class KernelKMeans(GrowingBuffers, nn.Module):
    r"""Kernel k-means on rankings, or on any Gram matrix.

    Minimizes the weighted sum of squared distances to the means of the clusters in the kernel's feature space,

    .. math:: \sum_j \sum_{i \in S_j} w_i \lVert \Phi(x_i) - \mu_j \rVert^2

    by Algorithm 1 of Jiao and Vert (IEEE TPAMI 40(7), 2018), from many starts at once. What the algorithm leaves open:
    a cluster that becomes empty gets the point that is farthest from its center. The objective never rises.

    Equal rankings are found and counted once, so that 5,738 votes of which 120 differ cost as much as 120. Where the
    feature vectors of the Kendall or the smoothed kernel have fewer entries than the Gram matrix has columns, they take
    its place; objective and labels are the same. Arithmetic and distances are in float64.

    The clusters can train the kernel: :meth:`loss` is the share of the scatter of all points that soft clusters leave,
    differentiable in whatever the kernel is differentiable in. Fitting and descending take turns::

        kernel = MultivariateKernel([KendallKernel(), KendallKernel()], sizes=[5, 5])
        model = KernelKMeans(2, kernel=kernel)
        optimizer = torch.optim.Adam(kernel.parameters(), lr=0.1)
        for _ in range(50):
            model.fit(X)
            optimizer.zero_grad()
            model.loss(temperature=0.1).backward()
            optimizer.step()

    Args:
        n_clusters: c.
        kernel: a kernel module such as :class:`torchrank.MallowsKernel`, a function ``kernel(X, Y)``, or "precomputed",
            for which methods take Gram matrices in place of rankings. None means :class:`torchrank.KendallKernel`.
        init: {init}
        n_init: {n_init}
        max_iter: {max_iter}

    Attributes:
        rankings: ``(u, n)`` the different training rankings; no columns for a precomputed kernel.
        weights: ``(u,)`` their weights.
        coefficients: ``(c, u)`` the weights by which centers are means of them.
        center_norms: ``(c,)`` squared norms of the centers; infinite for clusters without members.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    rankings: Tensor
    weights: Tensor
    coefficients: Tensor
    center_norms: Tensor
    tolerance: Tensor

    def __init__(
        self,
        n_clusters: int,
        *,
        kernel: Kernel | None = None,
        init: str | Matrix = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
    ) -> None:
        super().__init__()
        check_clustering(n_clusters, init, n_init, max_iter)
        self.kernel = check_kernel(kernel)
        self.n_clusters, self.init, self.n_init, self.max_iter = n_clusters, init, n_init, max_iter
        self.register_growing(
            rankings=torch.empty(0, 0),
            weights=torch.empty(0, dtype=torch.float64),
            coefficients=torch.empty(n_clusters, 0, dtype=torch.float64),
            center_norms=torch.full((n_clusters,), math.inf, dtype=torch.float64),
            tolerance=torch.zeros((), dtype=torch.float64),
        )

    @torch.no_grad()
    def fit(
        self,
        X: Scores,
        weights: Matrix | None = None,
        *,
        generator: torch.Generator | None = None,
        progress: bool = False,
    ) -> KMeansFit:
        """Find clusters.

        Args:
            X: ``(m, n)`` rankings or, for a precomputed kernel, their Gram matrix ``(m, m)``.
            weights: {weights}
            generator: {generator}
            progress: {progress}

        Returns:
            The labels of all rows, and how they were reached.

        Raises:
            ValueError: weights that are negative or all 0; a Gram matrix that is not square, symmetric, finite and
                positive semi-definite; no rows; and what the kernel raises.
            TypeError: scores that are not real numbers.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: fewer different rows than clusters, so that some stay empty.
        """
        data = training_points(self.kernel, X, weights)
        features = explicit_features(self.kernel, data.points)
        if features is not None:
            geometry = FeatureGeometry(features, data.groups.weights)
        else:
            geometry = GramGeometry(training_gram(self.kernel, data.points), data.groups.weights)
        labels = start_labels(geometry, data.groups, self.n_clusters, self.init, self.n_init, generator)
        best = lloyd(geometry, labels, self.n_clusters, self.max_iter, progress)
        fit = best.fit.times(data.groups.unit)
        fit.warn_unless_sound(self.n_clusters, int(best.filled.sum()))
        self.rankings = scores_of_points(data.points)
        if self.kernel == "precomputed":
            self.rankings = self.rankings[:, :0]
        self.weights = data.groups.unit * data.groups.weights
        self._keep_centers(geometry, best.members, best.filled)
        self.remember(data.origin.items)
        labels = labels_of_all(fit.labels, data.groups, data.given, self.predict)
        return replace(fit, labels=data.origin.wrap(labels))

    def forward(self, X: Scores, diagonal: Matrix | None = None) -> Matrix:
        """Squared distances ``(m2, c)`` to the centers, infinite for clusters without members.

        Args:
            X: ``(m2, n)`` rankings or, for a precomputed kernel, the matrix ``(m2, m)`` of new against training rows.
            diagonal: ``(m2,)`` k(x, x) of the new rows, for a precomputed kernel only.

        Raises:
            ValueError: shapes that do not fit, a model that was not fitted, or no ``diagonal`` where it is needed.
        """
        if self.kernel == "precomputed" and diagonal is None:
            raise ValueError("diagonal is missing: distances need k(x, x) of the new rows; predict does without")
        relative, origin = self._relative_distances(X)
        if self.kernel == "precomputed":
            own = given_diagonal(diagonal, relative)
        else:
            own = kernel_diagonal(self.kernel, as_points(self.kernel, X)[0])
        distances = (own[:, None] + relative).clamp(min=0)
        return origin.wrap(distances)

    @torch.no_grad()
    def predict(self, X: Scores) -> Matrix:
        """Labels ``(m2,)`` int64 of the nearest centers; see :meth:`forward` for ``X``."""
        relative, origin = self._relative_distances(X)
        labels = nearest_centers(relative.mT, float(self.tolerance))[0]
        return origin.wrap(labels)

    def soft_assign(self, K: Matrix, temperature: float | Tensor) -> Tensor:
        r"""Memberships ``(u, c)`` of the training rows, differentiable in their Gram matrix.

        .. math:: z_{ij} = \frac{\exp(-D_{ij}(K) / T)}{\sum_l \exp(-D_{il}(K) / T)}

        with squared distances D to the fitted centers, whose weights on the training rows are held fixed. As T goes to
        0 these become the labels.

        Args:
            K: ``(u, u)`` Gram matrix of the training rows, ``kernel(model.rankings)``.
            temperature: T, above 0; a tensor of one number may require a gradient.

        Raises:
            ValueError: another shape, or a temperature that is not positive and finite.
        """
        check_positive(temperature.item() if isinstance(temperature, Tensor) else temperature, "temperature")
        square, _ = rows_against_training(K, self._trained())
        if square.shape[0] != square.shape[1]:
            raise ValueError(f"K has shape {tuple(square.shape)}; expected the training rows against themselves")
        products = square @ self.coefficients.mT
        norms = (products * self.coefficients.mT).sum(0)
        logits = (2 * products - norms) / temperature
        return logits.masked_fill(self.center_norms.isinf(), -math.inf).softmax(-1)

    def loss(self, temperature: float | Tensor, K: Matrix | None = None) -> Tensor:
        r"""Scatter within soft clusters as a share of the scatter of all training rows, in [0, 1].

        .. math:: \frac{\sum_j \sum_i w_i z_{ij} \lVert \Phi(x_i) - \mu_j(z) \rVert^2}
                       {\sum_i w_i \lVert \Phi(x_i) - \bar\Phi \rVert^2}

        with the memberships of :meth:`soft_assign` and their own means. As a share it does not fall by shrinking the
        kernel, so minimizing it makes the clusters clearer.

        Args:
            temperature: T, above 0.
            K: ``(u, u)`` Gram matrix of the training rows; None computes ``kernel(model.rankings)``.
        """
        self._trained()
        if K is None and self.kernel == "precomputed":
            raise ValueError("K is missing: with a precomputed kernel pass the Gram matrix that gradients shall reach")
        square = as_double(gram(self.kernel, self.rankings) if K is None else torch.as_tensor(K))
        shares = (self.soft_assign(square, temperature) * self.weights[:, None]).mT
        total = _scatter(square, self.weights[None])
        return _scatter(square, shares) / torch.where(total > 0, total, 1)

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        kernel = "" if isinstance(self.kernel, nn.Module) else f", kernel={self.kernel!r}"
        return f"n_clusters={self.n_clusters}{kernel}, n_init={self.n_init}, max_iter={self.max_iter}"

    def _keep_centers(self, geometry: GramGeometry | FeatureGeometry, members: Tensor, filled: Tensor) -> None:
        clusters = torch.arange(self.n_clusters, device=members.device)
        self.coefficients = means((members == clusters[:, None]) * geometry.weights)
        if isinstance(geometry, FeatureGeometry):
            norms = (self.coefficients @ geometry.features).square().sum(-1)
        else:
            norms = ((self.coefficients @ geometry.gram) * self.coefficients).sum(-1)
        self.center_norms = torch.where(filled, norms, math.inf)
        self.tolerance = norms.new_tensor(rounding_of(geometry.diagonal))

    def _relative_distances(self, X: Any) -> tuple[Tensor, Origin]:
        """Squared distances ``(m2, c)`` less k(x, x), and where ``X`` came from."""
        u = self._trained()
        if self.kernel == "precomputed":
            block, origin = rows_against_training(X, u)
            self.check_items(origin.items)
            return self.center_norms - 2 * block @ self.coefficients.mT, origin
        points, _, origin = as_points(self.kernel, X)
        self.check_items(origin.items)
        known = as_points(self.kernel, self.rankings, "rankings")[0]
        if points.shape[1] != known.shape[1]:
            raise ValueError(
                f"X has shape {tuple(points.shape)}; expected (rankings, {known.shape[1]}), the items fitted"
            )
        trained = explicit_features(self.kernel, known)
        new = None if trained is None else explicit_features(self.kernel, points)
        if trained is None or new is None:
            products = as_double(gram(self.kernel, points, known)) @ self.coefficients.mT
        else:
            products = new @ (self.coefficients @ trained).mT
        return self.center_norms - 2 * products, origin

    def _trained(self) -> int:
        """How many training rows there are."""
        if self.coefficients.shape[1] == 0:
            raise ValueError("this model has no clusters yet; call fit first")
        return self.coefficients.shape[1]


def _scatter(K: Tensor, shares: Tensor) -> Tensor:
    """Sum over clusters of the squared distances to their means, by weights ``(c, u)``."""
    total = shares.sum(-1)
    quadratic = ((shares @ K) * shares).sum(-1)
    return (shares @ K.diagonal()).sum() - (quadratic / torch.where(total > 0, total, 1)).sum()
