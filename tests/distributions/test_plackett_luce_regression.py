"""Plackett-Luce regression: the maximum, its curvature, and training by gradients."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from torchrank import ConvergenceWarning, PlackettLuce, PlackettLuceRegression, SparseRankings, rank
from torchrank.distributions import NormalPrior


def example(seed: int, word: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rankings of 6 items with two features, on different scales, and weights."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(6, 2)) * [1.0, 20.0] + [0.0, 100.0]
    X = features @ [0.8, 0.03] + rng.gumbel(size=(15, 6))
    if word != "raise":
        X[rng.random(X.shape) < 0.3] = np.nan
    return X, features, rng.random(15) + 0.5


def loss(coefficients: np.ndarray, X: np.ndarray, features: np.ndarray, weights: np.ndarray, word: str) -> float:
    law = PlackettLuce(torch.from_numpy(features @ coefficients), missing=word)
    return -float((law.log_prob(torch.from_numpy(X)) * torch.from_numpy(weights)).sum())


@pytest.mark.parametrize("word", ["raise", "topk", "interleaving"])
@pytest.mark.parametrize("prior", [None, 0.5, NormalPrior([0.3, 0.0], [[0.5, 0.01], [0.01, 0.02]])])
def test_ends_at_the_maximum(word: str, prior: object) -> None:
    X, features, weights = example(0, word)
    precision, mean = np.zeros((2, 2)), np.zeros(2)
    if isinstance(prior, NormalPrior):
        precision, mean = np.linalg.inv(prior.covariance), np.array(prior.mean)
    elif prior is not None:
        precision = np.eye(2) / prior

    def penalized(b: np.ndarray) -> float:
        return loss(b, X, features, weights, word) + (b - mean) @ precision @ (b - mean) / 2

    model = PlackettLuceRegression(2, missing=word, prior=prior)
    fit = model.fit(X, features, weights, tol=1e-11)
    end, h = model.coefficients.detach().numpy(), np.array([1e-4, 1e-5])
    eye = np.diag(h)
    assert fit.converged
    assert -fit.objective[-1] == pytest.approx(penalized(end) - 0, rel=1e-10)
    assert fit.log_likelihood == pytest.approx(-loss(end, X, features, weights, word), rel=1e-10)
    assert max(abs(penalized(end + e) - penalized(end - e)) / (2 * s) for e, s in zip(eye, h, strict=True)) < 1e-5
    assert penalized(end) <= minimize(penalized, np.zeros(2)).fun + 1e-9
    information = np.array(
        [
            [
                (penalized(end + a + b) - penalized(end + a - b) - penalized(end - a + b) + penalized(end - a - b))
                for a in eye
            ]
            for b in eye
        ]
    ) / (4 * np.outer(h, h))
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-3)
    np.testing.assert_allclose(fit.standard_errors**2, np.diag(fit.covariance), rtol=1e-12)


def test_forms_of_rankings_and_weights() -> None:
    X, features, _ = example(1, "topk")
    counts = np.random.default_rng(2).integers(0, 3, 15)
    models = [PlackettLuceRegression(2, missing="topk") for _ in range(4)]
    models[0].fit(X, features, counts)
    models[1].fit(np.repeat(X, counts, axis=0), features)
    models[2].fit(rank(X, "topk"), features, counts)
    row, item = np.nonzero(~np.isnan(X))
    sparse = SparseRankings.from_triples(row, item, X[row, item], shape=X.shape)
    models[3].fit(sparse, torch.from_numpy(features), counts)
    for model in models[1:]:
        torch.testing.assert_close(model.coefficients, models[0].coefficients, rtol=1e-8, atol=1e-10)


def test_new_items_and_the_log_probability() -> None:
    X, features, _ = example(3, "raise")
    model = PlackettLuceRegression(2)
    model.fit(X, features)
    new = np.array([[0.5, 90.0], [1.0, 110.0]])
    np.testing.assert_allclose(model(new), new @ model.coefficients.detach().numpy(), rtol=1e-14)
    assert isinstance(model(torch.from_numpy(new)), torch.Tensor)
    expected = model.distribution(torch.from_numpy(features)).log_prob(torch.from_numpy(X)).detach()
    np.testing.assert_allclose(model.log_prob(X, features), expected, rtol=1e-14)
    again = PlackettLuceRegression(2)
    again.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(again(new), model(new))
    assert model.half()(new).dtype == np.float64


def test_gradients_reach_the_same_coefficients_and_features() -> None:
    X, features, _ = example(4, "raise")
    features = torch.from_numpy((features - features.mean(0)) / features.std(0)).requires_grad_()
    model, trained = PlackettLuceRegression(2), PlackettLuceRegression(2)
    model.fit(X, features)
    optimizer = torch.optim.LBFGS(trained.parameters(), tolerance_grad=1e-10, max_iter=100)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -trained.log_prob(torch.from_numpy(X), features).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    torch.testing.assert_close(trained.coefficients, model.coefficients, rtol=1e-5, atol=1e-6)
    assert features.grad is not None


def test_what_has_no_maximum() -> None:
    features = np.array([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="always prefers the item that was chosen"):
        PlackettLuceRegression(1).fit([[1, 2, 3]], features)
    with pytest.raises(ValueError, match="no maximum"):
        PlackettLuceRegression(2).fit([[1, 2, 3], [3, 1, 2]], np.hstack([features, 2 * features + 1]))
    model = PlackettLuceRegression(1, prior=1.0)
    assert model.fit([[1, 2, 3]], features).converged


def test_bad_input() -> None:
    model = PlackettLuceRegression(1)
    with pytest.raises(ValueError, match=r"features has shape \(2, 1\); X ranks 3 items"):
        model.fit([[1, 2, 3]], np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"features has shape \(3, 2\); expected \(items, 1\)"):
        model.fit([[1, 2, 3]], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X ties items 0 and 1 in row 0"):
        model.fit([[1, 1, 3]], np.zeros((3, 1)))
    with pytest.raises(ValueError, match='missing="interleaving"'):
        model.fit([[1, np.nan, 3]], np.zeros((3, 1)))
    with pytest.raises(ValueError, match="features has nan at row 0"):
        model(np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"prior\.covariance has the variance -1"):
        PlackettLuceRegression(1, prior=-1.0)
    with pytest.warns(ConvergenceWarning, match="in 1 steps"):
        model.fit([[1, 2, 3], [3, 1, 2], [2, 1, 3]], [[0.0], [1.0], [5.0]], max_iter=1)
