"""Soft memberships of clusters, by which clusters train their kernel."""

import math

import torch
from torch import Tensor, nn

from torchrank.clustering.points import rows_against_training
from torchrank.kernels.points import Kernel, gram
from torchrank.linalg.symmetric import as_double
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_positive


@isolated
class SoftClusters(nn.Module):
    """What :class:`torchrank.KernelKMeans` can do with a kernel that is to be trained."""

    kernel: Kernel
    rankings: Tensor
    weights: Tensor
    coefficients: Tensor
    center_norms: Tensor
    means: Tensor

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

    def _trained(self) -> int:
        """How many training rows there are."""
        if self.means.shape[1]:
            raise ValueError("this model was fitted to batches and has no training rankings; pass all rows to fit")
        if self.coefficients.shape[1] == 0:
            raise ValueError("this model has no clusters yet; call fit first")
        return self.coefficients.shape[1]


def _scatter(K: Tensor, shares: Tensor) -> Tensor:
    """Sum over clusters of the squared distances to their means, by weights ``(c, u)``."""
    total = shares.sum(-1)
    quadratic = ((shares @ K) * shares).sum(-1)
    return (shares @ K.diagonal()).sum() - (quadratic / torch.where(total > 0, total, 1)).sum()
