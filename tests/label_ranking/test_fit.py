import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from tests.label_ranking.rows import seeded
from tests.oracles import label_ranking as oracle
from torchrank import ConvergenceWarning
from torchrank.cpu.mm_pl_job import SweepMixture, SweepRows, SweepSums, Updates
from torchrank.datasets import checker, circles
from torchrank.datasets.label_ranking import CENTRAL_ORDERS
from torchrank.distributions.choices import log_prob
from torchrank.label_ranking.em import BOUNDS, em_step
from torchrank.label_ranking.gates import PrototypeMixture
from torchrank.label_ranking.mm_pl import MMPL
from torchrank.label_ranking.rankings import label_choices, untied_label_ranks
from torchrank.label_ranking.settings import EMSettings
from torchrank.label_ranking.start import mm_logits, spacing
from torchrank.metrics import label_ranking_loss

NAN = math.nan
QUICK = EMSettings(n_updates=2000)


def random_rows(seed=0, N=40, d=2, L=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    Y = rng.permuted(np.broadcast_to(np.arange(1.0, L + 1), (N, L)), axis=1)
    Y[rng.random(Y.shape) < missing] = NAN
    return torch.from_numpy(X), torch.from_numpy(Y)


def random_mixture(seed=0, d=2, L=4, K=3, M=6):
    g = torch.Generator().manual_seed(seed)
    draw = {"generator": g, "dtype": torch.float64}
    membership = torch.arange(M) % K
    sigma = torch.tensor(0.7, dtype=torch.float64)
    return PrototypeMixture(torch.randn(M, d, **draw), membership, torch.randn(K, L, **draw), sigma)


def fitted(X, Y, settings=QUICK, K=3, P=4, **options):
    model = MMPL(X.shape[1], Y.shape[1], K, P, dtype=torch.float64)
    return model, model.fit(X, Y, settings, generator=seeded(0), **options)


@pytest.mark.parametrize("missing", ["interleaving", "topk"])
def test_one_row_moves_along_its_gradient(missing):
    X, Y = random_rows(1, N=5, missing=0.3)
    choices, mixture, rate = label_choices(untied_label_ranks(Y), missing), random_mixture(), 1e-3
    for n in range(len(X)):
        row = tuple(table[n : n + 1] for table in choices)
        moved, _, log_likelihood = em_step(X[n : n + 1], type(choices)(*row), mixture, rate, rate)
        parameters = [p.clone().requires_grad_() for p in (mixture.prototypes, mixture.logits)]
        model = MMPL(2, 4, 3, 2, sigma=0.7, dtype=torch.float64)
        model.membership.copy_(mixture.membership)
        named = dict(zip(("prototypes", "logits"), parameters, strict=True))
        value = torch.func.functional_call(
            _Likelihood(model), {f"model.{k}": v for k, v in named.items()}, (X, Y, n, missing)
        )
        value.backward()
        assert log_likelihood.item() == pytest.approx(value.item(), abs=1e-12)
        step = (moved.prototypes - mixture.prototypes) / rate / mixture.sigma**2
        torch.testing.assert_close(step, parameters[0].grad, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close((moved.logits - mixture.logits) / rate, parameters[1].grad, rtol=1e-9, atol=1e-10)


class _Likelihood(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, X, Y, n, missing):
        return self.model.log_prob(X[n : n + 1], Y[n : n + 1], missing=missing).sum()


def test_compiled_sweep_is_the_same_as_batches_of_one():
    from torchrank.cpu.mm_pl import sweep

    X, Y = random_rows(2, N=30, L=5, missing=0.3)
    words = ["topk", "interleaving", "interleaving"] * 10
    choices, mixture = label_choices(untied_label_ranks(Y), words), random_mixture(L=5)
    prototypes, logits = mixture.prototypes.T.contiguous(), mixture.logits.clone()
    rows, sigma = np.random.default_rng(0).permutation(30), np.linspace(1.0, 0.1, 30)
    rate, score_rate = np.linspace(0.5, 0.1, 30), np.linspace(0.3, 0.1, 30)
    wins, rates = np.zeros((3, 5)), np.zeros((3, 5))
    total = sweep(
        SweepRows(X.numpy(), choices.order.numpy(), choices.made.sum(-1).numpy(), choices.offered.sum(-1).numpy()),
        Updates(rows, sigma, rate, score_rate),
        BOUNDS,
        SweepMixture(prototypes.numpy(), mixture.membership.numpy(), logits.numpy()),
        SweepSums(wins, rates),
    )
    expected, sums = 0.0, torch.zeros(2, 3, 5, dtype=torch.float64)
    for u, n in enumerate(rows):
        mixture = mixture._replace(sigma=torch.tensor(sigma[u]))
        row = type(choices)(*(table[n : n + 1] for table in choices))
        mixture, statistics, value = em_step(X[n : n + 1], row, mixture, rate[u], score_rate[u])
        expected += value.item()
        sums += torch.stack([statistics.wins, statistics.rates])
    assert total == pytest.approx(expected, abs=1e-9)
    torch.testing.assert_close(prototypes.T, mixture.prototypes, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(logits, mixture.logits, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose([wins, rates], sums, rtol=1e-9, atol=1e-10)


def test_posteriors_of_very_unlikely_rankings_do_not_underflow():
    """400 labels: probabilities down to 1e-800 in one cluster, less in the other."""
    L, N = 400, 3
    X, Y = random_rows(3, N=N, L=L)
    mixture = random_mixture(L=L, K=2, M=2)
    mixture = mixture._replace(logits=4 * mixture.logits.clamp(-1, 1))
    choices = label_choices(untied_label_ranks(Y), "interleaving")
    from torchrank.cpu.mm_pl import sweep

    prototypes, logits = mixture.prototypes.T.contiguous(), mixture.logits.clone()
    zeros = np.zeros(N)
    total = sweep(
        SweepRows(X.numpy(), choices.order.numpy(), np.full(N, L - 1), np.full(N, L)),
        Updates(np.arange(N), np.ones(N), zeros, zeros),
        BOUNDS,
        SweepMixture(prototypes.numpy(), mixture.membership.numpy(), logits.numpy()),
        SweepSums(np.zeros((2, L)), np.zeros((2, L))),
    )
    model = MMPL(2, L, 2, 1, dtype=torch.float64)
    with torch.no_grad():
        model.prototypes.copy_(mixture.prototypes)
        model.logits.copy_(mixture.logits)
    assert total == pytest.approx(model.log_prob(X, Y).sum().item(), rel=1e-10)


def test_mm_steps_end_where_the_gradient_vanishes():
    _, Y = random_rows(4, N=80, missing=0.3)
    choices, cluster = label_choices(untied_label_ranks(Y), "interleaving"), torch.arange(80) % 2
    logits = mm_logits(choices, cluster, 3, 1e-12, n_steps=500).requires_grad_()
    log_prob(choices, logits[:, None, :])[cluster, torch.arange(80)].sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().max() < 1e-8
    assert torch.equal(logits[2], torch.zeros(4, dtype=torch.float64))  # a cluster without rows


@pytest.mark.parametrize("scores", ["gradient", "mm"])
@pytest.mark.parametrize("batch_size", [1, 32, 0])
def test_forms_of_training_find_a_structure(scores, batch_size):
    data = circles(1500, seed=0)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    settings = EMSettings(scores=scores, batch_size=batch_size, n_updates=60_000 if batch_size else 1500 * 60)
    model, evidence = fitted(X, Y, settings, K=3, P=15)
    assert {tuple(order) for order in model.central_orders.tolist()} == set(CENTRAL_ORDERS)
    assert label_ranking_loss(Y, model.predict(X)) < 0.2
    assert evidence.losses[0] == pytest.approx(oracle.loss(data.Y, model.predict(X).numpy()), abs=1e-12)
    assert evidence.objective[-1] > evidence.objective[0]
    assert (evidence.converged, evidence.reason) == (True, "schedule")


@pytest.mark.parametrize("start", ["cells", "tree"])
def test_starts_divide_all_prototypes(start):
    data = circles(900, seed=1)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    model, _ = fitted(X, Y, EMSettings(init=start, n_updates=0, recenter=False), K=3, P=20)
    assert model.prototypes.shape == (60, 2)
    assert model.prototypes.detach().abs().max() <= 3
    assert set(model.membership.tolist()) == {0, 1, 2}
    assert label_ranking_loss(Y, model.predict(X)) < 0.3  # one ranking for everyone has .39, the true ones .15


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.6])
@pytest.mark.parametrize(("make", "layout"), [(circles, {}), (checker, {}), (checker, {"layout": "corners"})])
def test_central_rankings_are_recovered(make, layout, missing):
    for seed in range(2):  # ten seeds: python -m benchmarks.papers.label_ranking_synthetic
        data = make(missing=missing, seed=seed, **layout)
        model = MMPL(2, 6, 3, 30, dtype=torch.float64)
        model.fit(
            torch.from_numpy(data.X), torch.from_numpy(data.Y), EMSettings(n_updates=50_000), generator=seeded(seed)
        )
        assert {tuple(order) for order in model.central_orders.tolist()} == set(CENTRAL_ORDERS)


def test_a_fit_is_repeatable_and_changes_no_input():
    X, Y = random_rows(5, missing=0.2)
    before = X.clone(), Y.clone()
    one, two = (fitted(X, Y)[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.equal(X, before[0])
    assert torch.equal(Y.nan_to_num(-1), before[1].nan_to_num(-1))


def test_the_best_of_several_starts_is_kept():
    X, Y = random_rows(6, N=60)
    held_out = random_rows(7, N=60)
    model, evidence = fitted(X, Y, replace(QUICK, n_init=4), validation=held_out)
    assert len(evidence.losses) == 4
    assert label_ranking_loss(held_out[1], model.predict(held_out[0])) == pytest.approx(min(evidence.losses), abs=1e-12)


@pytest.mark.parametrize("stop", ["loss", "likelihood"])
def test_early_stopping(stop):
    X, Y = random_rows(8, N=60)
    _, evidence = fitted(X, Y, EMSettings(stop=stop, tol=1e-2, n_updates=60_000))
    assert evidence.reason == "tolerance"
    assert evidence.n_updates < 60_000
    with pytest.warns(ConvergenceWarning, match="did not converge in 60 updates: the last pass changed") as caught:
        _, evidence = fitted(X, Y, EMSettings(stop=stop, n_updates=60))  # one pass has none before to be compared with
    assert not evidence.converged
    assert caught[0].filename == __file__  # where fit was called, not within


def test_settings_of_the_paper_run():
    data = circles(700, seed=0)
    model, evidence = fitted(torch.from_numpy(data.X), torch.from_numpy(data.Y), EMSettings.paper(), K=3, P=30)
    assert evidence.reason == "tolerance"
    assert all(bool(p.isfinite().all()) for p in model.parameters())
    assert torch.equal(model.membership, torch.arange(3).repeat_interleave(30))
    # Their stopping rule ends while the gate is so wide that it hardly tells prototypes apart: no claim on the loss.
    assert float(model.sigma.detach()) > spacing(model.prototypes.detach())


@pytest.mark.parametrize(("dtype", "rel"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_spacing_is_the_median_distance_to_the_nearest_other_place(dtype, rel):
    points = np.random.default_rng(2).normal(size=(60, 4)) + 5
    points = torch.tensor(np.concatenate([points, points[:10]]), dtype=dtype)  # ten twice in the same place
    apart = [min(d for d in (p - points).double().norm(dim=1).tolist() if d > 0) for p in points]
    assert spacing(points) == pytest.approx(sorted(apart)[34], rel=rel)


def test_rows_that_teach_nothing_take_no_updates():
    X, Y = random_rows(9, N=100)
    Y[::2] = torch.nan
    Y[1, 1:] = torch.nan  # a single label
    _, evidence = fitted(X, Y, EMSettings(n_updates=980))
    assert len(evidence.objective) * 49 == evidence.n_updates == 980
    assert max(evidence.objective) < 0


def test_favorites_alone_teach_as_top_lists():
    data = circles(1500, seed=0)
    Y = torch.from_numpy(np.where(data.Y.max(axis=1, keepdims=True) == data.Y, 1.0, np.nan))
    model = MMPL(2, 6, 3, 20, dtype=torch.float64)
    model.fit(torch.from_numpy(data.X), Y, EMSettings(n_updates=50_000), missing="topk", generator=seeded(0))
    assert {order[0] for order in model.central_orders.tolist()} == {0, 2, 5}  # of 123456, 316254 and 654321
    with pytest.raises(ValueError, match="no row that ranks two labels"):
        model.fit(torch.from_numpy(data.X), Y)


def test_no_updates_leave_the_cells():
    X, Y = random_rows(9, N=100)
    model, evidence = fitted(X, Y, EMSettings(n_updates=0))
    assert evidence.objective == ()
    assert evidence.converged
    assert float(model.sigma.detach()) == pytest.approx(0.15 * spacing(model.prototypes.detach()), rel=1e-12)


@example_settings(max_examples=20)
@given(seed=st.integers(0, 1000), missing=st.sampled_from([0.0, 0.5, 0.9]), N=st.integers(1, 30), K=st.integers(1, 12))
def test_any_rows_can_be_fitted(seed, missing, N, K):
    X, Y = random_rows(seed, N=N, missing=missing)
    Y[0, :2] = torch.tensor([1.0, 2.0])
    Y[0, 2:] = NAN
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has .* distinct rows")
        model, evidence = fitted(X, Y, EMSettings(n_updates=100), K=K, P=2)
    assert all(bool(p.isfinite().all()) for p in model.parameters())
    assert evidence.losses[0] == pytest.approx(oracle.loss(Y.numpy(), model.predict(X).numpy()), abs=1e-12)
    assert set(model.membership.tolist()) <= set(range(K))


def test_more_clusters_than_distinct_rows():
    X = torch.tensor([[0.0], [1.0]], dtype=torch.float64).repeat(6, 1)
    Y = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], dtype=torch.float64).repeat(6, 1)
    with pytest.warns(UserWarning, match="X has 2 distinct rows for 6 prototypes") as caught:
        model, evidence = fitted(X, Y, K=3, P=2)
    assert caught[0].filename == __file__
    assert evidence.losses == (0.0,)
    assert len(set(model.predict_cluster(X).tolist())) == 2
    for start in ("cells", "random"):
        with pytest.warns(UserWarning, match="distinct rows"):
            fitted(X, Y, EMSettings(init=start, n_updates=100), K=3, P=2)


def test_rows_without_labels_are_kept_and_teach_nothing():
    X, Y = random_rows(10, N=40)
    Y[3], Y[5, 1:] = NAN, NAN
    model, evidence = fitted(X, Y)
    assert model.log_prob(X, Y)[[3, 5]].abs().max() < 1e-12
    assert evidence.losses[0] == pytest.approx(oracle.loss(Y.numpy(), model.predict(X).numpy()), abs=1e-12)


def test_a_label_that_nobody_ranked_stays_in_the_middle():
    X, Y = random_rows(11, N=60)
    Y[:, 2] = NAN
    model, _ = fitted(X, Y, K=1, P=1)
    assert bool(model.logits.isfinite().all())
    assert model.central_orders.tolist()[0].index(2) in (1, 2)


def test_constant_and_unscaled_features():
    X, Y = random_rows(12, N=40)
    X[:, 1] = 5.0
    fitted(X, Y)
    X[:, 1] = 1e4 * X[:, 0] ** 2
    with pytest.warns(UserWarning, match="standard deviations of the features run from .*: scale the features first"):
        fitted(X, Y)
    with pytest.warns(UserWarning, match=r"the features of any two rows differ by .*e-300 at most"):
        fitted(1e-300 * X[:, :1], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(1 + 1e-14 * X[:, :1], Y)  # constant up to rounding: nothing that scaling could help


def test_few_prototypes_from_a_tree_find_rankings_of_small_regions():
    found = {"cells": 0, "tree": 0}
    for start in found:
        for seed in range(4):
            data = checker(1000, layout="corners", seed=seed)
            X, Y = torch.as_tensor(data.X), torch.as_tensor(data.Y)
            model = MMPL(2, 6, 3, 5, dtype=torch.float64)
            model.fit(X, Y, EMSettings(init=start), generator=seeded(seed))
            found[start] += {tuple(order) for order in model.central_orders.tolist()} == set(CENTRAL_ORDERS)
    assert found["tree"] > found["cells"] == 0


def test_features_far_from_zero():
    data = circles(400, seed=2)
    X, Y = torch.as_tensor(data.X), torch.as_tensor(data.Y)
    near, far = (fitted(features, Y, replace(QUICK, n_updates=0), P=10)[0] for features in (X, X + 2.0**20))
    assert torch.equal(near.predict_cluster(X), far.predict_cluster(X + 2.0**20))
    torch.testing.assert_close(far.prototypes - 2.0**20, near.prototypes, rtol=0, atol=1e-8)


@pytest.mark.parametrize("bad", [NAN, math.inf])
def test_features_that_are_not_finite(bad):
    X, Y = random_rows()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=f"X has {bad} at row 3, feature 1"):
        fitted(X, Y)


def test_other_bad_input():
    X, Y = random_rows()
    with pytest.raises(ValueError, match="Y has no row that ranks two labels"):
        fitted(X, torch.full_like(Y, NAN))
    with pytest.raises(ValueError, match=r"X has shape \(40, 2\) and Y \(39, 4\)"):
        fitted(X, Y[:-1])
    with pytest.raises(TypeError, match=r"X has dtype torch.int64"):
        fitted(X.long(), Y)
    with pytest.raises(TypeError, match="Y is ndarray"):
        fitted(X, Y.numpy())
    with pytest.raises(ValueError, match=r"validation X has shape \(40, 2\) and validation Y \(39, 4\)"):
        fitted(X, Y, validation=(X, Y[:-1]))
    with pytest.raises(ValueError, match="validation X has 1 columns and X 2"):
        fitted(X, Y, validation=(X[:, :1], Y))
    with pytest.raises(ValueError, match=r"X has features up to 1e\+200 at row 0"):
        fitted(torch.full_like(X, 1e200), Y)
    with pytest.raises(TypeError, match="settings is dict"):
        fitted(X, Y, {"n_updates": 5})
    Y[7, 0] = Y[7, 1]
    with pytest.raises(ValueError, match="Y ties items 0 and 1 in row 7"):
        fitted(X, Y)
    for change, message in {
        "init": "init='x' is unknown",
        "schedule": "schedule='x' is unknown",
        "stop": "stop='x' is unknown",
    }.items():
        with pytest.raises(ValueError, match=message):
            EMSettings(**{change: "x"})
    with pytest.raises(ValueError, match="rate=0"):
        EMSettings(rate=0)
    with pytest.raises(ValueError, match="sigma=-1"):
        EMSettings(sigma=-1)


def test_settings_in_the_place_of_rankings_say_so():
    model = MMPL(n_features=2, n_labels=3, n_clusters=2, n_prototypes=2)
    X, Y = torch.rand(4, 2), torch.rand(4, 3)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=2)
    for rows in (X, loader):
        with pytest.raises(TypeError, match=r"Y is EMSettings.*settings=EMSettings"):
            model.fit(rows, QUICK)  # type: ignore[arg-type]
