"""Steps of MM-PL against what they are meant to do: bounded, and prototypes given to the clusters they fit."""

import itertools
import warnings

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import seeded
from tests.oracles import label_ranking as oracle
from torchrank import MMPL
from torchrank.cpu.mm_pl_job import Bounds, SweepMixture, SweepRows, SweepSums
from torchrank.label_ranking import fit as mm_pl_fit
from torchrank.label_ranking.em import Plan, Updates, em_step, run_pass
from torchrank.label_ranking.fit import training_rows
from torchrank.label_ranking.gates import PrototypeMixture
from torchrank.label_ranking.rankings import label_choices, untied_label_ranks
from torchrank.label_ranking.recenter import recenter
from torchrank.label_ranking.schedule import Schedule
from torchrank.label_ranking.settings import EMSettings

CORNERS = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
UP, DOWN = [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]


def four_cells(rankings, seed=0, rows=10):
    """Features around four corners, and the rankings of each."""
    noise = np.random.default_rng(seed).standard_normal((4, rows, 2))
    X = torch.from_numpy((CORNERS[:, None] + noise).reshape(-1, 2))
    return X, torch.tensor(rankings, dtype=torch.float64).repeat_interleave(rows, 0)


def recentered(X, Y, membership, logits, prototypes=CORNERS):
    rows = training_rows(X, Y, len(prototypes), "interleaving")
    mixture = PrototypeMixture(
        torch.tensor(prototypes), torch.tensor(membership), torch.tensor(logits), torch.ones((), dtype=torch.float64)
    )
    return recenter(rows, mixture, 0.1)


@pytest.mark.parametrize("wrong", range(4))
def test_a_prototype_moves_to_the_cluster_that_its_rows_like_better(wrong):
    X, Y = four_cells([UP, UP, DOWN, DOWN])
    membership = [0, 0, 1, 1]
    membership[wrong] = 1 - membership[wrong]
    after = recentered(X, Y, membership, [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    assert after.membership.tolist() == [0, 0, 1, 1]
    assert after.logits.argsort(-1, descending=True).tolist() == [[0, 1, 2], [2, 1, 0]]
    assert torch.equal(after.prototypes, torch.tensor(CORNERS))


@pytest.mark.parametrize("seed", range(8))
def test_recentering_ends_where_no_prototype_would_move_and_never_does_harm(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((60, 2)), rng.permuted(np.tile(np.arange(1.0, 5), (60, 1)), axis=1)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    prototypes, membership = X[:7], rng.integers(0, 3, 7)
    logits = rng.standard_normal((3, 4))
    cell = ((X[:, None] - prototypes) ** 2).sum(-1).argmin(1)
    after = recentered(torch.from_numpy(X), torch.from_numpy(Y), membership, logits, prototypes)
    found, centers = after.membership.numpy(), after.logits.numpy()
    # The votes of the rows that a cluster wins give its central ranking.
    votes = np.array([oracle_votes(y) for y in Y])
    for k in set(found[cell].tolist()):
        order = sorted(range(4), key=lambda label, k=k: (-round(votes[found[cell] == k].sum(0)[label], 9), label))
        assert np.argsort(-centers[k], kind="stable").tolist() == order
    # Against the division that it began with, which has central rankings by votes too.
    first = np.array([votes[membership[cell] == k].sum(0) if (membership[cell] == k).any() else z for k, z in
                      enumerate(logits)])  # fmt: skip
    assert mean_share(Y, centers[found[cell]]) <= mean_share(Y, untied(first)[membership[cell]]) + 1e-12


def oracle_votes(y):
    from tests.oracles.aggregation import borda_votes

    return borda_votes(y, "interleaving")


def untied(scores):
    """No ties: those go to the lower label."""
    return scores - 1e-9 * np.arange(scores.shape[1])


def mean_share(Y, predicted):
    return np.mean([oracle.discordant_share(y, p) or 0.0 for y, p in zip(Y, predicted, strict=True)])


def test_prototypes_without_rows_stay_and_clusters_without_rows_keep_their_ranking():
    X, Y = four_cells([UP, UP, DOWN, DOWN])
    prototypes = np.concatenate([CORNERS, [[500.0, 500.0]]])
    after = recentered(X, Y, [0, 0, 1, 1, 2], [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]], prototypes)
    assert after.membership.tolist() == [0, 0, 1, 1, 2]
    assert after.logits.argsort(-1, descending=True).tolist() == [[0, 1, 2], [2, 1, 0], [1, 2, 0]]


def test_steps_are_bounded_on_both_sides():
    """One row at 0 whose ranking speaks for the second of two clusters: bounds of 1 double one distance and end one."""
    from torchrank.cpu.mm_pl import sweep

    for bound, expected in ((1.0, [2.0, 0.0]), (0.5, [1.5, 0.5])):
        prototypes, one = np.array([[1.0, 1.0]]), np.ones(1)
        logits = np.array([[-4.0, 4.0], [4.0, -4.0]])
        sweep(
            SweepRows(np.zeros((1, 1)), np.array([[0, 1]]), np.array([1]), np.array([2])),
            Updates(np.array([0]), one, 1e6 * one, 0 * one),
            Bounds(bound, 6.0),
            SweepMixture(prototypes, np.array([0, 1]), logits),
            SweepSums(np.zeros((2, 2)), np.zeros((2, 2))),
        )
        np.testing.assert_allclose(prototypes, [expected], rtol=1e-12)


def test_gradient_steps_of_a_narrow_gate_stay_near_the_rows():
    X, Y = four_cells([UP, DOWN, DOWN, UP], rows=30)
    model = MMPL(2, 3, 2, 4, dtype=torch.float64)
    model.fit(
        X, Y, EMSettings(step="gradient", batch_size=1, n_updates=600, sigma=0.05, sigma_end=0.01), generator=seeded(0)
    )
    assert bool(model.prototypes.isfinite().all())
    assert float(model.prototypes.detach().abs().max()) < 100


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("schedule", ["geometric", "paper"])
def test_widths_and_steps_of_every_update(schedule, size):
    """Geometric from one end to the other over all updates, or falling as T / (T + rows seen) with T = 8 N."""
    X, Y = four_cells([UP, DOWN, DOWN, UP], rows=3)
    Y[[2, 5]] = torch.nan  # 10 of 12 rows teach
    rows, n_passes, scale = training_rows(X, Y, 4, "interleaving"), 4, 2.5
    for step, sigma in itertools.product(("normalized", "gradient"), (0.7, None)):
        settings = EMSettings(
            schedule=schedule, step=step, sigma=sigma, sigma_end=0.2, rate=0.4, rate_end=0.1, score_rate=0.6
        )
        for number in range(n_passes):
            variance = ((X - X.mean(0)) ** 2).sum(1).mean().item()
            plan = Schedule(settings, scale, 10 * n_passes, 10, variance)
            _, widths, rates, score_rates = plan.updates(rows.taught, 10 * number + np.arange(0, 10, size))
            seen = [10 * number + first for first in range(0, 10, size)]
            if schedule == "paper":
                expected = [(sigma or variance) * 80 / (80 + n) for n in seen]
                steps = [0.4 * 80 / (80 + n) for n in seen]
            else:
                first = sigma or 1.5
                expected = [scale * first * (0.2 / first) ** (n / 40) for n in seen]
                steps = [0.4 * (0.1 / 0.4) ** (n / 40) for n in seen]
            np.testing.assert_allclose(widths, expected, rtol=1e-12)
            np.testing.assert_allclose(score_rates, [0.6 * value for value in steps], rtol=1e-12)
            by_width = [s / w**2 for s, w in zip(steps, expected, strict=True)]
            np.testing.assert_allclose(rates, by_width if step == "gradient" else steps, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 3, 20])
def test_many_alike_rows_go_as_far_as_one_with_a_step_of_1(rows):
    """The slope of a ranking under equal scores of 3 labels is 2/3, 1 - 1/3 - 1/2, -1/3 - 1/2."""
    choices = label_choices(untied_label_ranks(torch.tensor([UP] * rows, dtype=torch.float64)), "interleaving")
    zero = torch.zeros(1, dtype=torch.int64)
    mixture = PrototypeMixture(zero[:, None].double(), zero, torch.zeros(1, 3).double(), torch.ones(()).double())
    after, _, _ = em_step(torch.zeros(rows, 1, dtype=torch.float64), choices, mixture, 0.0, 0.4)
    slope = torch.tensor([[2 / 3, 1 / 6, -5 / 6]], dtype=torch.float64)
    torch.testing.assert_close(after.logits, min(0.4 * rows, 1.0) * slope)


@pytest.mark.parametrize("batch", [2, 7, 24])
def test_batches_of_a_pass_share_one_mm_step(batch):
    """With prototypes that stay, statistics of batches add up to those of all rows at once."""
    X, Y = four_cells([UP, DOWN, [2.0, 3.0, 1.0], UP], rows=6)
    rows = training_rows(X, Y, 4, "interleaving")
    start = PrototypeMixture(
        torch.tensor(CORNERS), torch.tensor([0, 1, 1, 0]), torch.zeros(2, 3).double(), torch.ones(()).double()
    )

    def after(size):
        updates = -(-24 // size)
        still = np.zeros(updates)
        plan = Plan(Updates(np.arange(24), np.full(updates, 5.0), still, still), size, True, 0.1)
        return run_pass(rows, start, plan)[0]

    torch.testing.assert_close(after(batch).logits, after(1).logits, rtol=1e-9, atol=1e-12)
    assert float(after(1).logits.abs().max()) > 0.1


def test_passes_end_when_the_objective_that_was_asked_for_no_longer_improves(monkeypatch):
    X, Y = four_cells([UP, DOWN, DOWN, UP], rows=10)
    settings = EMSettings(init="random", stop="likelihood", tol=2e-2, n_updates=40 * 50, recenter=False)
    gains = np.diff(MMPL(2, 3, 2, 4, dtype=torch.float64).fit(X, Y, settings, generator=seeded(0)).objective)
    assert len(gains) > 3
    assert (gains[:-1] >= 2e-2).all()
    assert gains[-1] < 2e-2
    losses = iter([0.9, 0.8, 0.5, 0.49, 0.1, 0.1])
    monkeypatch.setattr(mm_pl_fit, "nearest_loss", lambda *_: next(losses))
    settings = EMSettings(stop="loss", tol=2e-2, n_updates=40 * 200, recenter=False)
    evidence = MMPL(2, 3, 2, 4, dtype=torch.float64).fit(X, Y, settings, generator=seeded(0))
    assert (len(evidence.objective), evidence.reason) == (4, "tolerance")


def test_as_many_distinct_rows_as_prototypes_are_enough():
    X = torch.arange(4.0, dtype=torch.float64)[:, None]
    Y = torch.tensor([UP, UP, DOWN, DOWN], dtype=torch.float64)
    model, settings = MMPL(1, 3, 2, 2, dtype=torch.float64), EMSettings(n_updates=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y, settings, generator=seeded(0))
    with pytest.warns(UserWarning, match="X has 3 distinct rows for 4 prototypes"):
        model.fit(X.clamp(max=2), Y, settings, generator=seeded(0))
