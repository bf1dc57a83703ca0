"""Points in a kernel's feature space as Lloyd's algorithm asks for them: by a Gram matrix or by explicit features."""

import torch
from torch import Tensor

from torchrank.clustering.lloyd import Clusters

_ROUNDING = 1e-12  # relative error that squared distances can have
_MANY_NUMBERS = 2**20  # of features: below, one product is faster than finding out which points have moved


class GramGeometry:
    """Points known by their Gram matrix; a centre is the weights ``(m,)`` of the points whose mean it is."""

    def __init__(self, gram: Tensor, weights: Tensor) -> None:
        self.gram, self.weights = gram, weights
        self.diagonal = gram.diagonal()
        self.tolerance = rounding_of(self.diagonal)

    def points(self, rows: Tensor) -> Tensor:
        """Points by number as centres."""
        centers = self.gram.new_zeros((len(rows), 1, len(self.gram)))
        return centers.scatter_(2, rows[:, None, None], 1.0)

    def centers(self, shares: Tensor, previous: Clusters | None) -> Tensor:
        """Means of the clusters."""
        return means(shares)

    def distances(self, centers: Tensor) -> Tensor:
        """Squared distances in feature space, the second form of Algorithm 1."""
        products = centers @ self.gram
        norms = (products * centers).sum(-1, keepdim=True)
        return (self.diagonal - 2 * products + norms).clamp_(min=0)


class FeatureGeometry:
    """Points by their feature vectors ``(m, d)``; a centre is a vector ``(d,)``."""

    def __init__(self, features: Tensor, weights: Tensor) -> None:
        self.features, self.weights = features, weights
        self.diagonal = features.square().sum(-1)
        self.tolerance = rounding_of(self.diagonal)

    def points(self, rows: Tensor) -> Tensor:
        """Points by number as centres."""
        return self.features[rows][:, None]

    def centers(self, shares: Tensor, previous: Clusters | None) -> Tensor:
        """Means of the clusters; of many points on the CPU from the previous means and the points that moved."""
        if previous is None or self.features.device.type != "cpu" or self.features.numel() < _MANY_NUMBERS:
            return means(shares) @ self.features
        sums = previous.centers * previous.shares.sum(-1, keepdim=True)
        change = shares - previous.shares
        for start, moved in enumerate((change != 0).any(dim=1)):
            rows = moved.nonzero()[:, 0]
            sums[start] += change[start][:, rows] @ self.features[rows]
        total = shares.sum(-1, keepdim=True)
        return sums / torch.where(total > 0, total, 1)

    def distances(self, centers: Tensor) -> Tensor:
        """Squared Euclidean distances."""
        products = centers @ self.features.mT
        return (self.diagonal - 2 * products + centers.square().sum(-1, keepdim=True)).clamp_(min=0)


def means(shares: Tensor) -> Tensor:
    """Shares ``(..., m)`` scaled to add up to 1; zeros where they are all 0."""
    total = shares.sum(-1, keepdim=True)
    return shares / torch.where(total > 0, total, 1)


def rounding_of(diagonal: Tensor) -> float:
    """Below which two squared distances between points of these squared norms cannot be told apart."""
    return _ROUNDING * float(diagonal.abs().max()) if len(diagonal) else 0.0
