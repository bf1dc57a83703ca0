import pytest
import torch

from tests.oracles.conditional import edge_duals, random_kernel, random_labels
from torchrank.conditional import KroneckerEigh, kron_rank_rls, kron_rls, two_step_loo, two_step_rls

SOLVERS = {
    "regression": lambda Ks, Ke, F, lam: kron_rls(Ks, Ke, F, lam),
    "outgoing": lambda Ks, Ke, F, lam: kron_rank_rls(Ks, Ke, F, lam),
    "incoming": lambda Ks, Ke, F, lam: kron_rank_rls(Ks, Ke, F, lam, direction="incoming"),
}
FEATURES = {  # differences are taken in the features: a step in a singular kernel itself would leave the kernels
    "identity": torch.eye(4, dtype=torch.float64),
    "one-hot": torch.eye(3, dtype=torch.float64)[[0, 0, 1, 2]],
    "rank 2": random_labels(4, 2, seed=1),
    "full": random_labels(4, 6, seed=1),
}


def test_gradient_at_the_identity():
    K = torch.eye(2, dtype=torch.float64, requires_grad=True)
    kron_rls(K, None, torch.tensor([[1.0, 2], [3, 4]], dtype=torch.float64), 1.0).sum().backward()
    torch.testing.assert_close(
        K.grad, torch.tensor([[-1.75, -2.5], [-2.5, -3.25]], dtype=torch.float64), rtol=0, atol=0
    )


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_gradcheck_one_set_of_nodes(solver, name):
    F, lam = random_labels(2, 4, 4), torch.tensor([0.7, 2.0], dtype=torch.float64)

    def duals(X, F, lam):
        return SOLVERS[solver](X @ X.mT, None, F, lam)

    inputs = tuple(x.clone().requires_grad_() for x in (FEATURES[name], F, lam))
    assert torch.autograd.gradcheck(duals, inputs)
    assert torch.autograd.gradgradcheck(duals, inputs)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gradcheck_two_sets_of_nodes(solver):
    def duals(M, Z, F, lam):
        return SOLVERS[solver]((M + M.mT) / 2, Z @ Z.mT, F, lam)

    lam = torch.tensor(0.3, dtype=torch.float64)
    inputs = (torch.eye(3, dtype=torch.float64), random_labels(5, 2, seed=2), random_labels(3, 5), lam)
    assert torch.autograd.gradcheck(duals, tuple(x.requires_grad_() for x in inputs))


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_gradcheck_of_relations(relation):
    inputs = (torch.eye(3, dtype=torch.float64).requires_grad_(), random_labels(3, 3).requires_grad_())
    assert torch.autograd.gradcheck(lambda M, F: kron_rls((M + M.mT) / 2, None, F, 1.0, relation=relation), inputs)


def test_gradient_equals_that_of_the_explicit_solution():
    K, F = random_kernel(3, 3, 1), random_labels(3, 3)
    ours, theirs = K.clone().requires_grad_(), K.clone().requires_grad_()
    (kron_rls(ours, None, F, 0.4) ** 2).sum().backward()
    symmetric = (theirs + theirs.mT) / 2
    (edge_duals(torch.kron(symmetric, symmetric), F.reshape(-1), 0.4) ** 2).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-10, atol=1e-10)


def test_gradient_is_symmetric_and_in_the_dtype_of_the_kernel():
    K = random_kernel(4, 2, 1).float().requires_grad_()
    lam = torch.tensor(1.0, requires_grad=True)
    kron_rank_rls(K, None, random_labels(4, 4).float(), lam).pow(2).sum().backward()
    assert K.grad.dtype == lam.grad.dtype == torch.float32
    assert torch.equal(K.grad, K.grad.mT)


def test_predictions_and_only_the_labels_needing_a_gradient():
    K, F = random_kernel(3, 3, 1), random_labels(3, 3).requires_grad_()
    solver = KroneckerEigh(K)
    solver.solve(F, 1.0)
    solver.predict(K[:1], K[:2]).sum().backward()
    hat = torch.kron(K[:1], K[:2]) @ torch.linalg.inv(torch.kron(K, K) + torch.eye(9, dtype=torch.float64))
    torch.testing.assert_close(F.grad.reshape(-1), hat.sum(0), rtol=0, atol=1e-11)


def test_no_regularization_has_a_gradient_only_where_the_kernel_is_regular():
    F = random_labels(3, 3)
    with pytest.raises(ValueError, match="lam=0 with a singular kernel: the solution jumps"):
        kron_rls(random_kernel(3, 2, 1).requires_grad_(), None, F, 0.0)
    K = random_kernel(3, 3, 1).requires_grad_()
    kron_rls(K, None, F, 0.0).sum().backward()
    explicit = K.detach().clone().requires_grad_()
    (torch.linalg.inv(explicit) @ F @ torch.linalg.inv(explicit)).sum().backward()
    torch.testing.assert_close(K.grad, (explicit.grad + explicit.grad.mT) / 2, rtol=1e-8, atol=1e-8)


def test_leave_out_predictions_carry_no_gradient():
    K = random_kernel(3, 3, 1).requires_grad_()
    assert not KroneckerEigh(K).loo(random_labels(3, 3), 1.0).requires_grad


@pytest.mark.parametrize("solver", [kron_rls, kron_rank_rls])
def test_every_mode_and_order(solver):
    generator = torch.Generator().manual_seed(3)
    Z = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    inputs = (
        Z @ Z.mT + torch.eye(4),
        torch.randn(4, 4, generator=generator, dtype=torch.float64),
        torch.tensor(0.7).double(),
    )

    def duals(K, F, lam):
        return solver((K + K.mT) / 2, None, F, lam)

    def loss(K, F, lam):
        return duals(K, F, lam).square().sum()

    leaves = [value.clone().requires_grad_() for value in inputs]
    assert torch.autograd.gradcheck(duals, leaves, check_forward_ad=True)
    expected = torch.autograd.grad(loss(*leaves), leaves)
    torch.testing.assert_close(torch.func.grad(loss, (0, 1, 2))(*inputs), expected)
    torch.testing.assert_close(torch.func.jacfwd(loss, 1)(*inputs), expected[1])
    slope = torch.func.jvp(loss, inputs, tuple(map(torch.ones_like, inputs)))[1]
    torch.testing.assert_close(slope, sum(part.sum() for part in expected))
    assert torch.func.hessian(loss, 1)(*inputs).isfinite().all()
    many = torch.stack([inputs[1], inputs[1].mT])
    batch = torch.func.vmap(lambda F: solver(inputs[0], None, F, 1.0))(many)
    torch.testing.assert_close(batch, torch.stack([solver(inputs[0], None, F, 1.0) for F in many]))
    with pytest.raises(RuntimeError, match="vmap is for labels F"):
        torch.func.vmap(lambda lam: _solved(inputs[0], inputs[1], lam))(torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("solver", [two_step_rls, two_step_loo])
@pytest.mark.parametrize("shared", [True, False])
def test_two_steps_are_differentiable_in_everything(solver, shared):
    generator = torch.Generator().manual_seed(4)
    X, Z, F = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((4, 2), (3, 3), (4, 3)))
    F = F @ F.mT if shared else F

    def result(X, Z, F, start, end):
        K = X @ X.mT
        return solver(K, None if shared else Z @ Z.mT, F, start, end)

    lams = (torch.tensor(0.7, dtype=torch.float64), torch.tensor(1.3, dtype=torch.float64))
    leaves = [value.clone().requires_grad_() for value in (X, Z, F, *lams)]
    used = leaves if not shared else [leaves[0], *leaves[2:]]

    def of_used(*values):
        return result(*values) if not shared else result(values[0], Z, *values[1:])

    assert torch.autograd.gradcheck(of_used, used, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(of_used, used)


def _solved(K, F, lam):
    from torchrank.conditional.adjoint import solve_pairs

    return solve_pairs(F, K, K, lam, lambda F, lam: F)
