"""Kendall correlation matrices by pandas, SciPy, and sign features in torch and NumPy."""

import numpy as np
import scipy.stats
import torch


def by_pandas(X: np.ndarray) -> np.ndarray:
    """``DataFrame.corr("kendall")``, whose variables are columns."""
    import pandas

    return pandas.DataFrame(X.T).corr(method="kendall").to_numpy()


def by_scipy(X: np.ndarray) -> np.ndarray:
    """A loop over ``scipy.stats.kendalltau``."""
    K = np.eye(len(X))
    for i in range(len(X)):
        for j in range(i):
            K[i, j] = K[j, i] = float(np.asarray(scipy.stats.kendalltau(X[i], X[j]))[0])
    return K


def by_torch(X: np.ndarray) -> np.ndarray:
    """Product of float32 sign features, in blocks of 1e8 features; exact for fewer than 2^24 pairs in a block."""
    scores = torch.from_numpy(X)
    i, j = torch.triu_indices(X.shape[1], X.shape[1], 1)
    G = torch.zeros(len(X), len(X), dtype=torch.float64)
    for block in range(0, len(i), step := max(1, 100_000_000 // len(X))):
        pairs = slice(block, block + step)
        signs = (scores[:, i[pairs]] - scores[:, j[pairs]]).sign().to(torch.float32)
        G += signs @ signs.T
    return _tau_b(G.numpy())


def by_numpy(X: np.ndarray) -> np.ndarray:
    """XOR and popcount of packed sign bits, one row against all; for rankings without ties."""
    i, j = np.triu_indices(X.shape[1], 1)
    bits = np.packbits(X[:, i] > X[:, j], axis=1)
    words = np.ascontiguousarray(np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))).view(np.uint64)
    differing = np.stack([np.bitwise_count(words ^ row).sum(axis=1, dtype=np.int64) for row in words])
    return _tau_b((len(i) - 2 * differing).astype(np.float64))


def _tau_b(score: np.ndarray) -> np.ndarray:
    norms = np.sqrt(np.diag(score))
    return score / np.outer(norms, norms)
