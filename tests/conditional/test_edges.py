"""Iterative solutions on lists of edges against the explicit edge kernel."""

import math
import warnings

import numpy as np
import pytest
import torch

from tests.oracles.conditional import complete_edges, edge_duals, pair_kernel_matrix, random_kernel, random_labels
from torchrank import ConvergenceWarning
from torchrank.conditional import (
    kron_edge_rls,
    kron_iterative_rls,
    kron_rank_rls,
    kron_rls,
    observed_edges,
)

METHODS = pytest.mark.parametrize("method", ["cg", "bicgstab"])
LOSSES = pytest.mark.parametrize(
    ("loss", "direction"), [("regression", "outgoing"), ("ranking", "outgoing"), ("ranking", "incoming")]
)
RELATIONS = pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
# repeated edges, loops, a node with one outgoing edge, isolated nodes
EDGES = torch.tensor([[0, 1], [0, 2], [0, 1], [2, 2], [2, 0], [3, 1], [2, 4], [0, 0], [2, 1], [1, 0], [1, 3]])


def explicit(Ks, Ke, edges, y, lam, loss="regression", direction="outgoing", relation="ordinary"):
    n = len(Ke)
    places = edges[:, 0] * n + edges[:, 1]
    G = pair_kernel_matrix(Ks, Ke, relation)[places][:, places]
    groups = edges[:, 0 if direction == "outgoing" else 1] if loss == "ranking" else None
    return edge_duals(G, y, lam, groups)


@METHODS
@LOSSES
@RELATIONS
@pytest.mark.parametrize(("p", "rank"), [(6, 6), (7, 2)])
def test_one_set_of_nodes(p, rank, relation, loss, direction, method):
    K, y = random_kernel(p, rank, 1), random_labels(len(EDGES))
    fit = kron_edge_rls(
        K, None, EDGES, y, 0.5, loss=loss, direction=direction, relation=relation, method=method, tol=1e-13
    )
    expected = explicit(K, K, EDGES, y, 0.5, loss, direction, relation)
    torch.testing.assert_close(fit.duals, expected, rtol=0, atol=1e-9)
    new = random_labels(3, p, seed=7)
    G_new = pair_kernel_matrix(new, new, relation)[:, EDGES[:, 0] * p + EDGES[:, 1]]
    torch.testing.assert_close(fit.predict(new).reshape(-1), G_new @ expected, rtol=0, atol=1e-9)
    assert fit.converged
    assert fit.reason == "tolerance"
    assert len(fit.objective) == fit.n_iter + 1
    assert fit.losses == fit.objective[-1:]


@METHODS
@LOSSES
def test_two_sets_of_nodes(loss, direction, method):
    Ks, Ke, y = random_kernel(4, 4, 1), random_kernel(7, 3, 2), random_labels(len(EDGES))
    fit = kron_edge_rls(Ks, Ke, EDGES, y, 2.0, loss=loss, direction=direction, method=method, tol=1e-13)
    torch.testing.assert_close(fit.duals, explicit(Ks, Ke, EDGES, y, 2.0, loss, direction), rtol=0, atol=1e-9)
    assert fit.predict(Ks[:2], Ke[:5]).shape == (2, 5)


@METHODS
@LOSSES
def test_complete_graph_equals_the_closed_form(loss, direction, method):
    Ks, Ke, F = random_kernel(4, 4, 1), random_kernel(5, 2, 2), random_labels(4, 5)
    edges = complete_edges(4, 5)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    fit = kron_edge_rls(
        Ks, Ke, edges[order], F.reshape(-1)[order], 0.7, loss=loss, direction=direction, method=method, tol=1e-13
    )
    closed = kron_rls(Ks, Ke, F, 0.7) if loss == "regression" else kron_rank_rls(Ks, Ke, F, 0.7, direction=direction)
    torch.testing.assert_close(fit.pair_duals, closed, rtol=0, atol=1e-9)


def test_repeated_edges_share_their_weight():
    fit = kron_edge_rls(torch.eye(2, dtype=torch.float64), None, [[0, 1], [0, 1]], [1.0, 3.0], 1.0)
    assert float(fit.pair_duals[0, 1]) == pytest.approx(4 / 3, rel=1e-12)


def test_groups_of_three_one_no_and_four_edges():
    K = random_kernel(5, 5, 3)
    edges = torch.tensor([[3, 0], [0, 1], [3, 1], [0, 2], [1, 4], [3, 4], [0, 3], [3, 3]])
    y = random_labels(8)
    fit = kron_edge_rls(K, None, edges, y, 1.0, loss="ranking", tol=1e-13)
    torch.testing.assert_close(fit.duals, explicit(K, K, edges, y, 1.0, "ranking"), rtol=0, atol=1e-10)
    assert float(fit.duals[4]) == pytest.approx(0, abs=1e-15)  # the only edge of node 1 compares with nothing
    scores = fit.predict(K)
    assert scores.isfinite().all()
    assert scores[2].abs().max() > 1e-3  # node 2 has no edges and is ranked all the same


def test_edge_weights_of_the_two_readings_of_the_ranking_loss():
    """Centered blocks weigh a node's pairs by 1 / (2 l): as many edges, each pair counted in both orders."""
    groups, c = torch.tensor([0, 0, 0, 1, 1]), random_labels(5)
    pairs = sum(
        (c[i] - c[j]) ** 2 / (2 * int((groups == groups[i]).sum()))
        for i in range(5)
        for j in range(5)
        if groups[i] == groups[j]
    )
    centered = c - torch.stack([c[groups == g].mean() for g in groups])
    assert float(centered.square().sum()) == pytest.approx(float(pairs), rel=1e-13)


@METHODS
@pytest.mark.parametrize(
    ("label", "dtype"),
    [(1e-7, torch.float64), (1e-300, torch.float64), (1e300, torch.float64), (1e-30, torch.float32)],
)
def test_labels_of_any_size_are_fitted(method, label, dtype):
    fit = kron_edge_rls(torch.eye(2, dtype=dtype), None, complete_edges(2, 2), [label] * 4, 1.0, method=method)
    torch.testing.assert_close(
        fit.duals, torch.full((4,), label / 2, dtype=dtype), rtol=4 * torch.finfo(dtype).eps, atol=0
    )
    assert fit.n_iter == 1


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_symmetric_regression_is_ordinary_regression_on_both_directions_at_twice_lam(relation):
    K, y = random_kernel(6, 6, 1), random_labels(len(EDGES))
    sign = 1 if relation == "symmetric" else -1
    both = kron_edge_rls(K, None, torch.cat([EDGES, EDGES.flip(1)]), torch.cat([y, sign * y]), 1.0, tol=1e-13)
    fit = kron_edge_rls(K, None, EDGES, y, 0.5, relation=relation, tol=1e-13)
    torch.testing.assert_close(fit.predict(K), both.predict(K), rtol=0, atol=1e-10)


@METHODS
@LOSSES
@RELATIONS
def test_iterates_in_the_eigenbasis_are_those_on_the_edges(relation, loss, direction, method):
    p = 6
    K, F = random_kernel(p, 4, 1), random_labels(p, p)
    seen = {"edges": [], "complete": []}

    def record(name):
        return lambda state: seen[name].append((state.residual, state.duals().reshape(-1)))

    options = {"loss": loss, "direction": direction, "relation": relation, "method": method, "tol": 0}
    options["max_iter"] = 6 if method == "cg" else 3  # BiCGSTAB magnifies rounding from step to step
    on_edges = kron_edge_rls(K, None, complete_edges(p, p), F.reshape(-1), 3.0, callback=record("edges"), **options)
    complete = kron_iterative_rls(K, None, F, 3.0, callback=record("complete"), **options)
    for (residual, duals), (residual_c, duals_c) in zip(seen["edges"], seen["complete"], strict=True):
        assert residual_c == pytest.approx(residual, rel=1e-6, abs=1e-12)
        torch.testing.assert_close(duals_c, duals, rtol=0, atol=1e-11)
    torch.testing.assert_close(complete.predict(K), on_edges.predict(K), rtol=0, atol=1e-9)


def test_symmetric_ranking_on_a_complete_graph_has_no_label_trick():
    K, F = random_kernel(5, 5, 1), random_labels(5, 5)
    fit = kron_iterative_rls(K, None, F, 1.0, loss="ranking", relation="symmetric", tol=1e-13)
    expected = explicit(K, K, complete_edges(5, 5), F.reshape(-1), 1.0, "ranking", relation="symmetric")
    torch.testing.assert_close(fit.duals.reshape(-1), expected, rtol=0, atol=1e-9)
    assert (fit.predict(K) - fit.predict(K).mT).abs().max() < 1e-12
    trick = kron_rank_rls(K, None, (F + F.mT) / 2, 1.0)
    assert (K @ trick @ K - fit.predict(K)).abs().max() > 1e-2


def test_two_domains_in_the_eigenbasis():
    Ks, Ke, F = random_kernel(4, 4, 1), random_kernel(6, 6, 2), random_labels(4, 6)
    for direction in ("outgoing", "incoming"):
        fit = kron_iterative_rls(Ks, Ke, F, 0.5, loss="ranking", direction=direction, tol=1e-13)
        torch.testing.assert_close(fit.duals, kron_rank_rls(Ks, Ke, F, 0.5, direction=direction), rtol=0, atol=1e-9)


def test_early_stopping_restores_the_best_iterate():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(20, 20, dtype=torch.float64, generator=generator)
    K, F = X @ X.mT, X @ torch.randn(20, 20, dtype=torch.float64, generator=generator) @ X.mT
    noisy = F + 100 * torch.randn(20, 20, dtype=torch.float64, generator=generator)
    edges = complete_edges(20, 20)[torch.randperm(400, generator=generator)]
    train, held_out = edges[:250], edges[250:]
    targets = F[held_out[:, 0], held_out[:, 1]]
    iterates = []
    fit = kron_edge_rls(
        K, None, train, noisy[train[:, 0], train[:, 1]], 0.0, max_iter=300, validation=(held_out, targets), patience=5,
        callback=lambda state: iterates.append((state.duals(), state.validation_error)),
    )  # fmt: skip
    errors = [error for _, error in iterates]
    assert fit.reason == "validation"
    assert list(fit.validation_errors) == errors
    assert errors[fit.best_iter - 1] == min(errors)
    assert fit.losses == (min(errors),)
    assert fit.n_iter == fit.best_iter + 5
    assert torch.equal(fit.duals, iterates[fit.best_iter - 1][0])
    scores = fit.predict(K)[held_out[:, 0], held_out[:, 1]]
    assert float((scores - targets).square().mean()) == pytest.approx(min(errors), rel=1e-9)


def test_ranking_is_validated_by_misordered_pairs_and_functions_may_judge_too():
    K, y = random_kernel(6, 6, 1), random_labels(len(EDGES))
    held_out = torch.tensor([[0, 3], [0, 4], [0, 5], [1, 1], [1, 2]])
    fit = kron_edge_rls(K, None, EDGES, y, 1.0, loss="ranking", validation=(held_out, [1, 2, 3, 4, 5]), patience=3)
    assert {round(4 * error, 9) % 0.5 for error in fit.validation_errors} == {0}  # four pairs
    calls = []
    fit = kron_iterative_rls(
        K, None, random_labels(6, 6), 0.0, validation=lambda a: calls.append(a) or len(calls), patience=4
    )
    assert (fit.best_iter, fit.n_iter) == (1, 5)
    assert torch.equal(fit.duals, calls[0])


def test_warm_start_continues():
    K, y = random_kernel(6, 6, 1), random_labels(len(EDGES))
    full = kron_edge_rls(K, None, EDGES, y, 1.0, loss="ranking", tol=1e-10)
    with pytest.warns(
        ConvergenceWarning, match="kron_edge_rls.loss='ranking', method='cg'. did not converge in 3 iterations"
    ):
        short = kron_edge_rls(K, None, EDGES, y, 1.0, loss="ranking", max_iter=3)
    assert (short.converged, short.reason) == (False, "max_iter")
    again = kron_edge_rls(K, None, EDGES, y, 1.0, loss="ranking", tol=1e-10, warm_start=short.duals)
    assert again.objective[0] == pytest.approx(short.objective[-1], rel=1e-6)
    torch.testing.assert_close(again.duals, full.duals, rtol=0, atol=1e-8)
    assert kron_edge_rls(K, None, EDGES, y, 1.0, loss="ranking", tol=1e-9, warm_start=full.duals).n_iter == 0


def test_fixed_number_of_iterations_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = kron_edge_rls(random_kernel(6, 6, 1), None, EDGES, random_labels(len(EDGES)), 0.0, tol=0, max_iter=4)
    assert fit.n_iter == 4


def test_callback_stops():
    K, y = random_kernel(6, 6, 1), random_labels(len(EDGES))
    fit = kron_edge_rls(K, None, EDGES, y, 1.0, callback=lambda state: state.n_iter == 2)
    assert (fit.n_iter, fit.reason, fit.converged) == (2, "callback", False)


def test_labels_of_zero_and_a_single_node():
    fit = kron_edge_rls(torch.eye(3), None, EDGES[:1], torch.zeros(1), 1.0)
    assert fit.duals.tolist() == [0]
    assert fit.converged
    single = kron_edge_rls(np.array([[2.0]]), None, [[0, 0], [0, 0]], [1, 3], 1.0, loss="ranking")
    assert isinstance(single.duals, np.ndarray)
    np.testing.assert_allclose(single.duals, [-1, 1])
    assert single.pair_duals.tolist() == [[0]]
    assert single.predict(np.array([[2.0]])).tolist() == [[0]]


def test_no_edges_at_all():
    fit = kron_edge_rls(torch.eye(3), None, torch.zeros((0, 2), dtype=torch.int64), torch.zeros(0), 1.0, loss="ranking")
    assert fit.duals.shape == (0,)
    assert fit.predict(torch.eye(3)).abs().max() == 0


def test_float32_stays_float32():
    fit = kron_edge_rls(random_kernel(6, 3, 1).float(), None, EDGES, random_labels(len(EDGES)).float(), 1.0)
    assert fit.duals.dtype == torch.float32
    assert fit.converged


def test_observed_edges_of_a_matrix():
    F = torch.tensor([[1.0, math.nan, 3], [math.nan, 5, 6]])
    edges, y = observed_edges(F)
    assert edges.tolist() == [[0, 0], [0, 2], [1, 1], [1, 2]]
    assert y.tolist() == [1, 3, 5, 6]
    assert all(isinstance(x, np.ndarray) for x in observed_edges(F.numpy()))


@LOSSES
@RELATIONS
def test_gradients(relation, loss, direction):
    def duals(X, y, lam):
        options = {"loss": loss, "direction": direction, "relation": relation, "tol": 1e-14}
        return kron_edge_rls(X @ X.mT, None, EDGES, y, lam, **options).duals

    X = random_labels(6, 2, seed=4)
    inputs = (X, random_labels(len(EDGES)), torch.tensor(0.8, dtype=torch.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digit of so small a tolerance may not be reached
        leaves = tuple(x.requires_grad_() for x in inputs)
        assert torch.autograd.gradcheck(duals, leaves, atol=1e-6, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(duals, leaves, atol=1e-5, check_fwd_over_rev=True)


def test_gradients_of_pair_duals_of_two_domains():
    y = random_labels(len(EDGES))

    def pair_duals(X, Z, y):
        return kron_edge_rls(X @ X.mT, Z @ Z.mT, EDGES, y, 1.0, tol=1e-13).pair_duals

    inputs = (random_labels(4, 4, seed=1), random_labels(5, 3, seed=2), y)
    assert torch.autograd.gradcheck(pair_duals, tuple(x.requires_grad_() for x in inputs), atol=1e-6)


def test_stopped_iterations_carry_no_gradient():
    K = random_kernel(6, 6, 1).requires_grad_()
    assert not kron_edge_rls(K, None, EDGES, random_labels(len(EDGES)), 1.0, tol=0, max_iter=2).duals.requires_grad


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"edges": [[0, 6]]}, ValueError, r"edges\[0, 1\] is 6"),
        ({"edges": [[-1, 0]]}, ValueError, r"edges\[0, 0\] is -1"),
        ({"edges": [[0, 1, 2]]}, ValueError, r"edges has shape \(1, 3\)"),
        ({"edges": [[0.0, 1.0]]}, TypeError, r"edges has dtype torch.float64"),
        ({"y": [1.0, 2.0]}, ValueError, r"y has shape \(2,\)"),
        ({"y": [math.nan]}, ValueError, r"y\[0\] is nan"),
        ({"lam": -0.5}, ValueError, "lam has the value -0.5"),
        ({"lam": [1.0, 2.0]}, ValueError, r"lam has shape \(2,\)"),
        ({"method": "minres"}, ValueError, "method='minres'"),
        ({"loss": "hinge"}, ValueError, "loss='hinge'"),
        ({"max_iter": 0}, ValueError, "max_iter=0"),
        ({"tol": -1.0}, ValueError, r"tol=-1.0"),
        ({"patience": 0}, ValueError, "patience=0"),
        ({"warm_start": [1.0, 2.0]}, ValueError, r"warm_start has shape \(2,\)"),
        ({"validation": ([[0, 9]], [1.0])}, ValueError, r"validation\[0\]\[0, 1\] is 9"),
    ],
)
def test_bad_input_is_named(changed, error, message):
    arguments = {"K_start": np.eye(6), "K_end": None, "edges": [[0, 1]], "y": [1.0], "lam": 1.0, **changed}
    with pytest.raises(error, match=message):
        kron_edge_rls(**arguments)


def test_an_iteration_has_one_output():
    with pytest.raises(ValueError, match=r"F has shape \(2, 3, 3\)"):
        kron_iterative_rls(np.eye(3), None, np.zeros((2, 3, 3)), 1.0)


def test_float32_kernel_of_rank_one_in_the_eigenbasis():
    v = torch.arange(1.0, 9)
    K = torch.outer(v, v)
    fit = kron_iterative_rls(K, None, torch.ones(8, 8), 1e-3)
    assert float(fit.predict(K)[7, 7]) == pytest.approx(1.993080, abs=1e-5)  # rounded duals give 2.17
    assert fit.duals.dtype == fit.predict(K).dtype == torch.float32


def test_validation_may_be_any_pair_of_edges_and_labels():
    K, edges, y = np.eye(3), np.array([[0, 1], [1, 2], [2, 0]]), np.array([1.0, 2, 3])
    fits = [kron_edge_rls(K, None, edges, y, 1.0, validation=kind((edges, y))) for kind in (tuple, list)]
    assert fits[0].validation_errors == fits[1].validation_errors == pytest.approx([14 / 12])


@pytest.mark.parametrize("method", ["cg", "bicgstab"])
def test_an_indefinite_kernel_is_refused(method):
    edges, y, indefinite = [(0, 1), (1, 0)], [1.0, 1.0], np.diag([1.0, -1.0])
    with pytest.raises(ValueError, match="K_start is not positive semi-definite"):
        kron_edge_rls(indefinite, None, edges, y, 0.1, method=method)
    with pytest.raises(ValueError, match="K_end is not positive semi-definite"):
        kron_edge_rls(np.eye(2), indefinite, edges, y, 0.1, method=method)


def test_two_sets_of_nodes_need_two_kernels():
    K, L, edges, y = np.eye(2), 2 * np.eye(2), [(0, 1), (1, 0)], [1.0, 2.0]
    for fit in (kron_edge_rls(K, L, edges, y, 1.0), kron_iterative_rls(K, L, np.ones((2, 2)), 1.0)):
        with pytest.raises(ValueError, match="K_end is missing: start and end nodes are two sets"):
            fit.predict(K)
        assert fit.predict(K, L).shape == (2, 2)
    assert kron_edge_rls(K, K, edges, y, 1.0).predict(K).shape == (2, 2)


def test_validation_of_another_kind_is_named():
    with pytest.raises(TypeError, match="validation is int"):
        kron_edge_rls(np.eye(2), None, [(0, 1)], [1.0], 1.0, validation=5)


def test_validation_without_anything_to_measure_is_refused():
    y = torch.tensor([1.0, 2.0], dtype=torch.float64)
    one_edge_each = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="validation gave NaN after iteration 1"):
        kron_edge_rls(
            torch.eye(3).double(), None, [[0, 1], [0, 2]], y, 1.0, loss="ranking", validation=(one_edge_each, y)
        )


def test_backward_pass_that_does_not_converge_warns():
    K = torch.diag(torch.arange(1.0, 10).double()).requires_grad_()
    edges = torch.arange(9).repeat(2, 1).mT
    y = torch.eye(9, dtype=torch.float64)[0]  # an eigenvector: one iteration
    fit = kron_edge_rls(K, None, edges, y, 1.0, max_iter=1)
    assert fit.converged
    with pytest.warns(ConvergenceWarning, match="the gradient of kron_edge_rls did not converge in 1 iterations"):
        fit.duals.sum().backward()
