"""Bradley-Terry and Plackett-Luce worths by choix and by evalica, as log-worths that add up to 0."""

import warnings
from typing import Any

import numpy as np

Orders = list[Any]  # of tuples


def by_choix(n: int, orders: Orders) -> np.ndarray:
    """Iterative Luce spectral ranking, the way that its authors recommend."""
    import choix  # pyright: ignore[reportMissingImports] - of the extra "peers"

    pairs = len(orders[0]) == 2
    return centered((choix.ilsr_pairwise if pairs else choix.ilsr_rankings)(n, orders))


def by_choix_mm(n: int, orders: Orders) -> np.ndarray:
    """Minorization-maximization."""
    import choix  # pyright: ignore[reportMissingImports] - of the extra "peers"

    pairs = len(orders[0]) == 2
    return centered((choix.mm_pairwise if pairs else choix.mm_rankings)(n, orders))


def by_evalica(n: int, pairs: Orders) -> np.ndarray:
    """``evalica.bradley_terry``, in Rust, of comparisons only."""
    import evalica  # pyright: ignore[reportMissingImports] - of the extra "peers"

    first, second = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evalica.bradley_terry(first, second, [evalica.Winner.X] * len(pairs), tolerance=1e-12, limit=100_000)
    logits = np.zeros(n)
    logits[found.scores.index.to_numpy()] = np.log(found.scores.to_numpy())
    return centered(logits)


def centered(logits: np.ndarray) -> np.ndarray:
    return logits - logits.mean()
