"""Mallows fits of partial rankings against enumeration of all centers and rankings."""

import math
import warnings
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.oracles.distributions import agreeing_with_pairs, best_mallows, partial_mallows
from tests.oracles.partial import agreeing
from torchrank import ConvergenceWarning, fit_mallows, from_orders, from_preferences, rank
from torchrank.cpu import linear_extensions
from torchrank.distributions.mallows_law import lam_of_mean_distance, log_partition, mean_distance, variance_distance

NAN = np.nan
CAP = 6.0
FORMS = ("topk", "interleaving", "ties", "mixed", "pairs")


def partial_data(form: str, seed: int, m: int, n: int):
    """Partial rankings around 0, 1, ..., n - 1, what agrees with each, and the words that say how to read them."""
    rng = np.random.default_rng(seed)
    X = (np.arange(n) + rng.choice([1.0, 3.0]) * rng.normal(size=(m, n))).argsort(1).argsort(1).astype(float)
    if form == "pairs":
        pairs = [[tuple(pair) for pair in rng.integers(0, n, (rng.integers(0, 4), 2)) if pair[0] != pair[1]] for _ in X]
        given = [[(a, b) if row[a] > row[b] else (b, a) for a, b in own] for row, own in zip(X, pairs, strict=True)]
        orders = from_preferences(given, n)
        return orders, [agreeing_with_pairs(one) for one in orders.precedes.numpy()], {}
    if form in ("ties", "mixed"):
        X = np.floor(X / 2)
    if form != "ties":
        X[rng.random(X.shape) < 0.4] = NAN
    words = {"topk": ["topk"] * m, "interleaving": ["interleaving"] * m, "ties": ["topk"] * m}.get(form)
    words = words or rng.choice(["topk", "interleaving"], m).tolist()
    agree = [agreeing(row, word) for row, word in zip(X, words, strict=True)]
    return X, agree, {"missing": words if form == "mixed" else words[0], "ties": "unknown"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:the concentration was cut")
def test_fit_is_the_maximum_over_all_centers_and_concentrations(form, seed):
    n = 3 + seed % 3
    X, agree, words = partial_data(form, seed, 7, n)
    weights = np.random.default_rng(seed).integers(1, 4, 7).astype(float)
    fit = fit_mallows(X, weights, max_lam=CAP, **words)
    center, lam = fit.center, float(fit.lam)
    own = sum(w * math.log(partial_mallows(a, center, lam)) for w, a in zip(weights, agree, strict=True))
    assert float(fit.log_likelihood) == pytest.approx(own, rel=1e-12, abs=1e-12)
    assert float(fit.log_likelihood) == pytest.approx(best_mallows(agree, weights, CAP), rel=1e-9, abs=1e-9)
    assert bool(fit.converged)
    assert math.isinf(float(fit.effective_samples))
    assert (np.diff(fit.objective) > 0).all()
    assert len(fit.objective) in (0, int(fit.n_iter) + 1)
    if 0 < lam < CAP:
        step = 1e-3
        values = [
            sum(w * math.log(partial_mallows(a, center, lam + t)) for w, a in zip(weights, agree, strict=True))
            for t in (-step, 0, step)
        ]
        information = -(values[0] - 2 * values[1] + values[2]) / step**2
        assert float(fit.standard_error) == pytest.approx(information**-0.5, rel=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the concentration was cut")
@pytest.mark.parametrize("form", ["interleaving", "pairs"])
def test_seven_items(form):
    X, agree, words = partial_data(form, 11, 4, 7)
    fit = fit_mallows(X, max_lam=CAP, **words)
    own = sum(math.log(partial_mallows(a, fit.center, float(fit.lam))) for a in agree)
    assert float(fit.log_likelihood) == pytest.approx(own, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:the concentration was cut")
def test_weights_are_repeated_rows_and_their_scale_does_not_matter(form):
    X, _, words = partial_data(form, 3, 8, 5)
    weights = np.array([0, 1, 2, 3, 1, 0, 2, 1])
    fit = fit_mallows(X, weights, max_lam=CAP, **words)
    copies = np.repeat(np.arange(8), weights)
    if form == "mixed":
        repeated = fit_mallows(X[copies], max_lam=CAP, missing=np.array(words["missing"])[copies], ties="unknown")
    else:
        repeated = fit_mallows(X[copies], max_lam=CAP, **words)
    scaled = fit_mallows(X, weights * 2.0**30, max_lam=CAP, **words)
    for one, other in zip(fit, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    assert float(scaled.lam) == float(fit.lam)
    assert scaled.center.tolist() == fit.center.tolist()
    assert float(scaled.log_likelihood) == float(fit.log_likelihood) * 2.0**30


@pytest.mark.slow
def test_forms_that_say_the_same_have_the_same_fit():
    X = np.array([[3, 2, 1, NAN], [NAN, 2, 1, 3], [1, 2, NAN, NAN], [2, 1, NAN, NAN]])
    groups = np.nan_to_num(X, nan=0.0)
    fits = [
        fit_mallows(X, missing="topk"),
        fit_mallows(rank(X, missing="topk")),
        fit_mallows(X, missing=["topk"] * 4),
        fit_mallows(groups, ties="unknown"),
        fit_mallows(from_preferences(groups[:, :, None] > groups[:, None, :])),
    ]
    for fit in fits[1:]:
        for one, other in zip(fits[0], fit, strict=True):
            np.testing.assert_array_equal(one, other)
    sub = np.array([[3, 2, NAN, 1], [NAN, 1, 2, NAN], [1, NAN, 3, NAN], [4, 3, 2, 1]])
    pairs = [[(0, 1), (1, 3)], [(2, 1)], [(2, 0)], [(0, 1), (1, 2), (2, 3)]]
    one, other = fit_mallows(sub, missing="interleaving"), fit_mallows(from_preferences(pairs))
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)


def test_complete_rows_are_read_alike_whatever_the_words():
    X = np.random.default_rng(0).random((9, 5))
    plain = fit_mallows(X)
    for words in ({"missing": "topk"}, {"missing": "interleaving"}, {"ties": "unknown"}):
        for one, other in zip(fit_mallows(X, **words), plain, strict=True):
            np.testing.assert_array_equal(one, other)


def test_rows_that_say_nothing_leave_no_concentration():
    nothing = np.array([[NAN, NAN, NAN], [1.0, NAN, NAN]])
    fit = fit_mallows(nothing, missing="interleaving")
    assert float(fit.lam) == 0
    assert float(fit.log_likelihood) == 0
    some = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])
    one, other = fit_mallows(some), fit_mallows(np.vstack([some, nothing]), missing="interleaving")
    assert float(one.lam) == pytest.approx(float(other.lam), rel=1e-12)
    assert float(one.log_likelihood) == pytest.approx(float(other.log_likelihood), rel=1e-12)


@pytest.mark.slow
def test_rows_of_weight_0_are_left_out():
    X = np.array([[3.0, 1.0, 2.0], [3.0, 2.0, 1.0], [NAN, 1.0, 2.0], [1.0, NAN, 2.0]])
    for kept in ([1, 2, 0, 0], [1, 2, 3, 0], [0, 0, 1, 2]):
        weights, used = np.array(kept), np.array(kept) > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = fit_mallows(X, weights, missing="interleaving")
            other = fit_mallows(X[used], weights[used], missing="interleaving")
        for first, second in zip(one, other, strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


def test_batches_of_groups_stand_alone():
    rng = np.random.default_rng(2)
    X = rng.random((3, 9, 5))
    X[rng.random(X.shape) < 0.4] = NAN
    weights = rng.integers(1, 4, (3, 9))
    batch = fit_mallows(torch.from_numpy(X), weights, missing="topk")
    for k in range(3):
        for part, other in zip(batch, fit_mallows(X[k], weights[k], missing="topk"), strict=True):
            np.testing.assert_allclose(part[k].to(torch.float64), other, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(3, 9, 5\).* one by one"):
        fit_mallows(X, missing="interleaving")
    with pytest.raises(ValueError, match=r"weights has shape \(3, 9\)"):
        fit_mallows(X[0], weights, missing="interleaving")


def test_a_given_center_and_the_dtype_of_scores():
    X = torch.tensor([[3, 2, NAN, 1], [NAN, 1, 2, NAN], [1, NAN, 3, NAN], [NAN, 2, 1, 3]], dtype=torch.float32)
    fit = fit_mallows(X, missing="interleaving")
    assert fit.center.dtype == torch.float32
    assert fit.lam.dtype == torch.float64
    center = torch.tensor([0.5, 7.0, 3.0, 1.0])
    given = fit_mallows(X, missing="interleaving", center=center)
    assert given.center.tolist() == center.tolist()
    assert not given.optimal
    assert given.n_iter == 0
    assert given.log_likelihood <= fit.log_likelihood
    ranks = center.argsort().argsort().tolist()
    own = sum(math.log(partial_mallows(agreeing(row, "interleaving"), ranks, float(given.lam))) for row in X.tolist())
    assert float(given.log_likelihood) == pytest.approx(own, rel=1e-12)


@pytest.mark.slow
def test_samples_come_near_the_exact_fit_and_are_reproducible(monkeypatch):
    rng = np.random.default_rng(5)
    X = (np.arange(7) + 2 * rng.normal(size=(60, 7))).argsort(1).argsort(1).astype(float)
    X[rng.random(X.shape) < 0.4] = NAN
    exact = fit_mallows(X, missing="interleaving")
    monkeypatch.setattr(linear_extensions, "MOST_ITEMS", 0)

    def sampled(seed: int):
        generator = torch.Generator().manual_seed(seed)
        return fit_mallows(X, missing="interleaving", n_samples=2000, generator=generator)

    one, same, other = sampled(0), sampled(0), sampled(1)
    assert float(one.effective_samples) < 2000
    assert abs(float(one.lam) - float(exact.lam)) < 0.2 * float(exact.standard_error)
    assert abs(float(one.log_likelihood) - float(exact.log_likelihood)) < 0.5
    assert one.center.tolist() == exact.center.tolist()
    for first, second in zip(one, same, strict=True):
        np.testing.assert_array_equal(first, second)
    assert float(one.log_likelihood) != float(other.log_likelihood)


def test_few_samples_that_count_warn(monkeypatch):
    monkeypatch.setattr(linear_extensions, "MOST_ITEMS", 0)
    rng = np.random.default_rng(6)
    X = rng.permuted(np.tile(np.arange(16.0), (12, 1)), axis=1)
    X[:, ::2] = NAN
    with pytest.warns(RuntimeWarning, match="of n_samples=4 sampled rankings as few as"):
        fit_mallows(X, missing="interleaving", n_samples=4, generator=torch.Generator().manual_seed(0))


@pytest.mark.slow
def test_a_search_that_is_cut_short_warns():
    for seed in range(40):
        X, _, words = partial_data("pairs", seed, 9, 5)
        if int(fit_mallows(X, max_lam=CAP, **words).n_iter) > 0:
            with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
                fit = fit_mallows(X, max_lam=CAP, max_iter=1, **words)
            assert not fit.converged
            return
    raise AssertionError("no search took a step")


def test_top_lists_of_many_items():
    """Equation by equation: the mean distance of the lists is what the law of groups expects."""
    rng = np.random.default_rng(7)
    orders = np.argsort(np.arange(60) + 12 * rng.normal(size=(400, 60)), axis=1)
    lists = [order[: 2 + k % 9].tolist() for k, order in enumerate(orders)]
    fit = fit_mallows(from_orders(lists, 60), missing="topk")
    place = (-fit.center).argsort().argsort()
    discordant = [
        sum(place[a] > place[b] for k, a in enumerate(own) for b in (*own[k + 1 :], *set(range(60)) - set(own)))
        for own in lists
    ]
    lam = torch.tensor(float(fit.lam), dtype=torch.float64)
    left_open = np.mean([float(mean_distance(lam, 60 - len(own))) for own in lists])
    assert float(fit.mean_distance) == pytest.approx(np.mean(discordant) + left_open, rel=1e-13)
    assert float(fit.mean_distance) == pytest.approx(float(mean_distance(lam, 60)), rel=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_mean_distance_expects_what_rows_leave_open(form):
    X, agree, words = partial_data(form, seed=5, m=9, n=4)
    if form == "interleaving":  # rows that say nothing count too
        X = np.concatenate([X, [[NAN] * 4, [NAN, 1.0, NAN, NAN]]])
        agree = [*agree, *[np.array(list(permutations(range(4)))) + 1.0] * 2]
    fit = fit_mallows(X, **words)
    lam, center = float(fit.lam), np.asarray(fit.center)
    i, j = np.triu_indices(4, 1)
    means = []
    for rankings in map(np.asarray, agree):
        apart = (rankings[:, i] - rankings[:, j]) * (center[i] - center[j])
        distance = (apart < 0).sum(1)
        share = np.exp(-lam * distance)
        means.append(share @ distance / share.sum())
    assert float(fit.mean_distance) == pytest.approx(np.mean(means), rel=1e-9)


@pytest.mark.parametrize("lam", [-1.5, -0.2, 0.0, 1e-7, 0.4, 0.999, 1.0, 2.5])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 3), (2, 2, 1), (4, 1), (5,)])
def test_law_of_groups(sizes, lam):
    """Against enumeration of the arrangements of a multiset, by their inversions."""
    word = [g for g, size in enumerate(sizes) for _ in range(size)]
    arrangements = set(permutations(word))
    inversions = np.array([sum(a[i] > a[j] for j in range(5) for i in range(j)) for a in arrangements])
    weights = np.exp(-lam * inversions)
    groups = torch.tensor([sum(size >= j for size in sizes) for j in range(2, 6)], dtype=torch.float64)
    at = torch.tensor(lam, dtype=torch.float64)
    assert float(log_partition(at, 5, groups)) == pytest.approx(math.log(weights.sum()), rel=1e-12, abs=1e-13)
    mean = weights @ inversions / weights.sum()
    assert float(mean_distance(at, 5, groups)) == pytest.approx(mean, rel=1e-11, abs=1e-12)
    variance = weights @ (inversions - mean) ** 2 / weights.sum()
    assert float(variance_distance(at, 5, groups)) == pytest.approx(variance, rel=1e-9, abs=1e-12)
    if lam > 0.1 and len(sizes) > 1:
        back = lam_of_mean_distance(torch.tensor(mean, dtype=torch.float64), 5, groups=groups)
        assert float(back) == pytest.approx(lam, rel=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "X has NaN .* pass missing='topk'"),
        ({"missing": "topk"}, "X ties items 0 and 1 in row 1; pass ties='unknown'"),
        ({"missing": "pairwise"}, "missing='pairwise' is unknown"),
        ({"missing": "topk", "ties": "average"}, "ties='average' is unknown"),
        ({"missing": "topk", "ties": "unknown", "n_samples": 1}, "n_samples=1 is too small"),
        ({"missing": "topk", "ties": "unknown", "max_iter": 0}, "max_iter=0 is too small"),
        ({"missing": "topk", "ties": "unknown", "center": np.ones((2, 3, 3))[0, 0]}, "center ties"),
    ],
)
def test_refusals(words, message):
    X = np.array([[3.0, 1.0, NAN], [1.0, 1.0, NAN]])
    with pytest.raises(ValueError, match=message):
        fit_mallows(X, **words)


def test_derivatives_are_refused():
    X = torch.tensor([[3.0, 1.0, NAN], [1.0, 2.0, NAN], [3.0, 1.0, NAN]], requires_grad=True)
    for missing in ("topk", "interleaving"):
        with pytest.raises(RuntimeError, match="fit_mallows searches"):
            fit_mallows(X, missing=missing).lam.backward()


@pytest.mark.data
def test_partial_ballots_of_the_apa_election(data_folder: Path):
    """The likelihood of 205 different ballots by enumeration of 120 rankings."""
    table = np.genfromtxt(data_folder / "apa" / "apa_partial.csv", delimiter=",", skip_header=1)
    X, counts = np.where(table[:, :5] > 0, -table[:, :5], NAN), table[:, 6]
    fit = fit_mallows(X, counts, missing="topk")
    assert float(fit.log_likelihood) == pytest.approx(-51602.60104968, abs=1e-7)
    assert bool(fit.optimal)
    own = [math.log(partial_mallows(agreeing(row, "topk"), fit.center, float(fit.lam))) for row in X]
    assert counts @ np.array(own) == pytest.approx(float(fit.log_likelihood), rel=1e-12)
