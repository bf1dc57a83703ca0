"""Mixtures of Mallows distributions of rankings in batches: the fit of all rows, whatever batches and processes."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

import torchrank as tr
from tests.interruptions import Broken, killed_after_every_save
from tests.processes import run
from torchrank.clustering import center_sums
from torchrank.mixtures import mallows_batches

RNG = np.random.default_rng(0)
N, C = 6, 3
CENTERS = np.array([RNG.permutation(N) for _ in range(C)])
X = (CENTERS[RNG.integers(0, C, 700)] + RNG.normal(0, 1.5, (700, N))).argsort(1).argsort(1).astype(float)
PARTIAL = np.where((X + X[:, :1]) % 5 == 0, np.nan, X)
WEIGHTS = RNG.integers(0, 4, len(X)).astype(float)
TOWARDS = CENTERS.T + RNG.normal(0, 1, (N, C))
CASES = {
    "total": (X, {}),
    "top-k": (PARTIAL, {"missing": "topk"}),
    "anywhere": (PARTIAL[:150], {"missing": "interleaving"}),
    "ties": (X // 2, {"ties": "unknown"}),
    "Borda": (X, {"center": "borda"}),
}


def mixture(name, **settings):
    rows, words = CASES[name]
    labels = (np.asarray(tr.rank(rows, "pairwise").ranks) @ TOWARDS).argmax(1)  # equal rankings have equal ones
    return rows, tr.MallowsMixture(N, C, **words | {"init": labels} | settings)


@pytest.fixture(params=["compiled", "torch"])
def engine(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setattr(center_sums, "_MOST_TABLE", -1)
        monkeypatch.setattr(mallows_batches, "_BLOCK_BYTES", 5000)  # a few rows at a time


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("engine")
def test_from_the_same_start_its_steps_are_those_of_all_rows(name, weighted):
    rows, whole = mixture(name)
    _, streamed = mixture(name)
    weights = WEIGHTS[: len(rows)] if weighted else np.ones(len(rows))
    expected = whole.fit(rows, weights)
    found = streamed.fit(tr.Batches((rows, weights) if weighted else rows, 128))
    plain = min(20, found.n_iter, expected.n_iter)  # steps that are not extrapolated
    assert plain > 2
    np.testing.assert_allclose(found.objective[:plain], expected.objective[:plain], rtol=1e-12)
    assert found.converged
    assert np.all(np.diff(found.objective) >= -1e-12 * abs(found.objective[0]))
    statistics = streamed.summarize(rows, weights)
    assert found.log_likelihood == pytest.approx(float(statistics.log_likelihood), rel=1e-12)
    streamed.update(statistics)  # another step gains next to nothing
    assert float(streamed.summarize(rows, weights).log_likelihood) - found.log_likelihood < 1e-8 * weights.sum()


def test_it_does_not_depend_on_batches():
    states = []
    for source in (tr.Batches(X, 700), tr.Batches(X, 77), DataLoader(torch.from_numpy(X), 250)):
        _, model = mixture("total", init="k-means++", n_init=2)
        model.fit(source, generator=torch.Generator().manual_seed(3))
        states.append(model.state_dict())
    for state in states[1:]:
        assert torch.equal(states[0]["centers"], state["centers"])
        for key in ("logits", "concentrations"):
            torch.testing.assert_close(states[0][key], state[key], rtol=1e-9, atol=0)  # sums of fractions


@pytest.mark.parametrize("name", ["total", "anywhere"])
def test_a_fit_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch, name):
    path = tmp_path / "fit.pt"

    def fit(**arguments):
        generator = torch.Generator().manual_seed(1)
        rows, model = mixture(name)
        found = model.fit(tr.Batches(rows, 200), generator=generator, **arguments)
        return model.state_dict(), found, torch.rand(3, generator=generator)

    expected = fit()
    assert expected[1].n_iter > 21  # so that it extrapolates
    kills = killed_after_every_save(monkeypatch, lambda: fit(checkpoint=path))
    assert kills == expected[1].n_iter + 1  # the start, and every pass
    found = fit(checkpoint=path)
    for key, value in expected[0].items():
        assert torch.equal(value, found[0][key]), key
    assert found[1] == expected[1]
    assert torch.equal(found[2], expected[2])
    _, other = mixture(name, max_lam=3.0)
    with pytest.raises(ValueError, match=r"differs in max_lam .* and not 3\.0"):
        other.fit(tr.Batches(CASES[name][0], 200), checkpoint=path)


def test_a_fit_that_is_broken_off_leaves_the_model_as_it_was():
    rows, model = mixture("total", init="k-means++")
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(OSError, match="no more of them"):
        model.fit(Broken([rows, rows]))
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key


def in_group(group, name):
    rows, model = mixture(name)
    found = model.fit(tr.Batches(rows, 150), group=group)
    return found, {key: value.numpy() for key, value in model.state_dict().items()}


@pytest.mark.slow
def test_it_does_not_depend_on_processes(tmp_path):
    expected, state = in_group(None, "total")
    processes = run(3, in_group, tmp_path, "total")
    for found, its in processes:
        assert found == processes[0][0]
        np.testing.assert_allclose(found.objective[:20], expected.objective[:20], rtol=1e-12)
        np.testing.assert_array_equal(its["centers"], state["centers"])
        np.testing.assert_allclose(its["concentrations"], state["concentrations"], rtol=1e-6)


def test_too_few_passes_warn_once():
    rows, model = mixture("total", max_iter=2)
    with pytest.warns(tr.ConvergenceWarning, match="EM did not converge in 2 iterations") as messages:
        found = model.fit(tr.Batches(rows, 100))
    assert len(messages) == 1
    assert (found.n_iter, found.converged, found.reason) == (2, False, "max_iter")


def test_what_a_fit_of_batches_cannot_do_is_refused():
    rows, model = mixture("total")
    batches = tr.Batches(rows, 300)
    with pytest.raises(ValueError, match="weights of rows in batches come with them"):
        model.fit(batches, WEIGHTS)
    with pytest.raises(ValueError, match="group is for rows that come in batches"):
        model.fit(rows, group=3)
    with pytest.raises(ValueError, match="KernelGaussianMixture takes all rows at once"):
        tr.KernelGaussianMixture(2).fit(batches)
    with pytest.raises(ValueError, match="batch 1: X has NaN"):
        model.fit(tr.Batches([X, PARTIAL]))
    with pytest.raises(ValueError, match="batch 1: X has tied items in row 0"):
        model.fit(tr.Batches([X, X // 2]))
    with pytest.raises(ValueError, match=r"batch 0: X has shape \(700, 5\); expected \(rankings, 6\)"):
        model.fit(tr.Batches(X[:, :5]))
    with pytest.raises(TypeError, match="batch 0: X are preferences, which come in no batches"):
        model.fit(tr.Batches([tr.from_preferences([[(0, 1)]], n_items=N)]))


def test_names_of_items_are_remembered():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    _, model = mixture("total")
    model.fit(tr.Batches(frame, 200))
    with pytest.raises(ValueError, match="the same names in another order"):
        model.predict(frame[list("abcdfe")])
