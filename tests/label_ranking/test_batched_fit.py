"""MM-PL of rows in batches: mini-batches of EM, whatever the processes and interruptions."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import torchrank as tr
from tests.interruptions import killed_after_every_save
from tests.processes import run

RNG = np.random.default_rng(0)
L, D = 5, 3
CORNERS = RNG.normal(0, 3, (6, D))
CENTERS = RNG.gumbel(size=(3, L)) * 3
CELL = RNG.integers(0, 6, 900)
X = torch.from_numpy(CORNERS[CELL] + RNG.normal(size=(900, D)) + 1000)  # far from the origin
Y = torch.from_numpy(CENTERS[CELL % 3] + RNG.gumbel(size=(900, L)))
Y[torch.from_numpy(RNG.random((900, L)) < 0.3)] = torch.nan
Y[:100] = torch.nan  # a batch that teaches nothing
QUICK = {"n_updates": 5000}


def model():
    torch.manual_seed(0)
    return tr.MMPL(D, L, n_clusters=3, n_prototypes=4, dtype=torch.float64)


def fitted(source, Y=None, settings=None, seed=0, **arguments):
    made = model()
    generator = torch.Generator().manual_seed(seed)
    chosen = tr.EMSettings(**QUICK | (settings or {}))
    evidence = made.fit(source, Y, chosen, generator=generator, **arguments)
    return made, evidence


@pytest.mark.parametrize(
    "settings", [{}, {"scores": "mm"}, {"batch_size": 32}, {"init": "tree"}, {"schedule": "paper"}]
)
def test_it_learns_as_much_as_from_all_rows(settings):
    whole, expected = fitted(X, Y, settings)
    streamed, found = fitted(tr.Batches((X, Y), 100), None, settings)
    assert (found.n_iter, found.n_updates, found.reason) == (expected.n_iter, expected.n_updates, expected.reason)
    assert found.losses[0] == pytest.approx(expected.losses[0], abs=0.02)
    assert float(streamed.log_prob(X, Y).mean()) == pytest.approx(float(whole.log_prob(X, Y).mean()), abs=0.1)
    assert (streamed.predict_cluster(X).unique().numel(), whole.predict_cluster(X).unique().numel()) == (3, 3)


def test_a_loader_of_torch_gives_what_arrays_give():
    settings = {"batch_size": 0, "n_updates": 2700}
    expected, _ = fitted(tr.Batches((X, Y), 900), None, settings)
    loader = DataLoader(TensorDataset(X, Y), batch_size=900)
    found, _ = fitted(loader, None, settings)
    for mine, its in zip(found.parameters(), expected.parameters(), strict=True):
        assert torch.equal(mine, its)


def test_arrays_and_tensors_are_the_same():
    expected, _ = fitted(tr.Batches((X, Y), 300))
    found, _ = fitted(tr.Batches((X.numpy(), Y.numpy()), 300))
    ranked, _ = fitted(tr.Batches((X, tr.rank(Y, "interleaving")), 300))
    for mine, its, other in zip(found.parameters(), expected.parameters(), ranked.parameters(), strict=True):
        assert torch.equal(mine, its)
        assert torch.equal(other, its)


def test_its_losses_are_those_of_all_rows_or_of_others():
    made, found = fitted(tr.Batches((X, Y), 300))
    predicted = made.predict(X)
    ordered = tr.rank(Y, "pairwise").strict > 0
    losses = []
    for row in range(len(X)):
        if ordered[row]:
            pairs = [(a, b) for a in range(L) for b in range(L) if Y[row, a] > Y[row, b]]
            losses.append(np.mean([float(predicted[row, a] < predicted[row, b]) for a, b in pairs]))
    assert found.losses[0] == pytest.approx(np.mean(losses), rel=1e-12)
    validation = X[200:300], Y[200:300]
    _, judged = fitted(tr.Batches((X, Y), 300), validation=validation)
    assert judged.losses[0] != found.losses[0]
    kept = [loss for row, loss in zip(np.flatnonzero(ordered), losses, strict=True) if 200 <= row < 300]
    assert judged.losses[0] == pytest.approx(np.mean(kept), rel=1e-12)


@pytest.mark.parametrize("settings", [{}, {"stop": "loss", "tol": 1e-9}])
def test_a_fit_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch, settings):
    path, batches = tmp_path / "fit.pt", tr.Batches((X, Y), 300)

    def fit(**arguments):
        generator = torch.Generator().manual_seed(1)
        made = model()
        evidence = made.fit(batches, None, tr.EMSettings(**QUICK | settings), generator=generator, **arguments)
        return made.state_dict(), evidence, torch.rand(3, generator=generator)

    expected = fit()
    kills = killed_after_every_save(monkeypatch, lambda: fit(checkpoint=path))
    assert kills == expected[1].n_iter + 1
    found = fit(checkpoint=path)
    for key, value in expected[0].items():
        assert torch.equal(value, found[0][key]), key
    assert found[1] == expected[1]
    assert torch.equal(found[2], expected[2])
    with pytest.raises(
        ValueError, match=r"another fit, which differs in seed 1 and not 0, settings: .*rate 0\.3 and not 0\.5"
    ):
        fitted(batches, None, {"rate": 0.5}, checkpoint=path)


def test_where_the_generator_stands_when_a_fit_goes_on_is_no_matter(tmp_path, monkeypatch):
    """A sample of the rows is drawn anew, and here it is not all of them."""
    monkeypatch.setattr("torchrank.label_ranking.batched_fit._SAMPLE", 300)
    path, batches, settings = tmp_path / "fit.pt", tr.Batches((X, Y), 300), tr.EMSettings(**QUICK)

    def fit(drawn, **arguments):
        torch.manual_seed(5)
        torch.rand(drawn)
        made = tr.MMPL(D, L, n_clusters=3, n_prototypes=4, dtype=torch.float64)
        evidence = made.fit(batches, None, settings, **arguments)
        return made.state_dict(), evidence, torch.rand(3)

    expected = fit(0)
    drawn = iter([0, *range(1, 100)])
    assert killed_after_every_save(monkeypatch, lambda: fit(next(drawn), checkpoint=path)) > 2
    found = fit(7, checkpoint=path)
    for key, value in expected[0].items():
        assert torch.equal(value, found[0][key]), key
    assert found[1] == expected[1]
    assert torch.equal(found[2], expected[2])  # torch's own generator goes on as after one fit


def in_group(group):
    found = []
    for words in ({"batch_size": 32}, {"batch_size": 32, "scores": "mm"}, {}):
        settings = words | {"n_updates": 1600}
        made, evidence = fitted(tr.Batches((X, Y), 300), None, settings, group=group)
        found.append((evidence, [parameter.detach().numpy() for parameter in made.parameters()]))
    return found


@pytest.mark.slow
def test_it_does_not_depend_on_processes(tmp_path):
    expected = in_group(None)
    expected[2] = None  # one row at a time, where there is one process
    processes = run(3, in_group, tmp_path)
    for found in processes:
        for place, (evidence, parameters) in enumerate(found):
            for mine, its in zip(parameters, processes[0][place][1], strict=True):
                np.testing.assert_array_equal(mine, its)
            if expected[place] is not None:
                for mine, its in zip(parameters, expected[place][1], strict=True):
                    np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-8)
                np.testing.assert_allclose(evidence.objective, expected[place][0].objective, rtol=1e-8)


def test_what_a_fit_of_batches_cannot_do_is_refused():
    batches = tr.Batches((X, Y), 300)
    with pytest.raises(ValueError, match="Y of rows in batches comes with them"):
        model().fit(batches, Y)
    with pytest.raises(ValueError, match="n_init=2 starts; rows in batches take one"):
        fitted(batches, None, {"n_init": 2})
    with pytest.raises(TypeError, match="Y is missing"):
        model().fit(X)
    with pytest.raises(ValueError, match="checkpoint is for rows that come in batches"):
        model().fit(X, Y, checkpoint="fit.pt")
    with pytest.raises(ValueError, match="batch 0: it has one part"):
        model().fit(tr.Batches(X))
    with pytest.raises(ValueError, match=r"batch 0: X has shape \(900, 5\); expected \(N, 3\)"):
        model().fit(tr.Batches((torch.zeros(900, 5), Y)))
    bad = Y.clone()
    bad[350, :2] = 1.0
    with pytest.raises(ValueError, match="batch 1: Y ties items 0 and 1 in row 50"):
        model().fit(tr.Batches((X, bad), 300))
    far = X.clone()
    far[700, 1] = torch.inf
    with pytest.raises(ValueError, match="batch 2: X has inf at row 100, feature 1"):
        model().fit(tr.Batches((far, Y), 300))
    with pytest.raises(ValueError, match="Y has no row that ranks two labels"):
        model().fit(tr.Batches((X[:100], Y[:100]), 30))
