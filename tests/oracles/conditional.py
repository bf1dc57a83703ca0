"""Conditional ranking from its definitions: explicit pair kernels, explicit loss matrices, dense least squares."""

import numpy as np
import torch
from torch import Tensor


def generator_of(random_state: int) -> torch.Generator:
    """What an estimator makes of its ``random_state``, by the conventions of scikit-learn."""
    seed = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max)
    return torch.Generator().manual_seed(int(seed))


def pair_kernel_matrix(K_start: Tensor, K_end: Tensor, relation: str = "ordinary") -> Tensor:
    """Entry by entry, equations (7), (8) and (9)."""
    (r, m), (s, n) = K_start.shape, K_end.shape
    G = torch.zeros(r * s, m * n, dtype=K_start.dtype)
    for a in range(r):
        for b in range(s):
            for c in range(m):
                for d in range(n):
                    value = K_start[a, c] * K_end[b, d]
                    if relation != "ordinary":
                        other = K_start[a, d] * K_end[b, c]
                        value = (value + (other if relation == "symmetric" else -other)) / 2
                    G[a * s + b, c * n + d] = value
    return G


def centering(groups: Tensor) -> Tensor:
    """The matrix that subtracts from each entry the mean of its group: equation (31), edges in any order."""
    same = (groups[:, None] == groups[None, :]).double()
    return torch.eye(len(groups), dtype=torch.float64) - same / same.sum(1)


def complete_edges(m: int, n: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(m), torch.arange(n))


def edge_duals(G: Tensor, y: Tensor, lam: float, groups: Tensor | None = None) -> Tensor:
    """Minimize ``(y - G a)' L (y - G a) + lam a' G a`` for an explicit edge kernel, by its normal equations.

    Without ``groups`` L is the identity. ``L G a + lam a = L y`` is sufficient for stationarity and has one solution.
    """
    L = torch.eye(len(y), dtype=torch.float64) if groups is None else centering(groups)
    return torch.linalg.solve(L @ G + lam * torch.eye(len(y), dtype=torch.float64), L @ y)


def objective(G: Tensor, y: Tensor, a: Tensor, lam: float, groups: Tensor | None = None) -> Tensor:
    L = torch.eye(len(y), dtype=torch.float64) if groups is None else centering(groups)
    residual = y - G @ a
    return residual @ L @ residual + lam * a @ G @ a


def ranking_error(
    labels: list[float], scores: list[float], groups: list[int]
) -> tuple[float, int, dict[int, tuple[float, int]]]:
    """Misordered pairs with ties one half, pairs with different labels, and both by group: equation (4), pair by
    pair."""
    by_group: dict[int, tuple[float, int]] = {}
    for i in range(len(labels)):
        for j in range(len(labels)):
            if groups[i] == groups[j] and labels[i] < labels[j]:
                wrong = 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
                errors, pairs = by_group.get(groups[i], (0.0, 0))
                by_group[groups[i]] = errors + wrong, pairs + 1
    return sum(e for e, _ in by_group.values()), sum(p for _, p in by_group.values()), by_group


def random_kernel(n: int, rank: int, seed: int) -> Tensor:
    X = torch.randn(n, rank, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return X @ X.mT


def random_labels(*shape: int, seed: int = 9) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
