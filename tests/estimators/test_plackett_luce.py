"""Worths of items by their features: as the module, across folds of items, with names."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import torchrank
from torchrank.estimators import PlackettLuceRegression


def example() -> tuple[np.ndarray, np.ndarray]:
    """60 items, of which each of 40 rankings has 10."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X @ [1.0, -2.0, 0.0])[:, None] + rng.gumbel(size=(60, 40))
    y[rng.random(y.shape).argsort(0) >= 10] = np.nan
    return X, y


def test_is_the_module() -> None:
    X, y = example()
    model, module = PlackettLuceRegression(), torchrank.PlackettLuceRegression(3, missing="interleaving", prior=1.0)
    fit = module.fit(y.T, X)
    np.testing.assert_array_equal(model.fit(X, y).coef_, module.coefficients.detach().numpy())
    np.testing.assert_array_equal(model.predict(X[:5]), module(X[:5]))
    np.testing.assert_array_equal(model.standard_errors_, fit.standard_errors)
    weights = np.arange(40.0)
    module.fit(y.T, X, weights)
    np.testing.assert_array_equal(model.fit(X, y, weights=weights).coef_, module.coefficients.detach().numpy())


def test_items_that_were_never_ranked_are_predicted() -> None:
    X, y = example()
    scores = cross_val_score(make_pipeline(StandardScaler(), PlackettLuceRegression()), X, y, cv=4)
    assert scores.mean() > 0.4  # chance is 0
    model = PlackettLuceRegression().fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.DataFrame(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.score(pd.DataFrame(X, columns=["a", "b", "c"]), y) == pytest.approx(
        torchrank.metrics.label_ranking_tau(y.T, np.tile(model.model_(X), (40, 1)))
    )


def test_bad_input() -> None:
    X, y = example()
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 60 items"):
        PlackettLuceRegression().fit(X, y.T)
    with pytest.raises(ValueError, match="X ties items"):
        PlackettLuceRegression().fit(X[:3], [1, 1, 2])
    with pytest.raises(ValueError, match="unranked"):
        PlackettLuceRegression(missing="raise").fit(X, y)
