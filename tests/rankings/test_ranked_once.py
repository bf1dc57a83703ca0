"""Learners rank their rows once, and a call of a kernel takes scores through few files."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import torchrank as tr

RNG = np.random.default_rng(0)
X = torch.from_numpy(RNG.permuted(np.tile(np.arange(6.0), (40, 1)), axis=1))
FEATURES = torch.from_numpy(RNG.normal(size=(40, 2)))
LABELS = torch.arange(40) % 2
PACKAGE = Path(tr.__file__).parent


class Rankings(TorchDispatchMode):
    """Counts how many rows are ranked, of sets as large as X."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in (torch.ops.torchrank.dense_ranks.default, torch.ops.torchrank.untied_ranks.default):
            self.calls += args[0].shape[:-1].numel() >= len(X)
        return function(*args, **(kwargs or {}))


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize(
    "fit",
    {
        "KernelKMeans": lambda: tr.KernelKMeans(2, n_init=1).fit(X, generator=seeded()),
        "KernelKMeans, a Gram matrix": lambda: tr.KernelKMeans(2, kernel=tr.MallowsKernel(lam=0.2)).fit(X),
        "RankingKMeans": lambda: tr.RankingKMeans(2, n_init=1).fit(X, generator=seeded()),
        "MallowsMixture": lambda: tr.MallowsMixture(6, 2, n_init=1).fit(X, generator=seeded()),
        "KernelMallowsMixture": lambda: tr.KernelMallowsMixture(6, 1).fit(X),
        "KernelGaussianMixture": lambda: tr.KernelGaussianMixture(1).fit(X),
        "fit_mallows": lambda: tr.fit_mallows(X),
        "fit_plackett_luce": lambda: tr.fit_plackett_luce(X, prior=1.0),
        "kemeny": lambda: tr.kemeny(X),
        "borda": lambda: tr.borda(X),
        "top_scoring_pairs": lambda: tr.top_scoring_pairs(X, LABELS, 2),
        "MMPL": lambda: tr.MMPL(2, 6, 2, 3, dtype=torch.float64).fit(
            FEATURES, X, tr.EMSettings(n_updates=200), generator=seeded()
        ),
        "MMPL, from a tree": lambda: tr.MMPL(2, 6, 2, 3, dtype=torch.float64).fit(
            FEATURES, X, tr.EMSettings(n_updates=200, init="tree"), generator=seeded()
        ),
        "rank_tree": lambda: tr.rank_tree(FEATURES, X, 2, generator=seeded()),
        "one_rank": lambda: tr.one_rank(FEATURES, X),
        "kendall_gram": lambda: tr.kendall_gram(X),
    }.items(),
    ids=lambda item: item[0],
)
def test_rows_are_ranked_once(fit):
    with Rankings() as ranked:
        fit[1]()
    assert ranked.calls == 1


def test_prepared_rankings_are_not_ranked_again():
    rankings = tr.rank(X)
    with Rankings() as ranked:
        tr.KernelKMeans(2, n_init=1).fit(rankings, generator=seeded())
        tr.fit_mallows(rankings)
        tr.kendall_gram(rankings, rankings)
        tr.kemeny(rankings)
        tr.MMPL(2, 6, 2, 3, dtype=torch.float64).fit(FEATURES, rankings, tr.EMSettings(n_updates=200))
        tr.rank_tree(FEATURES, rankings, 2)
        tr.kmeans_then_rank(FEATURES, rankings, 2)
    assert ranked.calls == 0


def test_scores_cross_few_files():
    """Files of the package in which a function is handed the scores themselves, before they are ranks."""
    files = set()

    def watch(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
            if any(frame.f_locals.get(name) is X for name in names):
                files.add(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(watch)
    try:
        tr.kendall_gram(X)
    finally:
        sys.setprofile(None)
    assert "kernels/kendall.py" in files
    assert "ops/dense_ranks.py" in files
    assert len(files) <= 6, files
