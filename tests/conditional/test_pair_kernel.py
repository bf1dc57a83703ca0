import numpy as np
import pytest
import torch

from tests.oracles.conditional import pair_kernel_matrix, random_kernel, random_labels
from torchrank.conditional import PairKernel, antisymmetrize, symmetrize

RELATIONS = pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])


@RELATIONS
@pytest.mark.parametrize(("r", "p"), [(3, 3), (2, 4), (4, 2), (1, 1)])
def test_operator_and_dense_form_follow_the_definition(relation, r, p):
    K, F = random_labels(r, p), random_labels(5, p, p, seed=1)
    operator, explicit = PairKernel(K, relation=relation), pair_kernel_matrix(K, K, relation)
    assert operator.shape == explicit.shape
    assert (operator.relation, operator.out_edges, operator.in_edges) == (relation, None, None)
    torch.testing.assert_close(operator.to_dense(), explicit, rtol=0, atol=1e-14)
    torch.testing.assert_close((operator @ F).flatten(1), F.flatten(1) @ explicit.mT, rtol=0, atol=1e-13)
    torch.testing.assert_close(operator.mT.to_dense(), explicit.mT, rtol=0, atol=1e-14)


def test_two_domains_and_rectangular_blocks():
    G, H, F = random_labels(2, 3), random_labels(5, 4, seed=1), random_labels(3, 4, seed=2)
    operator, explicit = PairKernel(G, H), pair_kernel_matrix(G, H)
    torch.testing.assert_close(operator.to_dense(), explicit, rtol=0, atol=0)
    torch.testing.assert_close((operator @ F).reshape(-1), explicit @ F.reshape(-1), rtol=0, atol=1e-13)
    assert operator.mT.shape == (12, 10)


def listed_or_all(relation, r, p, out_listed, in_listed):
    """An operator, its matrix by definition, and the shapes of weights and values."""
    K = random_labels(r, p)
    explicit = pair_kernel_matrix(K, K, relation)
    out_edges = torch.tensor([[0, 1], [1, 0], [0, 0], [0, 1]]) if out_listed else None
    in_edges = torch.tensor([[0, 1], [1, 0], [1, 1], [0, 1], [p - 1, 0]]) if in_listed else None
    if out_edges is not None:
        explicit = explicit[out_edges[:, 0] * r + out_edges[:, 1]]
    if in_edges is not None:
        explicit = explicit[:, in_edges[:, 0] * p + in_edges[:, 1]]
    operator = PairKernel(K, relation=relation, out_edges=out_edges, in_edges=in_edges)
    return operator, explicit, (5,) if in_listed else (p, p), (4,) if out_listed else (r, r)


@RELATIONS
@pytest.mark.parametrize(("r", "p"), [(3, 3), (2, 4)])
@pytest.mark.parametrize(("out_listed", "in_listed"), [(True, True), (True, False), (False, True)])
def test_between_listed_edges(relation, r, p, out_listed, in_listed):
    operator, explicit, shape, values = listed_or_all(relation, r, p, out_listed, in_listed)
    assert operator.shape == explicit.shape
    torch.testing.assert_close(operator.to_dense(), explicit, rtol=0, atol=1e-14)
    torch.testing.assert_close(operator.mT.to_dense(), explicit.mT, rtol=0, atol=1e-14)
    for leading in ((), (3,), (2, 0), (2, 3)):
        v = random_labels(*leading, *shape)
        expected = (v.reshape(*leading, explicit.shape[1]) @ explicit.mT).reshape(*leading, *values)
        torch.testing.assert_close(operator @ v, expected, rtol=0, atol=1e-13)
    many = random_labels(3, *shape)
    torch.testing.assert_close(torch.func.vmap(operator.matmul)(many), operator @ many, rtol=0, atol=0)


@RELATIONS
@pytest.mark.parametrize(("out_listed", "in_listed"), [(True, True), (True, False), (False, True), (False, False)])
def test_derivatives_between_all_pairs_and_between_edges(relation, out_listed, in_listed):
    operator, _, shape, _ = listed_or_all(relation, 3, 3, out_listed, in_listed)

    def product(K, v):
        edges = {"out_edges": operator.out_edges, "in_edges": operator.in_edges}
        return PairKernel(K, relation=relation, **edges) @ v

    inputs = (operator.K_start.clone().requires_grad_(), random_labels(*shape).requires_grad_())
    assert torch.autograd.gradcheck(product, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(product, inputs)
    plain = operator @ inputs[1].detach()
    assert not plain.requires_grad
    torch.testing.assert_close(product(*inputs).detach(), plain, rtol=0, atol=1e-13)


@RELATIONS
def test_scatter_gives_the_weights_of_all_pairs_and_gather_is_its_transpose(relation):
    operator, explicit, _, _ = listed_or_all(relation, 3, 3, True, True)
    v, A = random_labels(5), random_labels(3, 3, seed=4)
    everywhere = operator.K_start @ operator.scatter(v) @ operator.K_end.mT
    at_edges = everywhere[operator.out_edges[:, 0], operator.out_edges[:, 1]]
    torch.testing.assert_close(at_edges, explicit @ v, rtol=0, atol=1e-13)
    assert float((operator.scatter(v) * A).sum()) == pytest.approx(float(v @ operator.gather(A)), rel=1e-12)


def test_symmetrizers_are_complementary_projections():
    F = random_labels(2, 4, 4)
    torch.testing.assert_close(symmetrize(F) + antisymmetrize(F), F, rtol=0, atol=1e-15)
    assert torch.equal(symmetrize(F), symmetrize(F).mT)
    assert torch.equal(antisymmetrize(F), -antisymmetrize(F).mT)
    assert antisymmetrize(symmetrize(F)).abs().max() == 0
    assert isinstance(symmetrize(F.numpy()), np.ndarray)


def test_numpy_in_numpy_out_and_any_tensor_gives_tensors():
    K = random_kernel(3, 3, 0)
    result = PairKernel(K.numpy()) @ np.eye(3)
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, (K @ K).numpy(), rtol=1e-13)
    assert isinstance(PairKernel(K.numpy()) @ torch.eye(3, dtype=torch.float64), torch.Tensor)
    assert (PairKernel(K.float()) @ np.eye(3)).dtype == torch.float32


def test_refuses_a_relation_between_two_sets_of_nodes_and_bad_edges():
    K = torch.eye(2)
    with pytest.raises(ValueError, match="relation='symmetric' needs one set of nodes"):
        PairKernel(K, torch.eye(3), relation="symmetric")
    with pytest.raises(ValueError, match="relation='mutual'"):
        PairKernel(K, relation="mutual")
    with pytest.raises(ValueError, match=r"in_edges\[1, 0\] is 2"):
        PairKernel(K, out_edges=[[0, 1]], in_edges=[[0, 1], [2, 0]])


def test_operator_between_edges_takes_numpy_and_names_wrong_weights():
    K = random_kernel(4, 4, 1).numpy()
    block = PairKernel(K, out_edges=[(0, 1), (3, 3)], in_edges=[(2, 0)])
    np.testing.assert_allclose(block @ np.array([2.0]), 2 * np.array([K[0, 2] * K[1, 0], K[3, 2] * K[3, 0]]))
    with pytest.raises(ValueError, match=r"F has shape \(2,\)"):
        block @ np.ones(2)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"F has shape \(2, 3\)"):
        PairKernel(np.eye(2)).matmul(np.ones((2, 3)))
    for project in (symmetrize, antisymmetrize):
        with pytest.raises(ValueError, match="the same nodes as rows and columns"):
            project(np.ones((2, 3)))


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
def test_transpose_of_numpy_kernels_given_twice(relation):
    K, F = random_labels(3, 4).numpy(), random_labels(3, 3).numpy()
    kernel = PairKernel(K, K, relation=relation)
    product = kernel.mT @ F
    assert isinstance(product, np.ndarray)
    np.testing.assert_allclose(product.reshape(-1), kernel.to_dense().T @ F.reshape(-1), atol=1e-14)


def test_kernels_that_are_no_matrices_and_mixed_dtypes_are_named():
    K = torch.eye(3)
    with pytest.raises(ValueError, match=r"K_start has shape \(3,\)"):
        PairKernel(K[0])
    with pytest.raises(TypeError, match=r"K_end has dtype torch\.float64"):
        PairKernel(K, K.double())
    with pytest.raises(TypeError, match=r"F has dtype torch\.float64"):
        PairKernel(K) @ K.double()
