import math
import warnings

import numpy as np
import pytest
import torch

from tests.mixtures.test_mallows import seeded, two_groups
from torchrank import ConvergenceWarning, KernelGaussianMixture, KernelMallowsMixture, MallowsMixture, fit_mixtures

MAKERS = {
    "Mallows": lambda k: MallowsMixture(4, k),
    "kernel Mallows": lambda k: KernelMallowsMixture(4, k, ridge=0.01),
    "kernel Gaussian": lambda k: KernelGaussianMixture(k, max_lam=50.0),
}


def rough(seed: int) -> np.ndarray:
    """Rankings in which there are no clusters, so that likelihoods have many maxima."""
    return np.random.default_rng(seed).random((60, 6)).argsort(1).astype(float)


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_rows_are_what_the_models_say(make, criterion):
    rng = np.random.default_rng(0)
    X, weights = two_groups(rng, 30, 4), rng.integers(1, 4, 30)
    fits = fit_mixtures(make, X, [1, 2], weights, criterion=criterion, generator=seeded(0))
    assert [row.n_components for row in fits.rows] == [1, 2]
    for row in fits.rows:
        assert row.model.n_components == row.n_components
        assert row.criterion == row.model.criterion(X, weights, criterion)
        assert row.log_likelihood == row.fit.log_likelihood
        assert row.log_likelihood == pytest.approx(float(weights @ row.model.log_prob(X)), rel=1e-9)
        assert row.agreed
        assert row.difference <= 1e-6 * weights.sum()
    assert fits.agreed
    assert fits.best.criterion == min(row.criterion for row in fits.rows)
    assert fits.criterion == criterion


def test_two_groups_need_two_components():
    X = two_groups(np.random.default_rng(1), 80, 5)
    fits = fit_mixtures(lambda k: MallowsMixture(5, k), X, range(1, 4), generator=seeded(0))
    assert fits.best.n_components == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_components=4. components")
def test_starts_are_doubled_until_seeds_agree_or_are_too_many():
    X = rough(0)
    with pytest.warns(ConvergenceWarning, match=r"max_init=4 starts for n_components 4 \(.*\), with") as caught:
        few = fit_mixtures(lambda k: MallowsMixture(6, k, n_init=1), X, [1, 4], max_init=4, generator=seeded(0))
    assert len([w for w in caught if "two seeds" in str(w.message)]) == 1
    one, four = few.rows
    assert (one.n_init, one.agreed, one.difference) == (1, True, 0.0)
    assert (four.n_init, four.agreed) == (4, False)
    assert four.difference > 1e-6 * 60
    assert not few.agreed
    assert four.model.n_init == 1
    loose = fit_mixtures(lambda k: MallowsMixture(6, k, n_init=1), X, [4], tol=math.inf, generator=seeded(0))
    assert loose.rows[0].n_init == 1
    with pytest.warns(ConvergenceWarning):
        more = fit_mixtures(lambda k: MallowsMixture(6, k, n_init=3), X, [4], tol=0, max_init=8, generator=seeded(0))
    assert more.rows[0].n_init == 8


@pytest.mark.slow
def test_more_starts_never_lose():
    X, losses = rough(1), []
    for most in (1, 2, 4, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = fit_mixtures(
                lambda k: MallowsMixture(6, k, n_init=1), X, [3], tol=0, max_init=most, generator=seeded(3)
            )
        losses.append(-fits.rows[0].log_likelihood)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_the_generator_decides():
    X = two_groups(np.random.default_rng(2), 40, 5, 3.0)
    rows = [fit_mixtures(lambda k: MallowsMixture(5, k), X, [2], generator=seeded(5)).rows[0] for _ in range(2)]
    assert rows[0].fit == rows[1].fit
    assert torch.equal(rows[0].model.lam, rows[1].model.lam)


def test_warnings_of_the_fits_that_are_kept_come_once_with_their_number():
    X = np.array([[4.0, 3.0, 2.0, 1.0]] * 4 + [[1.0, 2.0, 3.0, 4.0]] * 2)
    with pytest.warns(UserWarning, match="n_components=2: components .* hold equal rankings") as caught:
        fit_mixtures(lambda k: MallowsMixture(4, k), X, [1, 2], generator=seeded(0))
    assert len(caught) == 1


def test_refusals():
    X = two_groups(np.random.default_rng(3), 20, 4)

    def make(k):
        return MallowsMixture(4, k)

    for arguments, message in (
        ({"n_components": []}, "n_components is empty"),
        ({"n_components": [0]}, "n_components=0 is too small"),
        ({"n_components": [1], "criterion": "dic"}, "criterion='dic' is unknown"),
        ({"n_components": [1], "tol": -1.0}, "tol=-1.0 is out of range"),
        ({"n_components": [1], "max_init": 0}, "max_init=0 is too small"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_mixtures(make, X, **arguments)
    with pytest.raises(TypeError, match="make gives int"):
        fit_mixtures(lambda k: k, X, [1])
    with pytest.raises(TypeError, match=r"n_components=3 is one number; pass a list of them, or range\(1, 4\)"):
        fit_mixtures(make, X, 3)
    with pytest.raises(ValueError, match=r"make\(1\) gives a mixture of 2 components; expected 1"):
        fit_mixtures(lambda k: make(2), X, [1, 2])
    with pytest.raises(TypeError, match="generator is int"):
        fit_mixtures(make, X, [1], generator=0)


@pytest.mark.data
def test_apa_election(data_folder):
    """Of the complete ballots two components are found by every seed, those of tests/mixtures/test_mallows.py."""
    table = np.genfromtxt(data_folder / "apa" / "apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    fits = fit_mixtures(lambda k: MallowsMixture(5, k), X, [1, 2], counts, generator=seeded(0))
    assert [row.criterion for row in fits.rows] == pytest.approx([54825.6339, 53838.2531], abs=1e-3)
    assert fits.agreed
