"""Mallows mixtures of partial rankings against enumeration of the rankings that agree."""

import math

import numpy as np
import pytest
import torch

from tests.mixtures.ascent import ascend
from tests.mixtures.test_mallows import seeded, two_groups
from tests.oracles import mixtures as oracle
from tests.oracles.distributions import agreeing_with_pairs, discordant, mallows_weights, partial_mallows
from tests.oracles.partial import agreeing
from torchrank import ConvergenceWarning, MallowsMixture, fit_mallows, from_preferences, rank
from torchrank.cpu import linear_extensions

NAN = np.nan
FORMS = ("topk", "interleaving", "ties", "mixed", "pairs")
pytestmark = pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")


def partial_groups(form: str, seed: int, m: int = 24, n: int = 4):
    """Partial rankings of two groups, what agrees with each, and how a mixture is to read them."""
    rng = np.random.default_rng(seed)
    X = two_groups(rng, m, n, 2.0)
    if form == "pairs":
        known = rng.random((m, n, n)) < 0.4
        orders = from_preferences((X[:, :, None] > X[:, None, :]) & known)
        return orders, [agreeing_with_pairs(one) for one in orders.precedes.numpy()], {}
    if form in ("ties", "mixed"):
        X = np.floor(X / 2)
    if form != "ties":
        X[rng.random(X.shape) < 0.35] = NAN
    words = {"topk": ["topk"] * m, "interleaving": ["interleaving"] * m, "ties": ["topk"] * m}.get(form)
    words = words or rng.choice(["topk", "interleaving"], m).tolist()
    agree = [agreeing(row, word) for row, word in zip(X, words, strict=True)]
    if form == "mixed":
        return rank(X, missing=words), agree, {"ties": "unknown"}
    return X, agree, {"missing": words[0], "ties": "unknown"}


def densities(agree, model) -> np.ndarray:
    """``(c, m)`` by enumeration."""
    parts = zip(model.centers.tolist(), model.lam.tolist(), strict=True)
    return np.array([[partial_mallows(own, center, lam) for own in agree] for center, lam in parts])


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_are_sums_over_what_agrees(form):
    X, agree, words = partial_groups(form, 0)
    model = MallowsMixture(4, 3, **words)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([0.3, -1.0, 0.5]))
        model.concentrations.copy_(torch.tensor([0.6, 2.2, -0.4]))
    model.centers = torch.tensor([[0, 1, 2, 3], [3, 1, 0, 2], [1, 0, 3, 2]])
    parts = densities(agree, model)
    np.testing.assert_allclose(np.exp(model.component_log_prob(X)).T, parts, rtol=1e-12)
    joint = model.weights.numpy()[:, None] * parts
    np.testing.assert_allclose(np.exp(model.log_prob(X)), joint.sum(0), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).T, joint / joint.sum(0), rtol=1e-11)
    assert (model.predict(X) == joint.argmax(0)).all()


def expected_m_step(agree, shares, model):
    """Shares, Kemeny centers and concentrations for rankings completed in expectation under the model, item by item."""
    everything, found = oracle.all_rankings(4), []
    for own, center, lam in zip(shares, model.centers.tolist(), model.lam.tolist(), strict=True):
        costs = dict.fromkeys(everything, 0.0)
        for weight, rankings in zip(own, agree, strict=True):
            chances = mallows_weights(rankings, center, lam)
            chances = chances / chances.sum()
            for y in everything:
                costs[y] += weight * sum(c * discordant(x, y) for c, x in zip(chances, rankings, strict=True))
        best = min(costs, key=costs.__getitem__)
        found.append((own.sum() / shares.sum(), best, oracle.concentration(4, costs[best] / own.sum())))
    return found


@pytest.mark.parametrize("form", ["interleaving", "pairs"])
def test_an_iteration_is_one_of_em_over_completed_rankings(form):
    X, agree, words = partial_groups(form, 1, 12)
    reader = MallowsMixture(4, 2, **words)
    general = reader._rows(X, None, training=False).points.general.tolist()  # the other rows have exact steps
    assert len(general) > 3
    X, agree = X[general], [agree[k] for k in general]
    weights = np.random.default_rng(0).random(len(agree))
    model = MallowsMixture(4, 2, **words)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([0.2, -0.3]))
        model.concentrations.copy_(torch.tensor([0.7, 0.4]))
    model.centers = torch.tensor([[0, 1, 2, 3], [3, 1, 0, 2]])
    before, statistics = densities(agree, model), model.summarize(X, weights)
    log_likelihood, shares = oracle.e_step(weights, model.weights.numpy()[:, None] * before)
    expected = expected_m_step(agree, shares, model)
    assert float(statistics.log_likelihood) == pytest.approx(log_likelihood, rel=1e-12)
    model.update(statistics)
    np.testing.assert_allclose(model.weights, [share for share, *_ in expected], rtol=1e-11)
    assert model.centers.tolist() == [list(center) for _, center, _ in expected]
    np.testing.assert_allclose(model.lam, [lam for *_, lam in expected], rtol=1e-8)


@pytest.mark.parametrize("center", ["kemeny", "borda"])
@pytest.mark.parametrize("form", FORMS)
def test_likelihood_never_falls_and_is_that_of_enumeration(form, center):
    X, agree, words = partial_groups(form, 2)
    weights = np.random.default_rng(1).integers(1, 5, len(X))
    model = MallowsMixture(4, 2, center=center, n_init=3, max_iter=5000, **words)
    fit = model.fit(X, weights, generator=seeded(0))
    assert (np.diff(fit.objective) >= -1e-10).all()
    joint = model.weights.numpy()[:, None] * densities(agree, model)
    assert fit.log_likelihood == pytest.approx(weights @ np.log(joint.sum(0)), rel=1e-12)
    assert model.bic(X, weights) == pytest.approx(-2 * fit.log_likelihood + 3 * math.log(weights.sum()), rel=1e-12)
    assert model.aic(X, weights) == pytest.approx(-2 * fit.log_likelihood + 2 * 3, rel=1e-12)
    assert model.criterion(X, weights, "aic") == model.aic(X, weights)
    assert model.criterion(X, weights) == model.bic(X, weights)
    with pytest.raises(ValueError, match="name='dic' is unknown"):
        model.criterion(X, weights, "dic")


def test_criterion_of_weighted_rankings():
    X, weights = np.array([[3.0, 2, 1], [1, 2, 3], [2, 3, 1]]), np.array([100.0, 50, 20])
    model = MallowsMixture(3, 2)
    fit = model.fit(X, weights, generator=seeded(0))
    assert model.criterion(X, weights) == model.bic(X, weights) == pytest.approx(360.61, abs=5e-3)
    assert model.criterion(np.repeat(X, weights.astype(int), axis=0)) == pytest.approx(360.61, abs=5e-3)
    assert model.aic(X, weights) == pytest.approx(-2 * fit.log_likelihood + 6, rel=1e-12)


@pytest.mark.parametrize("form", ["topk", "interleaving", "ties", "pairs"])
def test_copies_are_weights(form):
    X, _, words = partial_groups(form, 3)
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    one, many = (MallowsMixture(4, 2, tol=1e-11, max_iter=5000, **words) for _ in range(2))
    fit, same = one.fit(X, weights, generator=seeded(0)), many.fit(X[copies], generator=seeded(0))
    assert fit.log_likelihood == pytest.approx(same.log_likelihood, rel=1e-8)
    scaled = MallowsMixture(4, 2, tol=1e-11, max_iter=5000, **words)
    far = scaled.fit(X, weights * 2.0**40, generator=seeded(0))
    assert far.log_likelihood == fit.log_likelihood * 2.0**40
    assert torch.equal(scaled.lam, one.lam)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_one_component_is_fit_mallows(form, seed):
    X, _, words = partial_groups(form, seed, 12)
    single = fit_mallows(X, **words)
    model = MallowsMixture(4, 1, tol=1e-13, max_iter=20_000, **words)
    fit = model.fit(X)
    if form in ("topk", "ties"):
        assert fit.log_likelihood == pytest.approx(float(single.log_likelihood), rel=1e-12)
        assert model.lam.tolist() == pytest.approx([float(single.lam)], rel=1e-9)
    else:  # moves of single items may lead fit_mallows further
        assert fit.log_likelihood <= float(single.log_likelihood) + 1e-9


def test_complete_rows_are_read_alike_whatever_the_words():
    X = two_groups(np.random.default_rng(4), 30, 5, 2.0)
    plain = MallowsMixture(5, 2)
    fit = plain.fit(X, generator=seeded(0))
    for words in ({"missing": "topk"}, {"missing": "interleaving"}, {"ties": "unknown"}):
        model = MallowsMixture(5, 2, **words)
        assert model.fit(X, generator=seeded(0)).objective == fit.objective
        np.testing.assert_array_equal(model.log_prob(X), plain.log_prob(X))


def test_statistics_of_complete_and_partial_batches_add_up():
    complete, partial = two_groups(np.random.default_rng(5), 20, 4), partial_groups("interleaving", 6)[0]
    model, whole = (MallowsMixture(4, 2, missing="interleaving", ties="unknown", max_iter=2, tol=0) for _ in range(2))
    with pytest.warns(ConvergenceWarning):
        model.fit(complete, generator=seeded(1))
    whole.load_state_dict(model.state_dict())
    model.update(model.summarize(complete) + model.summarize(partial))
    whole.update(whole.summarize(np.vstack([complete, partial])))
    assert torch.allclose(model.lam, whole.lam, rtol=1e-12)
    assert torch.equal(model.centers, whole.centers)


@pytest.mark.parametrize("form", ["topk", "interleaving"])
def test_gradients_reach_the_likelihood_of_em(form):
    X, _, words = partial_groups(form, 7)
    X = torch.from_numpy(X)
    em = MallowsMixture(4, 2, tol=1e-13, max_iter=20_000, **words)
    best = em.fit(X, generator=seeded(0)).log_likelihood
    model = MallowsMixture(4, 2, **words)
    model.centers = em.centers
    ascend(model, lambda: model(X).sum(), max_iter=300)
    assert model.log_prob(X).sum().item() >= best - 1e-6


@pytest.mark.slow
def test_sampled_probabilities_are_reproducible_and_near(monkeypatch):
    X, _, words = partial_groups("interleaving", 8)
    exact, model = MallowsMixture(4, 2, **words), MallowsMixture(4, 2, n_samples=4000, **words)
    exact.fit(X, generator=seeded(0))
    model.load_state_dict(exact.state_dict())
    expected = exact.log_prob(X)
    monkeypatch.setattr(linear_extensions, "MOST_ITEMS", 0)
    estimate = model.log_prob(X)
    np.testing.assert_array_equal(model.log_prob(X[::-1])[::-1], estimate)
    np.testing.assert_allclose(estimate, expected, atol=0.2)
    assert (estimate != expected).any()
    few = MallowsMixture(4, 2, n_samples=2, **words)
    with pytest.warns(RuntimeWarning, match="n_samples=2"):
        few.fit(X, generator=seeded(0))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "NaN .* at row 0, item 2; .*missing='topk'"),
        ({"missing": "topk"}, r"tied items in row 1.* ties='unknown'"),
    ],
)
def test_refuses_what_was_not_said(words, message):
    X = np.array([[1.0, 2.0, NAN], [1.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match=message):
        MallowsMixture(3, 2, **words).fit(X)


def test_refuses_settings():
    for words, message in (
        ({"missing": "pairwise"}, "missing='pairwise' is unknown"),
        ({"ties": "average"}, "ties='average' is unknown"),
        ({"n_samples": 1}, "n_samples=1 is too small"),
    ):
        with pytest.raises(ValueError, match=message):
            MallowsMixture(3, 2, **words)
    with pytest.raises(ValueError, match=r"shape \(1, 3\); expected \(rankings, 4\)"):
        MallowsMixture(4, 2).fit(from_preferences([[(0, 1), (1, 2)]]))
    assert "missing='topk', ties='unknown'" in repr(MallowsMixture(3, 2, missing="topk", ties="unknown"))


@pytest.mark.parametrize("missing", ["topk", "interleaving"])
def test_what_vmap_cannot_go_through(missing):
    model = MallowsMixture(3, 2, missing=missing)
    X = torch.tensor([[1.0, 2.0, NAN], [3.0, 1.0, 2.0]])
    with pytest.raises(RuntimeError, match="vmap cannot go through laws of partial rankings"):
        torch.func.vmap(lambda row: model.log_prob(row[None]))(X)

    def with_lam(lam):
        return torch.func.functional_call(model, {"concentrations": lam}, (X,))

    lams = torch.tensor([[0.5, 1.0], [2.0, 0.1]], dtype=torch.float64)
    if missing == "interleaving":
        with pytest.raises(RuntimeError, match="vmap cannot go through laws of partial orders"):
            torch.func.vmap(with_lam)(lams)
    else:
        torch.testing.assert_close(torch.func.vmap(with_lam)(lams), torch.stack([with_lam(lam) for lam in lams]))


@pytest.mark.data
def test_partial_ballots_of_the_apa_election(data_folder):
    """The 15,449 ballots in two components."""
    table = np.genfromtxt(data_folder / "apa" / "apa_partial.csv", delimiter=",", skip_header=1)
    X, counts = np.where(table[:, :5] > 0, -table[:, :5], NAN), table[:, 6]
    model = MallowsMixture(5, 2, missing="topk")
    fit = model.fit(X, counts, generator=seeded(0))
    assert fit.log_likelihood == pytest.approx(-50534.5137, abs=1e-3)
    agree = [agreeing(row, "topk") for row in X]
    joint = model.weights.numpy()[:, None] * densities(agree, model)
    assert counts @ np.log(joint.sum(0)) == pytest.approx(fit.log_likelihood, rel=1e-12)
