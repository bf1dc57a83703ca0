"""Mallows kernel: values, limits, and the gradient with respect to its concentration."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import kernels as oracle
from tests.strategies import random_scores, score_array_pairs, score_arrays, score_tensors
from torchrank import kendall_distance, mallows_gram


@given(
    score_arrays(dtypes=("float64", "int64", "bool")),
    st.floats(0, 3),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.booleans(),
)
def test_gram_equals_the_oracle(X, lam, tie_penalty, normalize):
    settings = {"lam": lam, "tie_penalty": tie_penalty, "normalize": normalize}
    K = mallows_gram(X, **settings)
    np.testing.assert_allclose(K, oracle.gram(oracle.mallows, X, **settings), rtol=1e-13, atol=1e-300)
    assert np.array_equal(K, K.T)
    assert (np.diag(K) == 1).all()


@given(score_array_pairs(dtypes=("float64", "uint64")))
def test_cross_gram(pair):
    X, Y = pair
    expected = oracle.gram(oracle.mallows, X, Y, lam=0.3)
    np.testing.assert_allclose(mallows_gram(X, Y, lam=0.3), expected, rtol=1e-13, atol=0)
    assert np.array_equal(mallows_gram(X, Y, lam=0.3), mallows_gram(Y, X, lam=0.3).T)


@given(score_tensors())
def test_every_dtype_gets_the_float64_result_rounded_once(X):
    K = mallows_gram(X, lam=0.1)
    expected = torch.from_numpy(oracle.gram(oracle.mallows, X, lam=0.1))
    torch.testing.assert_close(K.double(), expected, rtol=2 * torch.finfo(K.dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1e-5])
def test_distances_are_not_rounded_before_the_exponential(dtype, lam):
    X = torch.from_numpy(random_scores(np.random.default_rng(0), "total", 4, 1000)).to(dtype)
    expected = mallows_gram(X.double(), lam=lam)  # distances near 250,000, beyond float16
    torch.testing.assert_close(mallows_gram(X, lam=lam).double(), expected, rtol=torch.finfo(dtype).eps, atol=0)


@given(score_arrays(rows=(1, 8), dtypes=("int8", "float64")), st.floats(0, 5))
def test_gram_is_positive_semidefinite(X, lam):
    for tie_penalty in (0.25, 0.5):
        K = mallows_gram(X, lam=lam, tie_penalty=tie_penalty, normalize=True)
        assert np.linalg.eigvalsh(K).min() > -1e-12


@given(score_arrays(rows=3, dtypes=("int8", "float32")))
def test_limit_of_no_concentration_is_one(X):
    assert (mallows_gram(X, lam=0) == 1).all()
    np.testing.assert_allclose(mallows_gram(X, lam=1e-12), 1, rtol=0, atol=1e-9)


def test_limit_of_full_concentration_is_equality():
    X = np.array([[1, 2, 3], [1, 2, 2], [10, 20, 30]])
    assert np.array_equal(mallows_gram(X, lam=1e6), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_infinite_lam_is_refused():
    for lam in (math.inf, torch.tensor(math.inf, dtype=torch.float64)):
        with pytest.raises(ValueError, match="lam=inf"):
            mallows_gram([[1, 2, 3], [3, 2, 1]], lam=lam)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("shape", [(), (1, 1), (4, 1), (2, 1, 1), (4, 4)])
def test_gradient_of_lam(shape, normalize):
    X = random_scores(np.random.default_rng(1), "tied", 4, 6)
    lam = torch.full(shape, 0.3, dtype=torch.float64, requires_grad=True)

    def kernel(lam):
        return mallows_gram(torch.from_numpy(X), lam=lam, normalize=normalize)

    assert torch.autograd.gradcheck(kernel, lam)
    (gradient,) = torch.autograd.grad(kernel(lam).sum(), lam)
    D = torch.from_numpy(kendall_distance(X, normalize=normalize))
    torch.testing.assert_close(gradient, (-D * (-lam.detach() * D).exp()).expand(*shape[:-2], 4, 4).sum_to_size(shape))


def test_gradient_of_lam_in_every_mode():
    X = torch.from_numpy(random_scores(np.random.default_rng(1), "tied", 4, 6))
    lam = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)

    def kernel(lam):
        return mallows_gram(X, lam=lam)

    D = kendall_distance(X)
    expected = -D * (-0.3 * D).exp()
    assert torch.autograd.gradgradcheck(kernel, lam)
    torch.testing.assert_close(torch.func.jacrev(kernel)(lam.detach()), expected)
    _, tangent = torch.func.jvp(kernel, (lam.detach(),), (torch.ones_like(lam),))
    torch.testing.assert_close(tangent, expected)


def test_lam_may_be_one_of_a_batch():
    X = torch.from_numpy(random_scores(np.random.default_rng(1), "tied", 3, 6))
    lams = torch.tensor([0.0, 0.1, 2.0])
    K = mallows_gram(X, lam=lams[:, None, None])
    for k, lam in enumerate(lams.tolist()):
        torch.testing.assert_close(K[k], mallows_gram(X, lam=lam), rtol=1e-12, atol=0)
    assert K.dtype == torch.float64


@pytest.mark.parametrize("lam", [2, 0.5, np.float32(0.5), np.int64(2), torch.tensor(2), torch.tensor(0.5)])
def test_lam_of_any_number_type(lam):
    X = [[1, 2, 3], [2, 1, 3]]
    np.testing.assert_allclose(mallows_gram(X, lam=lam)[0, 1], math.exp(-float(lam)), rtol=1e-15)
