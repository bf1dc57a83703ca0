"""Gates of the Plackett-Luce mixture: the probability of a cluster is that of its prototypes."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class PrototypeMixture(NamedTuple):
    """Parameters of MM-PL: a mixture of Plackett-Luce laws, gated by prototypes."""

    prototypes: Tensor  # (M, d)
    membership: Tensor  # (M,) int64, the cluster of each prototype
    logits: Tensor  # (K, L) logarithms of Plackett-Luce scores
    sigma: Tensor  # () width of the gate; (B,) of B members, which have equal parts of the prototypes and clusters


def log_gates(X: Tensor, mixture: PrototypeMixture) -> Tensor:
    """Log-probabilities ``(N, K)`` of the clusters, equation 21; minus infinity for one without prototypes."""
    sums = log_sums(_log_affinities(X, mixture), mixture.membership, len(mixture.logits))
    return _of_members(sums, mixture).log_softmax(-1).flatten(-2) - math.log(mixture.sigma.numel())


def prototype_shares(X: Tensor, mixture: PrototypeMixture) -> tuple[Tensor, Tensor]:
    """Log-probabilities ``(N, K)`` of the clusters, and probabilities ``(N, M)`` of prototypes within their cluster.

    Of a mixture of one member.
    """
    near = _log_affinities(X, mixture)
    sums = log_sums(near, mixture.membership, len(mixture.logits))
    return sums.log_softmax(-1), (near - sums[:, mixture.membership]).exp()


def _log_affinities(X: Tensor, mixture: PrototypeMixture) -> Tensor:
    behind = _of_members(squared_distances(X, mixture.prototypes), mixture)
    behind = behind - behind.detach().amin(-1, keepdim=True)  # so that one is 0 however small sigma
    sigma = mixture.sigma.reshape(-1, 1)
    return (-behind / 2 / sigma / sigma).flatten(-2)


def _of_members(values: Tensor, mixture: PrototypeMixture) -> Tensor:
    """Values ``(N, M)`` of prototypes or clusters by members, ``(N, B, M / B)``."""
    return values.unflatten(-1, (mixture.sigma.numel(), -1))


def nearest_of_members(X: Tensor, mixture: PrototypeMixture) -> Tensor:
    """Clusters ``(N, B)`` of the nearest prototype of each member."""
    members = mixture.sigma.numel()
    parts = zip(mixture.prototypes.chunk(members), mixture.membership.chunk(members), strict=True)
    return torch.stack([clusters[nearest(X, prototypes)] for prototypes, clusters in parts], -1)


def squared_distances(X: Tensor, centers: Tensor) -> Tensor:
    """Squared Euclidean distances ``(N, M)``, from products; the origin is moved among the centers for precision."""
    origin = centers.detach().mean(0)
    x, m = X - origin, centers - origin
    return x.square().sum(-1, keepdim=True) - 2 * x @ m.T + m.square().sum(-1)


def nearest(X: Tensor, centers: Tensor) -> Tensor:
    """The nearest center ``(N,)`` of each row, int64; the origin is moved among the centers for precision."""
    origin = centers.detach().mean(0)
    return nearest_about_origin(X - origin, centers - origin)


def nearest_about_origin(X: Tensor, centers: Tensor) -> Tensor:
    """As :func:`nearest`, for features whose means are small beside their deviations."""
    return torch.addmm(centers.square().sum(-1) / 2, X, centers.T, alpha=-1).argmin(-1)


def log_sums(terms: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Logarithms of the sums of exponentials ``(N, n_groups)`` of terms ``(N, M)`` by group ``(M,)``."""
    index = group.expand_as(terms)
    top = terms.new_full((terms.shape[0], n_groups), -torch.inf)
    top = top.scatter_reduce(1, index, terms.detach(), "amax")
    top = torch.where(top == -torch.inf, 0, top)
    sums = torch.zeros_like(top).scatter_add(1, index, (terms - top.gather(1, index)).exp())
    return sums.log() + top
