"""Newsgroups: Table 2 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 6.2.

``TORCHRANK_DATA=folder python -m benchmarks.papers.conditional_newsgroups [--nodes 1500] [--train 1 2]``. Train on
all pairs of posts of one set of groups, rank the posts of the other set for queries from it. Linear kernel on word
counts, divided by its mean diagonal; labels 2 for the same group, 1 for the same top level, 0 otherwise. ``lam`` is
chosen among powers of ten by training on half of the training groups and ranking the other half, averaged over both
ways. The paper's own selection of posts is not known. From set 2 to set 1 the choice of ``lam`` decides the
regression. On a subsample of 2,000 training posts and 300 queries its test error falls from .48 at lam = 1e-1 over .41
at 1e-3 to .38-.39 between 1e-4 and 1e-5 (paper .397) and rises to .43 at 1e-6, which the error on held-out groups
picks: that is within .03 of its least from 1e-8 to 1e-1 and hardly tells these apart.
"""

import argparse

import numpy as np

from benchmarks.papers.conditional_data import Posts, data_folder, newsgroups
from benchmarks.registry import Recorder
from torchrank.conditional import KroneckerEigh
from torchrank.metrics import conditional_ranking_error
from torchrank.typing import Loss

PAPER = {(1, "regression"): 0.3685, (1, "ranking"): 0.2562, (2, "regression"): 0.3967, (2, "ranking"): 0.2895}
POWERS = range(-8, 4)  # from set 2 to set 1 the error on held-out groups is least at 1e-6, the test error at 1e-4
QUERIES = 300


def sample(rng: np.random.Generator, posts: Posts, n: int | None) -> Posts:
    """``n`` posts at random, all by default."""
    if n is None or n >= len(posts.labels):
        return posts
    return posts.take(np.sort(rng.choice(len(posts.labels), n, replace=False)))


def errors(seed: int, train: Posts, test: Posts, loss: Loss, lams: np.ndarray) -> list[float]:
    """Pooled test error for each ``lam``, over :data:`QUERIES` query posts, the same for all losses, against all."""
    K = train.kernel(train)
    scale = float(K.diagonal().mean())
    solver = KroneckerEigh(K / scale, loss=loss)
    F = train.relevance(train)
    queries = sample(np.random.default_rng(seed), test, QUERIES)
    start, end = queries.kernel(train) / scale, test.kernel(train) / scale
    truth = queries.relevance(test)
    scores = (solver.predict(start, end, duals=solver.solve(F, lam)) for lam in lams)
    return [conditional_ranking_error(truth, s).pooled for s in scores]


def choose(seed: int, train: Posts, loss: Loss, lams: np.ndarray) -> np.ndarray:
    """Mean error for each ``lam`` between two halves of the training groups."""
    groups = np.unique(train.labels)
    # by turns, so that each half has groups of both top levels
    half = np.isin(train.labels, groups[::2])
    one, other = train.take(np.flatnonzero(half)), train.take(np.flatnonzero(~half))
    return (np.array(errors(seed, one, other, loss, lams)) + np.array(errors(seed, other, one, loss, lams))) / 2


def main() -> None:
    """Run the chosen directions and record the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=None, help="training posts, sampled; all by default")
    parser.add_argument("--train", type=int, nargs="+", default=[1, 2], choices=(1, 2), help="which sets to train on")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    recorder, sets = Recorder("conditional_newsgroups"), newsgroups(data_folder())
    for number in arguments.train:
        seed = arguments.seed
        train, test = sample(np.random.default_rng(seed), sets[number - 1], arguments.nodes), sets[2 - number]
        lams = 10.0 ** np.array(POWERS)
        for loss in ("regression", "ranking"):
            held_out = choose(seed, train, loss, lams)
            lam = lams[np.argmin(held_out)]
            error, published = errors(seed, train, test, loss, lams[[np.argmin(held_out)]])[0], PAPER[number, loss]
            row = {"train": number, "nodes": len(train.labels), "loss": loss, "lam": float(lam), "error": error}
            recorder.append(**row, paper=published, seed=arguments.seed, held_out=held_out.tolist())
            print(", ".join(f"{key} {value}" for key, value in row.items()), f"(paper {published})")


if __name__ == "__main__":
    main()
