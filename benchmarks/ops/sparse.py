"""Ratings of few items each beside a sparse product of pair signs; rankings with gaps beside complete ones."""

import numpy as np
import scipy.sparse

import torchrank
from benchmarks.ops.kendall_gram import make_scores
from benchmarks.peers.sparse_signs import by_pair_signs
from benchmarks.registry import Recorder, alternate, benchmark, median


@benchmark("sparse")
def run(recorder: Recorder) -> None:
    """5,000 users and 2,000 items, 0.7 % rated from 1 to 5; 1,000 x 1,000 and 300 x 5,000 with 5 % missing."""
    ratings = make_ratings(5000, 2000, 0.007)
    check(make_ratings(300, 200, 0.05))
    runs = {
        "pairwise": lambda: torchrank.kendall_gram(ratings, missing="pairwise"),
        "interleaving": lambda: torchrank.kendall_gram(ratings, missing="interleaving"),
        "topk": lambda: torchrank.kendall_gram(ratings, missing="topk"),
        "min_common, shrink": lambda: torchrank.kendall_gram(ratings, missing="pairwise", min_common=3, shrink=10),
        "SciPy": lambda: by_pair_signs(ratings),
    }
    measure(recorder, runs, 5, shape=[5000, 2000], share=0.007)
    for m, n in ((1000, 1000), (300, 5000)):
        for levels in (None, 5):
            X = make_scores(m, n, levels)
            P = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)
            runs = {
                "complete": lambda X=X: torchrank.kendall_gram(X),
                "pairwise": lambda P=P: torchrank.kendall_gram(P, missing="pairwise"),
                "complete, X and Y": lambda X=X: torchrank.kendall_gram(X, X[::-1]),
                "pairwise, X and Y": lambda P=P: torchrank.kendall_gram(P, P[::-1], missing="pairwise"),
            }
            measure(recorder, runs, 5, shape=[m, n], levels=levels)


def measure(recorder: Recorder, runs: dict, repeats: int, **about: object) -> None:
    """Time all by turns, and write a row for each."""
    for warm_up in runs.values():
        warm_up()
    for name, seconds in alternate(runs, repeats).items():
        recorder.append(what=name, **about, seconds=median(seconds), all_seconds=seconds)
        print(f"{about!s:<45}{name:<20}{median(seconds):.3f} s")


def make_ratings(m: int, n: int, share: float) -> scipy.sparse.csr_array:
    """Whole ratings from 1 to 5 of random items."""
    rng = np.random.default_rng(0)
    rated = rng.random((m, n)) < share
    rows, items = np.nonzero(rated)
    return scipy.sparse.csr_array((rng.integers(1, 6, len(rows)).astype(float), (rows, items)), shape=(m, n))


def check(ratings: scipy.sparse.csr_array) -> None:
    """The gate: equal to the dense result, and to the peer up to rounding."""
    dense = ratings.toarray()
    K = torchrank.kendall_gram(ratings, missing="pairwise")
    if not np.array_equal(K, torchrank.kendall_gram(np.where(dense == 0, np.nan, dense), missing="pairwise")):
        raise AssertionError("sparse and dense results differ")
    difference = np.abs(K - by_pair_signs(ratings)).max()
    if not difference < 1e-12:
        raise AssertionError(f"the sparse product of pair signs differs by {difference}")
