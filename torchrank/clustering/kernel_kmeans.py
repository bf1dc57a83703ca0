"""Kernel k-means: clusters of rankings whose centers are means in the kernel's feature space."""

from __future__ import annotations

import copy
import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.batched_fit import KendallCenters, fit_in_batches
from torchrank.clustering.geometries import FeatureGeometry, GramGeometry, means, rounding_of
from torchrank.clustering.lloyd import KMeansFit, labels_of_all, lloyd, nearest_centers
from torchrank.clustering.points import (
    explicit_features,
    given_diagonal,
    kernel_diagonal,
    rows_against_training,
    training_gram,
    training_points,
)
from torchrank.clustering.seeds import check_clustering, start_labels
from torchrank.clustering.soft_clusters import SoftClusters
from torchrank.kernels.modules import KendallKernel
from torchrank.kernels.points import CHOOSE_KERNEL, Kernel, as_points, check_kernel, gram, scores_of_points
from torchrank.linalg.state import GrowingBuffers
from torchrank.linalg.symmetric import as_double
from torchrank.ops.rank import as_rankings
from torchrank.processes import Group
from torchrank.rankings.arrays import Origin
from torchrank.rankings.batches import Batched, as_batches, refuse_weights, refuse_without_batches
from torchrank.rankings.derivatives import of_rows
from torchrank.rankings.isolation import isolated
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.stream.passes import Chunk, Passes, read_rankings
from torchrank.typing import Array, Init, Values


@isolated
@shares_arguments(ARGUMENTS, OF_BATCHES)
class KernelKMeans(SoftClusters, GrowingBuffers, nn.Module):
    r"""Kernel k-means on rankings, or on any Gram matrix.

    Minimizes the weighted sum of squared distances to the means of the clusters in the kernel's feature space,

    .. math:: \sum_j \sum_{i \in S_j} w_i \lVert \Phi(x_i) - \mu_j \rVert^2

    by Algorithm 1 of Jiao and Vert (IEEE TPAMI 40(7), 2018), from many starts at once. What the algorithm leaves open:
    a cluster that becomes empty gets the point that is farthest from its center. The objective never rises but for
    rounding, which is 1e-15 of the weighted sum of all squared norms or so, and 1e-12 of that ends the iteration.

    Equal rankings are found and counted once, so that 5,738 votes of which 120 differ cost as much as 120; rows of a
    Gram matrix that is given are all counted by themselves. Where the feature vectors of the Kendall or the smoothed
    kernel have fewer entries than the Gram matrix has columns, they take its place; objective and labels are the same.
    Arithmetic and distances are in float64.

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
        means: ``(c, n(n-1)/2)`` the centers of a fit to batches, means of :func:`torchrank.kendall_features`; then
            there are no training rankings. Without columns after other fits.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    rankings: Tensor
    weights: Tensor
    coefficients: Tensor
    center_norms: Tensor
    tolerance: Tensor
    means: Tensor

    def __init__(
        self,
        n_clusters: int,
        *,
        kernel: Kernel | None = None,
        init: Init | Values = "k-means++",
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
            means=torch.empty(n_clusters, 0, dtype=torch.float64),
        )

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self,
        X: Scores[Array] | Batched,
        weights: Values | None = None,
        *,
        generator: torch.Generator | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        group: Group = None,
    ) -> KMeansFit[Array]:
        """Find clusters.

        Rows in batches are fitted to exactly too, without a Gram matrix or the features of all rows: the Kendall kernel
        of complete rankings needs the sums of pair signs of each cluster only, n(n-1)/2 numbers. Then the ``n_init``
        starts are those of a sample of 16,384 rows, of which the best goes on over all of them, and the model knows
        ``means`` in place of training rankings.

        Args:
            X: ``(m, n)`` rankings or, for a precomputed kernel, their Gram matrix ``(m, m)``. {batches}
            weights: {weights} Those of batches come with them.
            generator: {generator}
            progress: {progress}
            checkpoint: {checkpoint}
            group: {group}

        Returns:
            The labels of all rows, and how they were reached. Rows in batches get no labels.

        Raises:
            ValueError: weights that are negative or all 0; a Gram matrix that is not square, symmetric, finite and
                positive semi-definite; no rows; batches with another kernel than the Kendall kernel of complete
                rankings; a checkpoint of another fit; and what the kernel raises.
            OSError: the disk has no room for the checkpoint, of which the last one stays.
            TypeError: scores that are not real numbers.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: fewer different rows than clusters, so that some stay empty.
        """
        batches = as_batches(X)
        if batches is not None:
            refuse_weights(weights)
            passes = Passes(batches, self._chunk, group=group, title="k-means", progress=progress)
            return self._fit_in_batches(passes, generator, checkpoint)
        refuse_without_batches(checkpoint=checkpoint, group=group)
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
        self.means = self.means.new_empty(self.n_clusters, 0)
        self._keep_centers(geometry, best.members, best.filled)
        self.remember(data.origin.items)
        labels = labels_of_all(fit.labels, data.groups, data.given, self.predict)
        return replace(fit, labels=data.origin.wrap(labels))

    def forward(self, X: Scores[Array], diagonal: Values[Array] | None = None) -> Array:
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
            own = of_rows(own, X, by="KernelKMeans")
        distances = (own[:, None] + relative).clamp(min=0)
        return origin.wrap(distances)

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Scores[Array], diagonal: Values[Array] | None = None) -> Array: ...

    @torch.no_grad()
    def predict(self, X: Scores[Array]) -> Array:
        """Labels ``(m2,)`` int64 of the nearest centers; see :meth:`forward` for ``X``."""
        if self.means.shape[1]:
            rankings = self._read_again(X)
            return rankings.origin.wrap(self._kind().nearest(rankings, self.means, self.center_norms))
        relative, origin = self._relative_distances(X)
        labels = nearest_centers(relative.mT, float(self.tolerance))[0]
        return origin.wrap(labels)

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        kernel = "" if isinstance(self.kernel, nn.Module) else f", kernel={self.kernel!r}"
        return f"n_clusters={self.n_clusters}{kernel}, n_init={self.n_init}, max_iter={self.max_iter}"

    def _fit_in_batches(self, passes: Passes, generator: torch.Generator | None, checkpoint: Any) -> KMeansFit:
        def start(sample: Chunk) -> tuple[Tensor, Tensor]:
            other = copy.deepcopy(self)  # a fit that is broken off leaves this one as it was
            other.fit(sample.rankings, sample.weights, generator=generator)
            points = as_rankings(other.rankings, missing="raise").known()
            return kind.mean_of(points, other.coefficients), other.center_norms.isfinite()

        kind = self._kind()
        state, fit = fit_in_batches(
            passes,
            kind,
            start,
            init=self.init,
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            generator=generator,
            checkpoint=checkpoint,
            plan={"model": "KernelKMeans", "variant": kind.variant, "n_init": self.n_init},
        )
        self.means, ranks = state.centers, passes.first.ranks
        self.rankings = torch.empty(0, ranks.shape[1], dtype=torch.float64, device=ranks.device)
        self.weights, self.coefficients = self.means.new_empty(0), self.means.new_empty(self.n_clusters, 0)
        self.center_norms = torch.where(state.filled, self.means.square().sum(-1), math.inf)
        self.tolerance = self.means.new_tensor(kind.tolerance)
        self.remember(passes.first.origin.items)
        return fit

    def _chunk(self, X: Any, weights: Any) -> Chunk:
        return read_rankings(X, weights, missing="raise", remedy=CHOOSE_KERNEL, legal=("raise",))

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
        if self.means.shape[1]:
            rankings = self._read_again(X)
            return self._kind().relative(rankings, self.means, self.center_norms), rankings.origin
        u = self._trained()
        if self.kernel == "precomputed":
            block, origin = rows_against_training(X, u)
            self.check_items(origin.items)
            return self.center_norms - 2 * block @ self.coefficients.mT, origin
        points, _, origin = as_points(self.kernel, X)
        self.check_items(origin.items)
        known = as_points(self.kernel, self.rankings, "rankings")[0]
        _check_items(points.shape, known.shape[1])
        trained = explicit_features(self.kernel, known)
        new = None if trained is None else explicit_features(self.kernel, points)
        if trained is None or new is None:
            products = as_double(gram(self.kernel, points, known)) @ self.coefficients.mT
        else:
            products = new @ (self.coefficients @ trained).mT
        return self.center_norms - 2 * products, origin

    def _read_again(self, X: Any) -> Rankings:
        """New rows for the centers of a fit to batches."""
        rankings = as_rankings(X, missing="raise", remedy=CHOOSE_KERNEL)
        self.check_items(rankings.origin.items)
        _check_items(rankings.shape, self.rankings.shape[1])
        return rankings.known()

    def _kind(self) -> KendallCenters:
        """What the centers of a fit to batches are."""
        kernel = self.kernel
        if not isinstance(kernel, KendallKernel) or kernel.missing not in (None, "raise"):
            raise ValueError(
                f"rows in batches are for kernel=KendallKernel() of complete rankings, and not for {kernel!r}; "
                "pass all rows at once, or train on LandmarkFeatures of the kernel"
            )
        return KendallCenters(kernel.variant or "b")


def _check_items(shape: torch.Size, n: int) -> None:
    if len(shape) != 2 or shape[1] != n:
        raise ValueError(f"X has shape {tuple(shape)}; expected (rankings, {n}), the items fitted")
