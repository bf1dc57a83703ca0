"""k-means of rankings in batches: the fit of all rows, whatever the batches, processes and interruptions."""

import copy
import os

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

import torchrank as tr
from tests.interruptions import Broken, killed_after_every_save
from tests.processes import run
from torchrank.stream import passes as streamed_passes

RNG = np.random.default_rng(0)
N = 7
TOWARDS = np.random.default_rng(1).integers(-3, 4, (N, 4))


def noisy_rankings(m=900):
    centers = np.array([RNG.permutation(N) for _ in range(4)])
    return (centers[RNG.integers(0, 4, m)] + RNG.normal(0, 1.5, (m, N))).argsort(1).argsort(1).astype(float)


X = noisy_rankings()
TIED = X // 2
PARTIAL = np.where((X + X[:, :1]) % 5 == 0, np.nan, X)
WEIGHTS = RNG.integers(0, 4, len(X)).astype(float)


def labels_of(rows):
    """Equal rankings get equal labels, as they do where rows are not in batches; no cluster becomes empty of these."""
    return (np.asarray(tr.rank(rows, "pairwise").ranks) @ TOWARDS).argmax(1)


def kernel_kmeans(rows=X, variant="b", **settings):
    return tr.KernelKMeans(4, kernel=tr.KendallKernel(variant=variant), **{"init": labels_of(rows)} | settings)


def ranking_kmeans(rows=X, **settings):
    return tr.RankingKMeans(4, missing="pairwise", **{"init": labels_of(rows)} | settings)


CASES = {
    "kernel": (X, kernel_kmeans),
    "kernel, ties": (TIED, kernel_kmeans),
    "kernel, ties, a": (TIED, lambda rows, **settings: kernel_kmeans(rows, "a", **settings)),
    "ranking": (X, ranking_kmeans),
    "ranking, ties": (TIED, ranking_kmeans),
    "ranking, partial": (PARTIAL, ranking_kmeans),
    "ranking, Borda": (X, lambda rows, **settings: ranking_kmeans(rows, center="borda", **settings)),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_from_the_same_start_it_is_the_fit_to_all_rows(name, weights):
    rows, make = CASES[name]
    whole, streamed = make(rows), make(rows)
    expected = whole.fit(rows, weights)
    source = rows if weights is None else (rows, weights)
    found = streamed.fit(tr.Batches(source, 128))
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-12)
    assert (found.n_iter, found.converged, found.reason) == (expected.n_iter, expected.converged, expected.reason)
    assert found.labels is None
    assert found.losses == found.objective[-1:]
    np.testing.assert_array_equal(streamed.predict(rows), whole.predict(rows))
    np.testing.assert_allclose(streamed(rows), whole(rows), rtol=0, atol=1e-12)


def test_equal_rows_start_with_their_own_labels():
    """As told: nobody has seen all rows at once. The first pass goes to the means of what the labels make."""
    rows = X[:300] // 3
    labels = RNG.integers(0, 4, 300)
    first = {row.tobytes(): label for row, label in zip(rows[::-1], labels[::-1], strict=True)}
    assert any(first[row.tobytes()] != label for row, label in zip(rows, labels, strict=True))
    model = tr.KernelKMeans(4, init=labels, max_iter=1)
    with pytest.warns(tr.ConvergenceWarning):
        found = model.fit(tr.Batches(rows, 77))
    features = tr.kendall_features(rows, variant="b")
    means = np.stack([features[labels == c].mean(0) for c in range(4)])
    cost = ((features[:, None] - means) ** 2).sum(-1).min(1).sum()
    np.testing.assert_allclose(found.objective, [cost], rtol=1e-12)
    merged = np.array([first[row.tobytes()] for row in rows])
    expected = tr.KernelKMeans(4, init=merged).fit(rows)
    np.testing.assert_array_equal(tr.KernelKMeans(4, init=labels).fit(rows).objective, expected.objective)
    with_merged = tr.KernelKMeans(4, init=merged).fit(tr.Batches(rows, 77))
    np.testing.assert_allclose(with_merged.objective, expected.objective, rtol=1e-12)


@pytest.mark.parametrize("name", ["kernel", "ranking, partial"])
def test_it_does_not_depend_on_batches(name):
    rows, make = CASES[name]
    settings = {"init": "k-means++", "n_init": 3}
    states = []
    for source in (tr.Batches(rows, 900), tr.Batches(rows, 77), DataLoader(torch.from_numpy(rows), 250)):
        model = make(rows, **settings)
        model.fit(source, generator=torch.Generator().manual_seed(3))
        states.append(model.state_dict())
    for state in states[1:]:
        for key, value in states[0].items():
            assert torch.equal(value, state[key]), key


@pytest.mark.parametrize("make", [kernel_kmeans, ranking_kmeans])
def test_a_start_takes_no_more_room_than_its_share(monkeypatch, make):
    """The more items, the fewer rows are in the sample."""
    seen = []
    monkeypatch.setattr(streamed_passes, "_MOST_SIGNS", 40 * 21)
    fit = type(make()).fit

    def watched(self, rows, *arguments, **settings):
        seen.append(rows)
        return fit(self, rows, *arguments, **settings)

    monkeypatch.setattr(type(make()), "fit", watched)
    assert make(init="k-means++").fit(tr.Batches(X, 100)).converged
    assert len(seen[1]) == 40


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_start_from_a_sample_ends_no_worse_than_it(init):
    model = kernel_kmeans(init=init)
    found = model.fit(tr.Batches(X, 100), generator=torch.Generator().manual_seed(0))
    assert found.converged
    assert np.all(np.diff(found.objective) <= 1e-12 * found.objective[0])
    costs = np.asarray(model(X)).min(1)
    assert found.objective[-1] == pytest.approx(costs.sum(), rel=1e-12)


def test_models_of_batches_know_means(tmp_path):
    model = kernel_kmeans()
    model.fit(tr.Batches(X, 100))
    features = tr.kendall_features(X, variant="b")
    labels = model.predict(X)
    means = np.array([features[labels == j].mean(0) for j in range(4)])
    np.testing.assert_allclose(model.means, means, rtol=0, atol=1e-14)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = tr.KernelKMeans(4)
    other.load_state_dict(torch.load(tmp_path / "model.pt"))
    np.testing.assert_array_equal(other.predict(X), labels)
    with pytest.raises(ValueError, match="fitted to batches and has no training rankings"):
        model.loss(temperature=0.1)
    model.fit(X)
    assert model.means.shape == (4, 0)
    assert float(model.loss(temperature=0.1)) < 1


def test_a_cluster_that_becomes_empty_gets_a_ranking_that_costs_most():
    labels = np.zeros(len(X), np.int64)  # three of four clusters have no rows
    for make in (kernel_kmeans, ranking_kmeans):
        model = make(init=labels)
        found = model.fit(tr.Batches(X, 100))
        assert found.converged
        assert len(np.unique(model.predict(X))) == 4
        assert list(found.objective) == sorted(found.objective, reverse=True)


def test_fewer_different_rows_than_clusters_leave_some_empty():
    few = np.repeat(np.array([[1.0, 2, 3], [3, 2, 1]]), 50, 0)
    for model in (tr.KernelKMeans(4), tr.RankingKMeans(4)):
        with pytest.warns(UserWarning, match="2 of n_clusters=4 clusters stay empty") as messages:
            found = model.fit(tr.Batches(few, 7))
        assert len(messages) == 1  # none of the start
        assert found.converged
        assert found.objective[-1] == pytest.approx(0, abs=1e-12)
        assert np.isinf(np.asarray(model(few))).sum(1).tolist() == [2] * 100


def test_too_few_passes_warn_once():
    with pytest.warns(tr.ConvergenceWarning, match="k-means did not converge in 1 iterations") as messages:
        found = kernel_kmeans(max_iter=1).fit(tr.Batches(X, 100))
    assert len(messages) == 1
    assert (found.n_iter, found.converged, found.reason) == (1, False, "max_iter")


@pytest.mark.parametrize("name", ["kernel", "ranking, partial"])
def test_a_fit_that_was_killed_goes_on_where_it_was(tmp_path, monkeypatch, name):
    rows, make = CASES[name]
    path, settings = tmp_path / "fit.pt", {"init": "random", "n_init": 1}

    def fit(**arguments):
        generator = torch.Generator().manual_seed(1)
        model = make(rows, **settings)
        found = model.fit(tr.Batches(rows, 200), generator=generator, **arguments)
        return model.state_dict(), found, torch.rand(3, generator=generator)

    expected = fit()
    kills = killed_after_every_save(monkeypatch, lambda: fit(checkpoint=path))
    assert kills == expected[1].n_iter + 1  # the start, and every pass
    found = fit(checkpoint=path)  # of a fit that is finished
    for key, value in expected[0].items():
        assert torch.equal(value, found[0][key]), key
    assert found[1] == expected[1]
    assert torch.equal(found[2], expected[2])
    assert [file.name for file in tmp_path.iterdir()] == ["fit.pt"]


@pytest.mark.parametrize("make", [kernel_kmeans, ranking_kmeans])
def test_a_fit_that_is_broken_off_leaves_the_model_as_it_was(make):
    model = make(init="k-means++")
    model.fit(X[:200])
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(OSError, match="no more of them"):
        model.fit(Broken([X, TIED]))
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key


def test_more_passes_go_on_from_a_checkpoint(tmp_path):
    path, batches = tmp_path / "fit.pt", tr.Batches(X, 200)
    expected = kernel_kmeans().fit(batches)
    with pytest.warns(tr.ConvergenceWarning):
        kernel_kmeans(max_iter=2).fit(batches, checkpoint=path)
    assert kernel_kmeans().fit(batches, checkpoint=str(path)) == expected


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever runs this may write anywhere")
def test_a_checkpoint_needs_a_folder_that_can_be_written(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match=r"checkpoint=.*fit\.pt': the folder .* may not be written to"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=tmp_path / "fit.pt")


def test_a_checkpoint_is_no_device():
    with pytest.raises(ValueError, match=rf"checkpoint='{os.devnull}' is no regular file"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=os.devnull)


def test_a_checkpoint_needs_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*none is not there; make it"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=tmp_path / "none" / "fit.pt")


def test_checkpoints_of_other_fits_are_refused(tmp_path):
    path = tmp_path / "fit.pt"
    kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=path)
    kept = path.read_bytes()
    for rows, size in ((X[::-1].copy(), 200), (X, 90)):  # labels are of rows in one order; for words any will do
        with pytest.raises(ValueError, match="differs in order of rows in batches"):
            kernel_kmeans().fit(tr.Batches(rows, size), checkpoint=path)
        kernel_kmeans(init="k-means++").fit(tr.Batches(rows, size), checkpoint=tmp_path / "words.pt")
    with pytest.raises(ValueError, match=r"another fit, which differs in init .* rows '900 rows .* and not '899"):
        kernel_kmeans(X[1:]).fit(tr.Batches(X[1:], 200), checkpoint=path)
    other = labels_of(X)
    other[0] = 3 - other[0]
    with pytest.raises(ValueError, match="differs in init "):
        kernel_kmeans(init=other).fit(tr.Batches(X, 200), checkpoint=path)
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file in it"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="differs in variant 'b' and not 'a'"):
        kernel_kmeans(variant="a").fit(tr.Batches(X, 200), checkpoint=path)
    with pytest.raises(ValueError, match="differs in"):
        ranking_kmeans().fit(tr.Batches(X, 200), checkpoint=path)
    generator = torch.Generator().manual_seed(5)
    with pytest.raises(ValueError, match="differs in seed None and not 5; remove the file"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=path, generator=generator)
    with pytest.raises(ValueError, match=r"max_iter=1 is less than the \d+ iterations after which .*fit\.pt was saved"):
        kernel_kmeans(max_iter=1).fit(tr.Batches(X, 200), checkpoint=path)
    assert path.read_bytes() == kept
    with pytest.raises(TypeError, match="checkpoint is int; expected the name of a file"):
        kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=3)


def test_a_checkpoint_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "fit.pt"
    kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=path)
    kept = path.read_bytes()
    flipped = [bytearray(kept) for _ in range(40)]
    for place, content in zip(np.linspace(0, len(kept) - 1, 40).astype(int), flipped, strict=True):
        content[place] ^= 4
    for content in (kept[:-100], kept + b"0", b"", b"mine", *flipped):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"fit.pt is no checkpoint of a fit, or was changed .* remove it, or give"):
            kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=path)


def test_a_killed_fit_leaves_nothing_beside_its_checkpoint(tmp_path):
    (tmp_path / ".fit.pt.4711").write_bytes(b"half")
    link = tmp_path / "link.pt"
    link.symlink_to(tmp_path / "fit.pt")
    kernel_kmeans().fit(tr.Batches(X, 200), checkpoint=link)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.pt", "link.pt"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_belongs_to_a_checkpoint(tmp_path, seed):
    """Of a generator, wherever it is by then."""
    path, batches = tmp_path / "fit.pt", tr.Batches(X, 200)
    generator = torch.Generator().manual_seed(seed)
    expected = kernel_kmeans(init="k-means++").fit(batches, checkpoint=path, generator=generator)
    generator = torch.Generator().manual_seed(seed)
    torch.rand(3, generator=generator)
    assert kernel_kmeans(init="k-means++").fit(batches, checkpoint=path, generator=generator) == expected
    with pytest.raises(ValueError, match=rf"differs in seed {seed} and not 7"):
        kernel_kmeans(init="k-means++").fit(batches, checkpoint=path, generator=generator.manual_seed(7))


def all_in_group(group, inputs):
    """What one process of a group finds, and the errors it sees."""
    found = {}
    for name in ("kernel", "ranking, partial"):
        rows, make = CASES[name]
        for init in ("k-means++", labels_of(rows)):
            model = make(rows, init=init)
            fit = model.fit(tr.Batches(rows, 150), group=group)
            key = f"{name}, {init if isinstance(init, str) else 'labels'}"
            found[key] = fit, {key: value.numpy() for key, value in model.state_dict().items()}
    rank = 0 if group is None else torch.distributed.get_rank(group)
    for name, rows in inputs.items():
        found[name] = error_of(rows[rank % len(rows)], group)
    return found


def error_of(rows, group):
    """What a fit raises."""
    try:
        tr.KernelKMeans(2).fit(tr.Batches(rows, 100), group=group)
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_it_does_not_depend_on_processes(tmp_path):
    with_nan = X.copy()
    with_nan[150, 2] = np.nan
    inputs = {"other rows": [X, X[:-1]], "an error": [X, with_nan], "too few": [X[:90]]}
    expected = all_in_group(None, {})
    for world in (2, 3):
        processes = run(world, all_in_group, tmp_path / str(world), inputs)
        for found in processes:
            for name, (fit, state) in expected.items():
                if name.endswith("labels"):  # elsewhere each process draws a start, and that of the first is taken
                    np.testing.assert_allclose(found[name][0].objective, fit.objective, rtol=1e-13)
                for key in state:
                    other = state if name.endswith("labels") else processes[0][name][1]
                    np.testing.assert_array_equal(found[name][1][key], other[key])  # whole numbers were added up
                assert found[name][0] == processes[0][name][0]
                assert found[name][0].converged
            assert "differs from process 0 in rows" in found["other rows"]
            assert "batch 1: X has NaN" in found["an error"]
            assert "there is no batch for this process; pass smaller batches" in found["too few"]
        assert processes[1]["an error"].startswith("ValueError")
        assert processes[0]["an error"].startswith(f"RuntimeError: process 1 of {world} of the group raised ValueError")


def test_errors_name_the_batch():
    bad = X.copy()
    bad[205, 3] = np.nan
    with pytest.raises(ValueError, match=r"batch 2: X has NaN \(an unranked item\) at row 5, item 3"):
        kernel_kmeans().fit(tr.Batches(bad, 100))
    with pytest.raises(ValueError, match="batch 1: weights has -1 for row 2"):
        kernel_kmeans().fit(tr.Batches((X[:6], [1, 1, 1, 1, 1, -1]), 3))
    with pytest.raises(ValueError, match="batch 1: it has 5 items; the first batch has 7"):
        kernel_kmeans().fit(tr.Batches([X, X[:, :5]]))
    with pytest.raises(TypeError, match="batch 0: X has dtype"):
        kernel_kmeans().fit(tr.Batches([np.array([["a", "b"]])]))
    frames = [pd.DataFrame(X, columns=list("abcdefg")), pd.DataFrame(X, columns=list("abcdegf"))]
    with pytest.raises(ValueError, match=r"batch 1: .*the same names in another order"):
        kernel_kmeans().fit(tr.Batches(frames))


def test_what_a_fit_of_batches_cannot_do_is_refused():
    batches = tr.Batches(X, 100)
    with pytest.raises(ValueError, match="weights of rows in batches come with them"):
        kernel_kmeans().fit(batches, WEIGHTS)
    with pytest.raises(ValueError, match="checkpoint is for rows that come in batches"):
        kernel_kmeans().fit(X, checkpoint="fit.pt")
    for kernel in (tr.MallowsKernel(lam=0.1), tr.KendallKernel(missing="topk"), "precomputed"):
        with pytest.raises(ValueError, match=r"batches are for kernel=KendallKernel\(\) of complete rankings"):
            tr.KernelKMeans(2, kernel=kernel).fit(batches)
    with pytest.raises(ValueError, match="init has 2 sets of labels; fits to batches take one"):
        kernel_kmeans(init=np.zeros((2, len(X)), np.int64)).fit(batches)
    with pytest.raises(ValueError, match=r"expected integer labels \(900,\)"):
        kernel_kmeans(init=np.zeros(5, np.int64)).fit(batches)
    with pytest.raises(ValueError, match="the batches have no rows"):
        tr.KernelKMeans(2).fit(tr.Batches(X[:0]))
    with pytest.raises(ValueError, match="weights add up to 0"):
        tr.KernelKMeans(2).fit(tr.Batches((X, 0 * WEIGHTS)))
    with pytest.raises(TypeError, match="group is int; expected a process group"):
        tr.KernelKMeans(2).fit(batches, group=3)


def test_rows_of_weight_zero_count_nothing():
    rows = np.concatenate([X[:100], np.full((100, N), 1.0), X[100:]])
    weights = np.r_[np.ones(100), np.zeros(100), np.ones(800)]
    labels = np.r_[labels_of(X)[:100], np.zeros(100, np.int64), labels_of(X)[100:]]
    found = kernel_kmeans(init=labels).fit(tr.Batches((rows, weights), 100))  # a batch of nothing else
    expected = kernel_kmeans().fit(tr.Batches(X, 100))
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)


def test_names_of_items_are_remembered():
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for model in (kernel_kmeans(), ranking_kmeans()):
        model.fit(tr.Batches(frame, 200))
        model.predict(frame)
        with pytest.raises(ValueError, match="the same names in another order"):
            model.predict(frame[list("abcdegf")])
