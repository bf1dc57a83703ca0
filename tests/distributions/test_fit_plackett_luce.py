"""Plackett-Luce fits: the gradient at the end, the curvature, and rankings for which there is no maximum."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from tests.oracles.distributions import partial_log_likelihood
from tests.strategies import random_scores
from torchrank import ConvergenceWarning, PlackettLuce, SparseRankings, fit_plackett_luce, from_orders, rank
from torchrank.distributions.choice_lists import choice_lists
from torchrank.distributions.choices import choice_statistics, choices_of, mm_update
from torchrank.distributions.connectivity import connected_groups
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.missing import Meaning
from torchrank.rankings.sparse_forms import from_rankings

# 0 beats 1 three times, 1 beats 0 once, both beat 2 once.
ONE_WAY = from_orders([[0, 1]] * 3 + [[1, 0], [0, 2], [1, 2]])
# Pairs {0, 1} and {2, 3} are split, nobody compared across.
SPLIT = from_orders([[0, 1], [0, 1], [1, 0], [2, 3], [3, 2]])


def example(seed: int, missing: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return random_scores(rng, "total", 25, 5, missing=missing), rng.random(25) * 2


def objective_at(logits: np.ndarray, X: np.ndarray, weights: np.ndarray, kind: str, prior: float) -> float:
    return partial_log_likelihood(np.exp(logits).tolist(), X, weights.tolist(), kind, prior)


@pytest.mark.parametrize("method", ["newton", "cg", "mm"])
@pytest.mark.parametrize("kind", ["interleaving", "topk"])
@pytest.mark.parametrize("prior", [0.0, 0.7])
def test_ends_at_the_maximum(method: str, kind: str, prior: float) -> None:
    X, weights = example(0)
    fit = fit_plackett_luce(X, weights, missing=kind, prior=prior, method=method, tol=1e-11)
    assert fit.converged
    assert fit.logits.sum() == pytest.approx(0, abs=1e-12)
    assert fit.log_likelihood == pytest.approx(objective_at(fit.logits, X, weights, kind, 0.0), rel=1e-12)
    assert fit.objective[-1] == pytest.approx(objective_at(fit.logits, X, weights, kind, prior), rel=1e-12)
    assert len(fit.objective) == fit.n_iter + 1
    assert np.diff(fit.objective).min() > -1e-9
    h, eye = 1e-4, np.eye(5)

    def at(step: np.ndarray) -> float:
        return objective_at(fit.logits + step, X, weights, kind, prior)

    gradient = [(at(h * eye[i]) - at(-h * eye[i])) / (2 * h) for i in range(5)]
    assert np.abs(gradient).max() < 1e-6
    information = -np.array(
        [
            [(at(h * (a + b)) - at(h * (a - b)) - at(h * (b - a)) + at(-h * (a + b))) / (4 * h * h) for a in eye]
            for b in eye
        ]
    )
    np.testing.assert_allclose(fit.covariance, np.linalg.pinv(information, rcond=1e-5), atol=1e-5)
    np.testing.assert_allclose(fit.standard_errors**2, np.diag(fit.covariance), rtol=1e-12)
    assert np.abs(fit.covariance.sum(axis=0)).max() < 1e-10


def test_mm_step_of_the_gamma_prior() -> None:
    """v = (wins + alpha) / (rates + n alpha / sum v), choice by choice."""
    X, weights = example(2)
    v, alpha = np.random.default_rng(3).random(5), 0.4
    wins, rates = np.full(5, alpha), np.full(5, 5 * alpha / v.sum())
    for row, weight in zip(X, weights, strict=True):
        items = sorted(np.flatnonzero(~np.isnan(row)), key=lambda i: -row[i])
        for place in range(len(items) - 1):
            wins[items[place]] += weight
            rates[items[place:]] += weight / v[items[place:]].sum()
    ranks, _ = dense_ranks(torch.from_numpy(X), "allow", "X")
    choices, worths = choices_of(ranks, Meaning("interleaving")), torch.from_numpy(v)
    statistics = choice_statistics(choices, worths, torch.from_numpy(weights))
    updated = mm_update(statistics, worths, alpha)
    np.testing.assert_allclose(updated, (wins / rates) / (wins / rates).sum(), rtol=1e-12)


def test_statistics_add_up_and_take_components() -> None:
    X, weights = example(4)
    ranks, _ = dense_ranks(torch.from_numpy(X), "allow", "X")
    worths = torch.rand(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shares = torch.from_numpy(weights) * torch.tensor([[0.2], [0.3], [0.5]])
    whole = choice_statistics(choices_of(ranks, Meaning("topk")), worths, shares)
    parts = [
        choice_statistics(choices_of(ranks[s], Meaning("topk")), worths, shares[:, s]) for s in (slice(9), slice(9, 25))
    ]
    summed = parts[0] + parts[1]
    for name in ("wins", "rates", "log_likelihood"):
        torch.testing.assert_close(getattr(summed, name), getattr(whole, name), rtol=1e-13, atol=1e-13)
    for k in range(3):
        log_prob = PlackettLuce(worths[k].log(), missing="topk").log_prob(torch.from_numpy(X))
        assert float(whole.log_likelihood[k]) == pytest.approx(float(shares[k] @ log_prob), rel=1e-12)
    logits = worths.log().requires_grad_()
    (PlackettLuce(logits[:, None], missing="topk").log_prob(torch.from_numpy(X)) * shares).sum().backward()
    torch.testing.assert_close(logits.grad, whole.wins - worths * whole.rates, rtol=1e-10, atol=1e-12)


def test_components_without_weight_or_worth() -> None:
    """A worth of 0 whose rankings have no weight is no reason for NaN."""
    ranks = torch.tensor([[1, 0, -1], [-1, 1, 0]], dtype=torch.int32)
    worths = torch.tensor([0.0, 0.5, 0.5], dtype=torch.float64)
    statistics = choice_statistics(
        choices_of(ranks, Meaning("interleaving")), worths, torch.tensor([0.0, 1.0]).double()
    )
    assert float(statistics.log_likelihood) == pytest.approx(np.log(0.5))
    assert mm_update(statistics, worths).tolist() == [0.0, 1.0, 0.0]


def test_one_way_preferences_have_no_maximum() -> None:
    with pytest.raises(ValueError, match=r"no maximum .* 2 groups, \{0, 1\}, \{2\}"):
        fit_plackett_luce(ONE_WAY, missing="interleaving")
    fit = fit_plackett_luce(ONE_WAY, missing="interleaving", prior=0.1)
    assert np.isfinite(fit.logits).all()
    assert np.argsort(-fit.logits).tolist() == [0, 1, 2]


def test_separate_comparisons_are_right_within_each_group() -> None:
    with pytest.raises(ValueError, match=r"2 groups, \{0, 1\}, \{2, 3\}"):
        fit_plackett_luce(SPLIT, missing="interleaving")
    first = fit_plackett_luce(SPLIT[:, [0, 1]], missing="interleaving", tol=1e-12)
    second = fit_plackett_luce(SPLIT[:, [2, 3]], missing="interleaving")
    assert first.logits[0] - first.logits[1] == pytest.approx(np.log(2), abs=1e-9)
    assert second.logits[0] == pytest.approx(0, abs=1e-9)


def test_topk_lists_compare_with_all_items() -> None:
    lists = from_orders([[0], [1], [2], [3]])
    groups = connected_groups(
        choice_lists(SparseRankings.from_orders([[0], [1], [2], [3]], missing="topk"), torch.ones(4))
    )
    assert groups == [[0, 1, 2, 3]]
    assert np.abs(fit_plackett_luce(lists, missing="topk").logits).max() < 1e-12
    with pytest.raises(ValueError, match="4 groups"):
        fit_plackett_luce(lists, missing="interleaving")


@pytest.mark.parametrize("kind", ["interleaving", "topk"])
def test_groups_are_those_of_reachability(kind: str) -> None:
    for seed in range(20):
        X = random_scores(np.random.default_rng(seed), "total", 4, 6, missing=0.5)
        reach = np.eye(6, dtype=bool)
        for row in X:
            for i in range(6):
                for j in range(6):
                    reach[i, j] |= bool(row[i] > row[j]) or (kind == "topk" and row[i] == row[i] and row[j] != row[j])
        for k in range(6):
            reach |= reach[:, [k]] & reach[[k]]
        expected = {tuple(np.flatnonzero(reach[i] & reach[:, i]).tolist()) for i in range(6)}
        lists = choice_lists(from_rankings(rank(X, kind), "X"), torch.ones(4))
        assert {tuple(group) for group in connected_groups(lists)} == expected


def test_weights() -> None:
    X, _ = example(5)
    counts = np.random.default_rng(6).integers(0, 4, 25)
    repeated = fit_plackett_luce(np.repeat(X, counts, axis=0), missing="interleaving", prior=0.1)
    weighed = fit_plackett_luce(X, counts, missing="interleaving", prior=0.1)
    np.testing.assert_allclose(weighed.logits, repeated.logits, atol=1e-9)
    np.testing.assert_allclose(weighed.standard_errors, repeated.standard_errors, rtol=1e-8)
    with pytest.raises(ValueError, match="no maximum"):  # a ranking of weight 0 connects nothing
        fit_plackett_luce(from_orders([[0, 1], [1, 0]]), [1, 0])


def test_prior_is_as_many_choices_of_every_item() -> None:
    X, weights = example(7)
    fit = fit_plackett_luce(X, weights, missing="topk", prior=0.3)
    more = np.concatenate([X, from_orders([[i] for i in range(5)], n_items=5)])
    same = fit_plackett_luce(more, np.concatenate([weights, np.full(5, 0.3)]), missing="topk")
    np.testing.assert_allclose(fit.logits, same.logits, atol=1e-8)


def test_not_converged_warns_by_how_much() -> None:
    X, weights = example(8)
    with pytest.warns(ConvergenceWarning, match="in 2 steps: "):
        fit = fit_plackett_luce(X, weights, missing="topk", method="mm", max_iter=2)
    assert not fit.converged
    assert fit.n_iter == 2


def test_torch_in_torch_out() -> None:
    X, weights = example(9)
    fit = fit_plackett_luce(torch.from_numpy(X).float(), torch.from_numpy(weights), missing="topk")
    assert isinstance(fit.logits, torch.Tensor)
    assert fit.logits.dtype == torch.float64
    np.testing.assert_allclose(fit.logits, fit_plackett_luce(X, weights, missing="topk").logits, atol=1e-10)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="X ties items 0 and 1 in row 0"):
        fit_plackett_luce(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r'row 0, item 1.*missing="interleaving"'):
        fit_plackett_luce(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="expected one matrix"):
        fit_plackett_luce(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="prior=-1"):
        fit_plackett_luce(np.eye(2), prior=-1)
    with pytest.raises(ValueError, match="method='em'"):
        fit_plackett_luce(np.eye(2), method="em")


@pytest.mark.data
def test_apa_election(data_folder: Path) -> None:
    table = np.genfromtxt(data_folder / "apa/apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    for method in ("newton", "mm"):
        fit = fit_plackett_luce(X, counts, method=method)
        assert fit.log_likelihood == pytest.approx(-27402.2939, abs=5e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda() -> None:
    X, weights = example(10)
    here = fit_plackett_luce(torch.from_numpy(X), weights, missing="topk")
    there = fit_plackett_luce(torch.from_numpy(X).cuda(), weights, missing="topk")
    assert there.logits.is_cuda
    torch.testing.assert_close(there.logits.cpu(), here.logits, rtol=0, atol=1e-9)


def test_covariances_of_chosen_items() -> None:
    X, weights = example(11)
    whole = fit_plackett_luce(X, weights, missing="topk")
    some = fit_plackett_luce(X, weights, missing="topk", covariance=[3, 0])
    np.testing.assert_allclose(some.covariance, whole.covariance[np.ix_([3, 0], [3, 0])], rtol=1e-8)
    np.testing.assert_allclose(some.standard_errors, whole.standard_errors[[3, 0]], rtol=1e-8)
    variances = fit_plackett_luce(X, weights, missing="topk", covariance="diagonal")
    assert variances.covariance is None
    np.testing.assert_allclose(variances.standard_errors, whole.standard_errors, rtol=1e-12)
    assert fit_plackett_luce(X, weights, missing="topk", covariance="none").standard_errors is None
    for wrong in ([0, 5], [0, -1], [1, 1]):
        with pytest.raises(
            ValueError, match=r"covariance is \[.*\]; expected a word, one of .* or a list of different"
        ):
            fit_plackett_luce(X, weights, missing="topk", covariance=wrong)
    for odd in (True, None, ["a"], [[0]], [0.5]):
        with pytest.raises(TypeError, match=r"covariance is .* expected a word, one of .* or a list of"):
            fit_plackett_luce(X, weights, missing="topk", covariance=odd)
    frame = pd.DataFrame(X, columns=[f"item {k}" for k in range(X.shape[1])])
    named = fit_plackett_luce(frame, weights, missing="topk", covariance=["item 3", "item 0"])
    np.testing.assert_array_equal(named.covariance, some.covariance)
    assert named.covariance.columns.tolist() == ["item 3", "item 0"]
    with pytest.raises(TypeError, match=r"covariance is \['item 9'\]"):
        fit_plackett_luce(frame, weights, missing="topk", covariance=["item 9"])
    nothing = fit_plackett_luce(X, weights, missing="topk", covariance=[])
    assert (nothing.covariance.shape, nothing.standard_errors.shape) == ((0, 0), (0,))
    with pytest.raises(ValueError, match="covariance='all' is unknown"):
        fit_plackett_luce(X, weights, missing="topk", covariance="all")
