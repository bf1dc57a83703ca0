"""k-means of vectors: Lloyd's algorithm by features, with the means themselves as the result."""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.clustering.geometries import FeatureGeometry
from torchrank.clustering.lloyd import lloyd
from torchrank.clustering.points import ungrouped
from torchrank.clustering.seeds import start_labels
from torchrank.evidence import Evidence


class Cells(NamedTuple):
    """A division of vectors, each to its nearest center."""

    centers: Tensor  # (c, d) of the vectors' dtype
    labels: Tensor  # (m,) int64
    evidence: Evidence  # the objective is the weighted sum of squared distances


def kmeans(
    X: Tensor,
    n_clusters: int,
    *,
    weights: Tensor | None = None,
    n_init: int = 1,
    max_iter: int = 300,
    moving: float = 0.0,
    generator: torch.Generator | None = None,
) -> Cells:
    """Divide vectors by k-means, from k-means++ starts of which the best is kept.

    Arithmetic is in float64, with the origin moved to the mean of the vectors: far from it squares lose digits. Where
    there are fewer different vectors than clusters, the centers that are left over coincide with others.

    Args:
        X: ``(m, d)`` finite vectors.
        n_clusters: c.
        weights: ``(m,)`` how much each vector counts, above 0; None means 1 each.
        n_init: starts.
        max_iter: most iterations of a start.
        moving: share of the vectors that may still move when a start has converged.
        generator: source of the random starts.

    Returns:
        The cells. Nothing warns of iterations that were cut short: the evidence tells.
    """
    X = X.detach()  # as of all fits that search
    mass = torch.ones(len(X), dtype=torch.float64, device=X.device) if weights is None else weights.double()
    origin = X.double().mean(0)
    geometry = FeatureGeometry(X.double() - origin, mass)
    labels = start_labels(geometry, ungrouped(mass), n_clusters, "k-means++", n_init, generator)
    best = lloyd(geometry, labels, n_clusters, max_iter, moving=moving)
    full = best.filled.nonzero()[:, 0]
    spare = (~best.filled).nonzero()[:, 0]
    centers = best.centers.clone()
    centers[spare] = centers[full[torch.arange(len(spare), device=full.device) % len(full)]]
    fit = best.fit
    evidence = Evidence(
        objective=fit.objective,
        losses=fit.losses,
        n_iter=fit.n_iter,
        converged=fit.converged,
        reason="tolerance" if fit.converged else "max_iter",
    )
    return Cells((centers + origin).to(X.dtype), fit.labels, evidence)
