"""Start nodes ranked for each end node: scores, cross-validation and early stopping count pairs of one end node."""

import numpy as np
import pytest
import torch

pytest.importorskip("sklearn")

from tests.oracles.conditional import complete_edges, generator_of, random_kernel, random_labels, ranking_error
from torchrank.conditional import ConditionalSplit, KroneckerEigh, kron_edge_rls
from torchrank.estimators import KroneckerRLS, KroneckerRLSCV

KS, KE, F = random_kernel(5, 5, 1).numpy(), random_kernel(4, 4, 2).numpy(), random_labels(5, 4).numpy()
EDGES = complete_edges(5, 4).numpy()
SIDES = [("outgoing", 0), ("incoming", 1)]


def pooled(labels, scores, groups) -> float:
    count, pairs, _ = ranking_error(list(labels), list(scores), list(groups))
    return count / pairs


@pytest.mark.parametrize(("direction", "query"), SIDES)
def test_score_is_the_share_of_pairs_of_one_query(direction, query):
    options = {"kernel": "precomputed", "nodes": KS, "end_nodes": KE, "loss": "ranking", "direction": direction}
    model = KroneckerRLS(3.0, **options).fit(EDGES, F.ravel())
    other = random_labels(20, seed=4).numpy()
    expected = 1 - pooled(other, model.predict(EDGES), EDGES[:, query])
    assert expected != pytest.approx(1 - pooled(other, model.predict(EDGES), EDGES[:, 1 - query]))
    assert model.score(EDGES, other) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("direction", "query"), SIDES)
@pytest.mark.parametrize("cv", ["edge", "start", "end"])
def test_cross_validation_by_formulas(cv, direction, query):
    alphas = np.array([0.01, 1.0, 100.0])
    options = {"kernel": "precomputed", "nodes": KS, "end_nodes": KE, "loss": "ranking", "direction": direction}
    model = KroneckerRLSCV(alphas, cv=cv, **options).fit(EDGES, F.ravel())
    left_out = KroneckerEigh(KS, KE, loss="ranking", direction=direction).loo(F, alphas, exclude=cv)
    expected = [pooled(F.ravel(), scores.ravel(), EDGES[:, query]) for scores in left_out]
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=1e-13)


@pytest.mark.parametrize(("direction", "query"), SIDES)
def test_cross_validation_fold_by_fold(direction, query):
    K, labels = random_kernel(9, 9, 1).numpy(), random_labels(9, 9).numpy()
    edges = complete_edges(9, 9).numpy()[::2]
    y, alphas = labels[edges[:, 0], edges[:, 1]], [0.1, 10.0]
    options = {"kernel": "precomputed", "nodes": K, "end_nodes": K, "loss": "ranking", "direction": direction}
    model = KroneckerRLSCV(alphas, cv="edge", n_splits=2, random_state=0, **options).fit(edges, y)
    predicted, tested = [], []
    for train, test in ConditionalSplit(1, 2, generator=generator_of(0)).split(edges):
        fits = [KroneckerRLS(alpha, **options).fit(edges[train], y[train]) for alpha in alphas]
        predicted.append([fit.predict(edges[test]) for fit in fits])
        tested.append(test)
    tests = np.concatenate(tested)
    expected = [pooled(y[tests], scores, edges[tests, query]) for scores in np.concatenate(predicted, axis=1)]
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=1e-13)


@pytest.mark.parametrize(("direction", "query"), SIDES)
def test_edge_solvers_stop_by_the_error_of_one_query(direction, query):
    K, y = random_kernel(6, 6, 1), random_labels(18)
    edges = complete_edges(6, 6)[torch.randperm(36, generator=torch.Generator().manual_seed(0))]
    train, held_out, targets = edges[:18], edges[18:], random_labels(18, seed=3).round()  # with ties
    seen = []
    kron_edge_rls(
        K, None, train, y, 1.0, loss="ranking", direction=direction, validation=(held_out, targets), patience=8,
        callback=lambda state: seen.append((state.duals(), state.validation_error)),
    )  # fmt: skip
    for duals, error in seen:
        A = torch.zeros(6, 6, dtype=torch.float64).index_put((train[:, 0], train[:, 1]), duals, accumulate=True)
        scores = (K @ A @ K)[held_out[:, 0], held_out[:, 1]]
        assert error == pytest.approx(pooled(targets.tolist(), scores.tolist(), held_out[:, query].tolist()), rel=1e-14)
