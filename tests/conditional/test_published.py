"""Figures that others have published, on real data, and the synthetic experiment of the paper in small."""

import numpy as np
import pytest
import torch

from benchmarks.papers.conditional_drug_target import TUTORIAL, davis_concordance
from benchmarks.papers.conditional_figure3 import TITLES, iterate
from benchmarks.papers.conditional_newsgroups import errors as newsgroup_errors
from benchmarks.papers.conditional_newsgroups import sample
from benchmarks.papers.conditional_rps import errors, weights
from torchrank.conditional import kron_edge_rls
from torchrank.datasets import rock_paper_scissors


@pytest.mark.data
def test_davis_equals_the_published_tutorial(data_folder):
    results = davis_concordance(data_folder, range(21, 33))
    for setting, (power, published) in TUTORIAL.items():
        curve = results[setting]
        assert max(curve, key=curve.get) == power
        assert curve[power] == pytest.approx(published, abs=1e-5)


@pytest.mark.data
def test_ranking_beats_regression_on_unseen_newsgroups(data_folder):
    from benchmarks.papers.conditional_data import newsgroups

    rng = np.random.default_rng(0)
    train, test = (sample(rng, posts, 500) for posts in newsgroups(data_folder))
    lams = 10.0 ** np.arange(-3, 4)
    ranking = min(newsgroup_errors(0, train, test, "ranking", lams))
    regression = min(newsgroup_errors(0, train, test, "regression", lams))
    assert ranking < regression - 0.05


def test_rock_paper_scissors_gets_easier_with_unbalanced_players():
    curves = {
        w: np.mean([errors(np.random.default_rng(s), w, np.array([2.0**-30])) for s in range(4)]) for w in (1, 10, 100)
    }
    assert curves[1] > 0.3
    assert 0.02 < curves[10] < 0.1
    assert curves[100] < 0.005


@pytest.mark.parametrize("ranking", [False, True])
def test_product_features_give_the_model_of_the_pair_kernel(ranking):
    games = rock_paper_scissors(12, 30, w=10, seed=0)
    moves, edges, y = games.nodes, games.edges, games.y
    X = (moves[edges[:, 0], :, None] * moves[edges[:, 1], None, :]).reshape(len(y), 9)
    primal = X @ weights(X, y, edges[:, 0] if ranking else None, np.array([0.01]))[0]
    loss = "ranking" if ranking else "regression"
    fit = kron_edge_rls(moves @ moves.T, None, edges, y, 0.01, loss=loss, tol=1e-13)
    np.testing.assert_allclose(fit.predict(moves @ moves.T)[edges[:, 0], edges[:, 1]], primal, atol=1e-8)


@pytest.mark.parametrize("method", TITLES)
@pytest.mark.parametrize("relation", ["ordinary", "symmetric"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_all_systems_of_figure_3_have_the_same_solution(method, relation, loss):
    x = torch.linspace(0, 2, 5, dtype=torch.float64)
    K, F = torch.exp(-((x[:, None] - x) ** 2) * 4), torch.outer(x, x).sin()  # symmetric labels can be fitted exactly
    duals = []
    iterate(K, F, method, loss, relation, lambda n_iter, compute: duals.append(compute()))
    A = duals[-1] if relation == "ordinary" else (duals[-1] + duals[-1].mT) / 2
    misfit = K @ A @ K - F
    if loss == "ranking":
        misfit = misfit - misfit.mean(1, keepdim=True)
    assert float(misfit.abs().max()) < 1e-6
