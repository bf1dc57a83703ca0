"""Features and label rankings for tests of trees."""

import math

import numpy as np
import torch

from torchrank.label_ranking.rank_tree import LOOKAHEAD, Growth, tree_with_centers
from torchrank.label_ranking.training import TrainingRows

NAN = math.nan


def random_rows(seed=0, N=40, d=2, L=4, missing=0.0):
    """Features that many rows share, between which no split may fall, and rankings without a structure."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (N, d)).astype(float)
    Y = rng.permuted(np.broadcast_to(np.arange(1.0, L + 1), (N, L)), axis=1)
    Y[rng.random(Y.shape) < missing] = NAN
    return torch.from_numpy(X), torch.from_numpy(Y)


def seeded(seed):
    """A generator of random numbers."""
    return torch.Generator().manual_seed(seed)


def grown(X, Y, centers, *, min_leaf=5, lookahead=LOOKAHEAD, validation=None):
    """A tree whose leaves hold given central rankings."""
    growth = Growth.checked(X, Y, min_leaf, lookahead, validation)
    return tree_with_centers(TrainingRows.on_cpu(X, Y), centers, growth)
