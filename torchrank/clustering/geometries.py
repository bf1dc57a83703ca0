"""Points in a kernel's feature space as Lloyd's algorithm asks for them: by a Gram matrix or by explicit features."""

import math

import torch
from torch import Tensor

from torchrank.clustering.lloyd import Clusters, Geometry, Nearest, shares_of
from torchrank.ops.engines import why_missing

_SHRUNK = 64  # times, from which on sums of clusters are not taken from those before
_ROUNDING = 1e-12  # relative error that squared distances can have
_FEW_CLUSTERS = 16  # up to which products of all points are faster
_BLOCK = 2**17  # distances that stay in a processor's cache
_PRODUCTS = 2**21  # of points and centers at a time: 16 MiB


class GramGeometry(Geometry):
    """Points known by their Gram matrix; a center is the weights ``(m,)`` of the points whose mean it is."""

    def __init__(self, gram: Tensor, weights: Tensor) -> None:
        self.gram, self.weights = gram, weights
        self.diagonal = gram.diagonal()
        self.tolerance = rounding_of(self.diagonal)

    def points(self, rows: Tensor) -> Tensor:
        """Points by number as centers."""
        centers = self.gram.new_zeros((len(rows), 1, len(self.gram)))
        return centers.scatter_(2, rows[:, None, None], 1.0)

    def costs_at(self, rows: Tensor) -> Tensor:
        """Squared distances to points, without a product of matrices."""
        return (self.diagonal - 2 * self.gram[rows] + self.diagonal[rows][..., None]).clamp_(min=0)

    def centers(self, labels: Tensor, mass: Tensor, previous: Clusters | None) -> Tensor:
        """Means of the clusters."""
        return means(shares_of(labels, mass.shape[1], self.weights))

    def distances(self, centers: Tensor) -> Tensor:
        """Squared distances in feature space, the second form of Algorithm 1."""
        products = centers @ self.gram
        norms = (products * centers).sum(-1, keepdim=True)
        return (self.diagonal - 2 * products + norms).clamp_(min=0)


class FeatureGeometry(Geometry):
    """Points by their feature vectors ``(m, d)``; a center is a vector ``(d,)``."""

    def __init__(self, features: Tensor, weights: Tensor) -> None:
        self.features, self.weights = features, weights
        self.diagonal = features.square().sum(-1)
        self.tolerance = rounding_of(self.diagonal)
        self.compiled = features.device.type == "cpu" and not why_missing("cpu")

    def points(self, rows: Tensor) -> Tensor:
        """Points by number as centers."""
        return self.features[rows][:, None]

    def centers(self, labels: Tensor, mass: Tensor, previous: Clusters | None) -> Tensor:
        """Means of the clusters; on the CPU from the previous means and the points that moved."""
        if not self.compiled:
            return means(shares_of(labels, mass.shape[1], self.weights)) @ self.features
        from torchrank.cpu.nearest_centers import add_moved  # numba takes half a second to import

        if previous is None or bool((mass < previous.most / _SHRUNK).any()):  # of what is left digits would be lost
            sums, before = self.features.new_zeros((*mass.shape, self.features.shape[1])), torch.full_like(labels, -1)
        else:
            sums, before = previous.centers * previous.mass[..., None], previous.labels
        add_moved(self.features, self.weights, labels, before, sums)
        return sums / torch.where(mass > 0, mass, 1)[..., None]

    def distances(self, centers: Tensor) -> Tensor:
        """Squared Euclidean distances."""
        products = centers @ self.features.mT
        return (self.diagonal - 2 * products + centers.square().sum(-1, keepdim=True)).clamp_(min=0)

    def nearest(self, centers: Tensor, filled: Tensor, labels: Tensor) -> Nearest:
        """The nearest centers, on the CPU without a table of all distances, which takes longer."""
        if centers.shape[1] > _FEW_CLUSTERS:
            found = self._nearest_of_many(centers, filled)
            return Nearest.of(*found, centers.shape[1], self.weights, labels)
        return (
            self._nearest_of_few(centers, filled, labels) if self.compiled else super().nearest(centers, filled, labels)
        )

    def _nearest_of_many(self, centers: Tensor, filled: Tensor) -> tuple[Tensor, Tensor]:
        """By blocks of points, labels and costs."""
        s, c, d = centers.shape
        m = len(self.features)
        offset = (centers.square().sum(-1) / 2).masked_fill(~filled, math.inf).reshape(-1)
        flat = centers.reshape(-1, d).mT
        labels, cost = torch.empty((m, s), dtype=torch.int64, device=flat.device), flat.new_empty((m, s))
        rows = max(1, _BLOCK // (s * c))
        for points, own, at in zip(self.features.split(rows), labels.split(rows), cost.split(rows), strict=True):
            half = torch.addmm(offset, points, flat, alpha=-1).view(-1, s, c)  # less the same for every center
            least, first = half.min(-1)
            near = half <= (least + self.tolerance / 2)[..., None]
            several = near.sum(-1) > 1
            if bool(several.any()):
                first[several] = near[several].to(torch.uint8).argmax(-1)
            own.copy_(first)
            at.copy_(half.gather(-1, first[..., None])[..., 0])
        cost = (self.diagonal[:, None] + 2 * cost).clamp_(min=0)
        return labels.mT.contiguous(), cost.mT.contiguous()

    def _nearest_of_few(self, centers: Tensor, filled: Tensor, labels: Tensor) -> Nearest:
        """One pass over the products of points and centers."""
        from torchrank.cpu.nearest_centers import nearest_of_products  # numba takes half a second to import

        (s, c, _), m = centers.shape, len(self.features)
        norms = centers.square().sum(-1).masked_fill(~filled, math.inf)
        points = (self.diagonal, self.weights, labels)
        found = Nearest(
            torch.empty_like(labels),
            norms.new_empty((s, m)),
            norms.new_zeros((s, c)),
            norms.new_zeros(s),
            labels.new_zeros(s),
        )
        step = max(1, _PRODUCTS // (s * c))
        for first in range(0, m, step):
            products = centers @ self.features[first : first + step].mT
            nearest_of_products(products, first, norms, self.tolerance, points, found)
        return found


def means(shares: Tensor) -> Tensor:
    """Shares ``(..., m)`` scaled to add up to 1; zeros where they are all 0."""
    total = shares.sum(-1, keepdim=True)
    return shares / torch.where(total > 0, total, 1)


def rounding_of(diagonal: Tensor) -> float:
    """Below which two squared distances between points of these squared norms cannot be told apart."""
    return _ROUNDING * float(diagonal.abs().max()) if len(diagonal) else 0.0
