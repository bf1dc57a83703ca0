"""The inverse root of a kernel matrix, singular ones and repeated eigenvalues included."""

import numpy as np
import pytest
import torch

from torchrank.linalg.inverse_root import inverse_root


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("rank", [1, 4, 7])
def test_its_square_is_the_pseudo_inverse(rank):
    A = torch.randn(7, rank, dtype=torch.float64, generator=seeded())
    K = A @ A.T
    root = inverse_root(K)
    np.testing.assert_allclose(root @ root, torch.linalg.pinv(K, hermitian=True), rtol=1e-6, atol=1e-9)
    assert torch.equal(inverse_root(torch.zeros(3, 3)), torch.zeros(3, 3, dtype=torch.float64))


def test_derivatives_of_a_regular_matrix():
    A = torch.randn(5, 5, dtype=torch.float64, generator=seeded()).requires_grad_()
    assert torch.autograd.gradcheck(lambda A: inverse_root(A @ A.T), A, check_forward_ad=True)


def test_derivatives_at_a_rank_that_stays():
    A = torch.randn(6, 3, dtype=torch.float64, generator=seeded()).requires_grad_()
    assert torch.autograd.gradcheck(lambda A: inverse_root(A @ A.T), A, check_forward_ad=True, atol=1e-4)


def test_derivatives_where_eigenvalues_repeat():
    """K = t I + c 1 1^T: the eigenvalue t three times, and t + 4 c."""
    t, c = torch.tensor(1.3, dtype=torch.float64, requires_grad=True), 0.2
    K = t * torch.eye(4, dtype=torch.float64) + c
    gradient = torch.autograd.grad(inverse_root(K).trace(), t)[0]
    expected = -(3 * 1.3**-1.5 + (1.3 + 4 * c) ** -1.5) / 2
    assert gradient.item() == pytest.approx(expected, rel=1e-12)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(ValueError, match="the kernel is not positive semi-definite"):
        inverse_root(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), "the kernel")
