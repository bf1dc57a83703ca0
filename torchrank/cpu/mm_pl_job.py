"""What a sweep of MM-PL's engine works on, without numba, which takes half a second to import."""

from typing import NamedTuple

import numpy as np


class SweepRows(NamedTuple):
    """Features and rankings."""

    X: np.ndarray  # (N, d)
    order: np.ndarray  # (N, L) labels by place
    n_made: np.ndarray  # (N,) choices that a ranking makes
    n_offered: np.ndarray  # (N,) labels that it chooses among


class Updates(NamedTuple):
    """What the updates of one pass do, one after the other."""

    rows: np.ndarray  # (n,) which rows, in which order
    sigma: np.ndarray  # (updates,) width of the gate
    rate: np.ndarray  # (updates,) step of prototypes per row
    score_rate: np.ndarray  # (updates,) step of scores per row; zeros leave them


class Bounds(NamedTuple):
    """What keeps steps in their place."""

    step: float  # largest share of the way to its rows that a prototype goes in one update
    logit: float  # largest |logit|


class SweepMixture(NamedTuple):
    """Parameters, changed by every update."""

    prototypes: np.ndarray  # (d, M)
    membership: np.ndarray  # (M,)
    logits: np.ndarray  # (K, L)


class SweepSums(NamedTuple):
    """What the MM step needs, added to by every update."""

    wins: np.ndarray  # (K, L) expected choices that each label won
    rates: np.ndarray  # (K, L) expected sums of inverse denominators that each label stood in
