"""What passes over batches ask of them: the same rows in every pass, and the same batches in every process."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

import torchrank as tr
from tests.processes import run

RNG = np.random.default_rng(0)
X = torch.from_numpy(RNG.random((330, 6)))
FEATURES = torch.from_numpy(RNG.random((330, 3)))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


FITS = {
    "KernelKMeans": lambda rows, **more: tr.KernelKMeans(3).fit(rows, generator=generator(), **more).objective,
    "MallowsMixture": lambda rows, **more: tr.MallowsMixture(6, 2).fit(rows, generator=generator(), **more).objective,
    "Plackett-Luce": lambda rows, **more: tr.fit_plackett_luce(rows, **more).logits,
}


class Changing:
    """Other rows in every pass, as many of them."""

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        rows = X.clone()
        rows[0] = rows[0].roll(self.passes)
        return iter(rows.split(100))


@pytest.mark.slow
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_other_rows_than_in_the_first_pass_are_noticed(fit):
    seeded = {"generator": generator()}
    dropping = DataLoader(X, batch_size=100, shuffle=True, drop_last=True, **seeded)
    replacing = DataLoader(X, batch_size=100, sampler=RandomSampler(X, replacement=True, **seeded))
    for batches in (dropping, replacing, Changing()):
        with pytest.raises(ValueError, match=r"other rows than in the first pass, as many: .*drop_last"):
            fit(batches)

    class Shorter(Changing):
        def __iter__(self):
            self.passes += 1
            return iter(X[: -self.passes].split(100))

    with pytest.raises(ValueError, match="other rows than in the first pass, 327 and not 328: "):
        fit(Shorter())


@pytest.mark.slow
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_an_order_of_its_own_in_every_pass_is_fine(fit):
    found = fit(DataLoader(X, batch_size=100, shuffle=True, generator=generator()))
    assert len(found) > 1


def mm_pl(loader, path):
    settings = tr.EMSettings(n_updates=1500)
    return tr.MMPL(3, 6, 2).fit(loader, settings=settings, generator=generator(), checkpoint=path)


def test_a_fit_that_depends_on_the_order_is_not_kept_if_that_changes(tmp_path):
    data = TensorDataset(FEATURES, X)
    with pytest.raises(ValueError, match="in another order than in the first pass, and this fit depends on it"):
        mm_pl(DataLoader(data, batch_size=100, shuffle=True, generator=generator()), tmp_path / "a.pt")
    mm_pl(DataLoader(data, batch_size=100, shuffle=True, generator=generator()), None)
    mm_pl(DataLoader(data, batch_size=100), tmp_path / "b.pt")
    with pytest.raises(ValueError, match="differs in order of rows in batches"):
        mm_pl(DataLoader(data, batch_size=50), tmp_path / "b.pt")


@pytest.mark.slow
def test_labels_go_with_rows_in_one_order(tmp_path):
    labels = np.arange(len(X)) % 3
    fits = {
        "k-means": lambda rows, **words: tr.KernelKMeans(3, init=labels).fit(rows, **words),
        "ranking": lambda rows, **words: tr.RankingKMeans(3, init=labels).fit(rows, **words),
        "mixture": lambda rows, **words: tr.MallowsMixture(X.shape[1], 3, init=labels).fit(rows, **words),
    }
    for name, fit in fits.items():
        shuffled = DataLoader(X, batch_size=100, shuffle=True, generator=generator())
        with pytest.raises(ValueError, match="labels in init= would go to other rows"):
            fit(shuffled)
        path = tmp_path / name
        fit(tr.Batches(X, 100), checkpoint=path)
        with pytest.raises(ValueError, match="differs in order of rows in batches"):
            fit(tr.Batches(X.flip(0), 100), checkpoint=path)
        fit(tr.Batches(X, 100), checkpoint=path)


def error_of(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


def in_group(group, folder):
    rank = torch.distributed.get_rank(group)
    settings = tr.EMSettings(n_updates=600 + 10 * rank)
    batches, both = tr.Batches(X, 60), tr.Batches((FEATURES, X), 60)
    other_kernel = tr.KendallKernel(variant="ab"[rank])
    shuffled = DataLoader(X, batch_size=60, shuffle=True, generator=generator(rank))
    calls = {
        **{f"{name}: order of rows": lambda fit=fit: fit(tr.Batches(X, 60 + 40 * rank), group=group)
           for name, fit in FITS.items()},
        "shuffled: order of rows": lambda: FITS["MallowsMixture"](shuffled, group=group),
        "n_clusters": lambda: tr.KernelKMeans(2 + rank).fit(batches, group=group),
        "variant": lambda: tr.KernelKMeans(2, kernel=other_kernel).fit(batches, group=group),
        "n_components": lambda: tr.MallowsMixture(6, 2 + rank).fit(batches, group=group),
        "tol": lambda: tr.MallowsMixture(6, 2, tol=1e-3 * (1 + rank)).fit(batches, group=group),
        "center": lambda: tr.RankingKMeans(2, center=["kemeny", "borda"][rank]).fit(batches, group=group),
        "max_iter": lambda: tr.RankingKMeans(2, max_iter=3 + rank).fit(batches, group=group),
        "checkpoint": lambda: tr.RankingKMeans(2).fit(batches, group=group, checkpoint=[None, f"{folder}/f.pt"][rank]),
        "prior": lambda: tr.fit_plackett_luce(batches, prior=0.5 + rank, group=group),
        "method": lambda: tr.fit_plackett_luce(batches, method=["newton", "cg"][rank], group=group),
        "settings": lambda: tr.MMPL(3, 6, 2).fit(both, settings=settings, group=group),
        "n_clusters of MM-PL": lambda: tr.MMPL(3, 6, 2 + rank).fit(both, group=group),
    }  # fmt: skip
    return {name: error_of(call) for name, call in calls.items()}


def test_processes_that_differ_are_told_in_what(tmp_path):
    (tmp_path / "of").mkdir()
    for found in run(2, in_group, tmp_path, str(tmp_path / "of")):
        for name, error in found.items():
            word = name.split(": ")[-1].split(" of MM")[0]
            assert error is not None, name
            assert f"process 1 of 2 of the group differs from process 0 in {word}" in error, (name, error)
