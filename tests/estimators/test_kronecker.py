import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.oracles.conditional import complete_edges, generator_of, random_kernel, random_labels
from torchrank.conditional import ConditionalSplit, KroneckerEigh, kron_edge_rls, kron_rank_rls, kron_rls
from torchrank.estimators import KroneckerRLS, KroneckerRLSCV
from torchrank.metrics import conditional_ranking_error

SPARSE = np.array([[0, 1], [0, 2], [5, 1], [2, 2], [2, 0], [5, 5], [2, 4], [0, 1]])


def test_complete_graph_with_a_precomputed_kernel_is_solved_in_closed_form():
    K, F, edges = random_kernel(6, 6, 1).numpy(), random_labels(4, 4).numpy(), complete_edges(4, 4).numpy()
    order = np.random.default_rng(0).permutation(16)
    model = KroneckerRLS(0.3, kernel="precomputed", nodes=K).fit(edges[order], F.ravel()[order])
    np.testing.assert_allclose(model.pair_duals_, kron_rls(K[:4, :4], None, F, 0.3), atol=1e-12)
    assert (model.converged_, model.n_iter_, len(model.objective_), model.reason_) == (True, 0, 0, "closed form")
    scores = K[:4, :4] @ model.pair_duals_ @ K[:4, :4]
    assert model.losses_ == pytest.approx((((F - scores) ** 2).sum() + 0.3 * (model.pair_duals_ * scores).sum(),))
    new = np.array([[5, 0], [4, 5], [0, 4]])
    expected = K[:, :4] @ model.pair_duals_ @ K[:, :4].T
    np.testing.assert_allclose(model.predict(new), expected[new[:, 0], new[:, 1]], atol=1e-11)


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize(
    ("loss", "direction"), [("regression", "outgoing"), ("ranking", "outgoing"), ("ranking", "incoming")]
)
def test_incomplete_graph_is_solved_by_iterations(loss, direction, relation):
    K, y = random_kernel(7, 7, 1).numpy(), random_labels(len(SPARSE)).numpy()
    options = {"loss": loss, "direction": direction, "relation": relation, "tol": 1e-12}
    model = KroneckerRLS(0.3, kernel="precomputed", nodes=K, **options).fit(SPARSE, y)
    fit = kron_edge_rls(K, None, SPARSE, y, 0.3, **options)
    everything = complete_edges(7, 7).numpy()
    np.testing.assert_allclose(model.predict(everything).reshape(7, 7), fit.predict(K), atol=1e-9)
    assert model.converged_
    assert len(model.objective_) == model.n_iter_ + 1
    assert (model.losses_.tolist(), model.reason_) == (model.objective_[-1:].tolist(), "tolerance")


def test_two_sets_of_nodes_with_features():
    X, Z, F = random_labels(4, 3, seed=1).numpy(), random_labels(5, 2, seed=2).numpy(), random_labels(4, 5).numpy()
    edges = complete_edges(4, 5).numpy()
    A = kron_rank_rls(X @ X.T, Z @ Z.T, F, 2.0)
    numbered = KroneckerRLS(2.0, nodes=X, end_nodes=Z, loss="ranking").fit(edges, F.ravel())
    np.testing.assert_allclose(numbered.predict(edges), (X @ X.T @ A @ Z @ Z.T).ravel(), atol=1e-11)
    rows = np.hstack([X[edges[:, 0]], Z[edges[:, 1]]])
    by_features = KroneckerRLS(2.0, n_start_features=3, loss="ranking").fit(rows, F.ravel())
    np.testing.assert_allclose(by_features.predict(rows), numbered.predict(edges), atol=1e-11)
    assert by_features.pair_duals_.shape == (4, 5)
    result = conditional_ranking_error(F, numbered.predict(edges).reshape(4, 5))
    assert numbered.score(edges, F.ravel()) == by_features.score(rows, F.ravel()) == 1 - result.pooled


def test_tables_of_nodes_with_names():
    pd = pytest.importorskip("pandas")
    X, Z = random_labels(4, 3, seed=1).numpy(), random_labels(5, 2, seed=2).numpy()
    edges, y = complete_edges(4, 5).numpy(), random_labels(20).numpy()
    drugs, targets = pd.DataFrame(X, index=list("abcd")), pd.DataFrame(Z, index=list("vwxyz"))
    table = pd.DataFrame({"drug": drugs.index[edges[:, 0]], "target": targets.index[edges[:, 1]]})
    model = KroneckerRLS(nodes=drugs, end_nodes=targets)
    with pytest.raises(ValueError, match="X has 'a' at row 0, column 0"):
        model.fit(table, y)
    table["drug"] = pd.Index(drugs.index).get_indexer(table["drug"])
    table["target"] = pd.Index(targets.index).get_indexer(table["target"])
    expected = KroneckerRLS(nodes=X, end_nodes=Z).fit(edges, y).predict(edges)
    np.testing.assert_array_equal(model.fit(table, y).predict(table), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["target", "drug"]])


def test_one_set_of_nodes_by_features():
    X, F, edges = random_labels(5, 2, seed=1).numpy(), random_labels(5, 5).numpy(), complete_edges(5, 5).numpy()
    rows = np.hstack([X[edges[:, 0]], X[edges[:, 1]]])
    model = KroneckerRLS(kernel="rbf", kernel_params={"gamma": 0.5}, relation="reciprocal").fit(rows, F.ravel())
    assert model.end_nodes_ is None
    scores = model.predict(rows).reshape(5, 5)
    np.testing.assert_allclose(scores, -scores.T, atol=1e-13)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    np.testing.assert_allclose(scores, K @ kron_rls(K, None, F, 1.0, relation="reciprocal") @ K, atol=1e-12)
    by_callable = clone(model).set_params(kernel=lambda a, b: np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1)))
    np.testing.assert_allclose(by_callable.fit(rows, F.ravel()).predict(rows), scores.ravel(), atol=1e-12)


def test_pipeline_and_grid_search():
    rng = np.random.default_rng(0)
    X, F = rng.normal(size=(8, 2)), rng.normal(size=(8, 8))
    edges = complete_edges(8, 8).numpy()
    rows = np.hstack([X[edges[:, 0]], X[edges[:, 1]]])
    model = make_pipeline(StandardScaler(), KroneckerRLS())
    search = GridSearchCV(model, {"kroneckerrls__alpha": [0.1, 10.0]}, cv=KFold(3)).fit(rows, F.ravel())
    assert search.predict(rows).shape == (64,)
    numbered = KroneckerRLS(nodes=X, end_nodes=X)
    splitter = ConditionalSplit(4, 2, generator=generator_of(0))
    assert GridSearchCV(numbered, {"alpha": [0.1, 10.0]}, cv=splitter).fit(edges, F.ravel()).best_params_["alpha"] in (
        0.1,
        10,
    )


@pytest.mark.parametrize("cv", ["edge", "start", "end"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_cv_on_complete_graphs_uses_the_leave_out_formulas(loss, cv):
    Ks, Ke, F = random_kernel(5, 5, 1).numpy(), random_kernel(4, 4, 2).numpy(), random_labels(5, 4).numpy()
    alphas, edges = np.array([0.01, 1.0, 100.0]), complete_edges(5, 4).numpy()
    model = KroneckerRLSCV(alphas, cv=cv, kernel="precomputed", nodes=Ks, end_nodes=Ke, loss=loss).fit(edges, F.ravel())
    left_out = KroneckerEigh(Ks, Ke, loss=loss).loo(F, alphas, exclude=cv)
    if loss == "regression":
        expected = ((left_out - F) ** 2).mean((1, 2))
    else:
        expected = [conditional_ranking_error(F, scores).pooled for scores in left_out]
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=1e-12)
    assert model.alpha_ == alphas[np.argmin(expected)]
    refit = KroneckerRLS(model.alpha_, kernel="precomputed", nodes=Ks, end_nodes=Ke, loss=loss).fit(edges, F.ravel())
    np.testing.assert_allclose(model.predict(edges), refit.predict(edges), atol=1e-12)


@pytest.mark.parametrize("complete", [True, False])
def test_cv_over_both_nodes_fits_fold_by_fold(complete):
    K, F = random_kernel(9, 9, 1).numpy(), random_labels(9, 9).numpy()
    edges = complete_edges(9, 9).numpy()[:: 1 if complete else 2]
    y, alphas = F[edges[:, 0], edges[:, 1]], [0.1, 10.0]
    model = KroneckerRLSCV(alphas, cv="both", n_splits=2, random_state=0, kernel="precomputed", nodes=K, end_nodes=K)
    model.fit(edges, y)
    errors = np.zeros(2)
    for train, test in ConditionalSplit(4, 2, generator=generator_of(0)).split(edges):
        for i, alpha in enumerate(alphas):
            fit = KroneckerRLS(alpha, kernel="precomputed", nodes=K, end_nodes=K).fit(edges[train], y[train])
            errors[i] += ((fit.predict(edges[test]) - y[test]) ** 2).sum() / len(y)
    np.testing.assert_allclose(model.cv_errors_, errors, rtol=1e-6)


def test_cv_of_a_symmetric_relation_keeps_mirrored_edges_together():
    K, F = random_kernel(6, 6, 1).numpy(), random_labels(6, 6).numpy()
    edges = complete_edges(6, 6).numpy()
    options = {"kernel": "precomputed", "nodes": K, "relation": "symmetric"}
    model = KroneckerRLSCV([1.0, 2.0], random_state=0, **options).fit(edges, (F + F.T).ravel())
    splitter = ConditionalSplit(1, 3, one_domain=True, undirected=True, generator=generator_of(0))
    again = KroneckerRLSCV([1.0, 2.0], cv=splitter, **options).fit(edges, (F + F.T).ravel())
    np.testing.assert_allclose(model.cv_errors_, again.cv_errors_, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"kernel": "precomputed"}, SPARSE, "kernel='precomputed' needs nodes=K"),
        ({"nodes": np.eye(3)}, SPARSE, r"X\[2, 0\] is 5"),
        ({"nodes": np.eye(7)}, SPARSE + 0.5, r"with nodes given it holds \(start, end\) node numbers"),
        ({}, np.zeros((8, 3)), r"X has 3 feature\(s\), n_start_features=None"),
        ({"n_start_features": 1, "relation": "symmetric"}, np.zeros((8, 3)), "needs as many features of the start"),
        ({"nodes": np.eye(7), "solver": "eigen"}, SPARSE, "solver='eigen' needs every pair of nodes exactly once"),
        ({"nodes": np.eye(7), "solver": "lu"}, SPARSE, "solver='lu'"),
        ({"nodes": np.eye(7), "loss": "hinge"}, SPARSE, "loss='hinge'"),
    ],
)
def test_bad_input_is_named(options, X, message):
    with pytest.raises(ValueError, match=message):
        KroneckerRLS(**options).fit(X, np.arange(8.0))


def test_refusals_of_cv_and_of_weights():
    with pytest.raises(ValueError, match="cv='node'"):
        KroneckerRLSCV(nodes=np.eye(7), cv="node").fit(SPARSE, np.arange(8.0))
    with pytest.raises(ValueError, match=r"alphas has shape \(0,\)"):
        KroneckerRLSCV([], nodes=np.eye(7)).fit(SPARSE, np.arange(8.0))
    model = KroneckerRLS(nodes=np.eye(7), loss="ranking").fit(SPARSE, np.arange(8.0))
    with pytest.raises(ValueError, match="sample_weight does not weigh"):
        model.score(SPARSE, np.arange(8.0), sample_weight=np.ones(8))


def test_warns_when_not_converged():
    K = random_kernel(7, 7, 1).numpy()
    with pytest.warns(ConvergenceWarning):
        model = KroneckerRLS(1e-6, kernel="precomputed", nodes=K, max_iter=2).fit(SPARSE, random_labels(8).numpy())
    assert not model.converged_


@pytest.mark.slow
def test_the_core_does_not_import_scikit_learn():
    code = "import sys, torchrank.conditional, torchrank.metrics, torchrank.linalg; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("part", [slice(None), slice(0, 700)])
def test_precomputed_kernel_in_float32(part):
    x, F = random_labels(30, 3).numpy().astype(np.float32), random_labels(30, 30).numpy()
    edges, y = complete_edges(30, 30).numpy()[part], F.ravel()[part]
    model = KroneckerRLS(0.1, kernel="precomputed", nodes=x @ x.T).fit(edges, y)
    exact = KroneckerRLS(0.1, nodes=x).fit(edges, y)
    assert model.pair_duals_.dtype == exact.pair_duals_.dtype == np.float64
    assert model.converged_
    assert exact.converged_
    np.testing.assert_allclose(model.predict(edges), exact.predict(edges), atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": [1.0, 2.0]}, "alpha=.* is not a number"),
        ({"end_nodes": np.eye(3)}, "end_nodes without nodes"),
        ({"nodes": np.ones((3, 4)), "kernel": "precomputed"}, "expected the square kernel matrix"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        KroneckerRLS(**options).fit([[0, 1], [1, 2]], [1.0, 2.0])


def test_what_cannot_choose_alpha_is_named():
    edges, y = np.array([[0, 1], [1, 2], [2, 0], [0, 2]]), np.arange(4.0)
    with pytest.raises(TypeError, match="cv=3 is not a splitter"):
        KroneckerRLSCV([1.0, 2.0], cv=3, nodes=np.eye(3)).fit(edges, y)
    every_edge_of_another_node = np.array([[0, 1], [1, 2], [2, 0]])
    with pytest.raises(ValueError, match="none that could be ranked"):
        KroneckerRLSCV([1.0, 2.0], loss="ranking", cv="edge", n_splits=3, nodes=np.eye(3)).fit(
            every_edge_of_another_node, y[:3]
        )
