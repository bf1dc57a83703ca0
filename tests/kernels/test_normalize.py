"""Centering and scaling of Gram matrices against explicit feature vectors."""

import numpy as np
import pytest
import torch

from torchrank import center_gram, normalize_gram

RNG = np.random.default_rng(7)
TRAIN, NEW = RNG.normal(size=(9, 4)) + 3, RNG.normal(size=(5, 4)) + 3


def unit(features):
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def test_centering_subtracts_the_mean_feature_vector():
    centered = TRAIN - TRAIN.mean(0)
    K = center_gram(TRAIN @ TRAIN.T)
    np.testing.assert_allclose(K, centered @ centered.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(K.sum(0), 0, atol=1e-12)


def test_new_rows_are_centered_by_the_mean_of_the_training_rows():
    mean = TRAIN.mean(0)
    K = center_gram(NEW @ TRAIN.T, TRAIN @ TRAIN.T)
    np.testing.assert_allclose(K, (NEW - mean) @ (TRAIN - mean).T, rtol=0, atol=1e-12)
    same = center_gram(TRAIN @ TRAIN.T, TRAIN @ TRAIN.T)
    np.testing.assert_allclose(same, center_gram(TRAIN @ TRAIN.T), rtol=0, atol=1e-13)


def test_scaling_makes_feature_vectors_unit():
    np.testing.assert_allclose(normalize_gram(TRAIN @ TRAIN.T), unit(TRAIN) @ unit(TRAIN).T, rtol=0, atol=1e-14)
    new, train = (NEW**2).sum(1), (TRAIN**2).sum(1)
    K = normalize_gram(NEW @ TRAIN.T, new, train)
    np.testing.assert_allclose(K, unit(NEW) @ unit(TRAIN).T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(normalize_gram(NEW @ NEW.T, new), unit(NEW) @ unit(NEW).T, rtol=0, atol=1e-14)


def test_symmetric_bit_for_bit_with_a_unit_diagonal():
    K = TRAIN @ TRAIN.T
    K = (K + K.T) / 2
    centered, scaled = center_gram(K), normalize_gram(K)
    assert np.array_equal(centered, centered.T)
    assert np.array_equal(scaled, scaled.T)
    assert (np.diag(scaled) == 1).all()


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-20, 1e20, 1e200, 1e300])
def test_scaling_forgets_the_size_of_the_matrix(factor):
    K = TRAIN @ TRAIN.T
    np.testing.assert_allclose(normalize_gram(K * factor), normalize_gram(K), rtol=1e-12)


def test_zero_feature_vectors_stay_zero():
    K = np.array([[4.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(normalize_gram(K), [[1, 0], [0, 0]])
    assert np.array_equal(normalize_gram(np.zeros((2, 3)), np.zeros(2), np.ones(3)), np.zeros((2, 3)))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (2, 3, 4, 4)])
def test_batches_and_empty_matrices(shape):
    K = torch.randn(shape, dtype=torch.float64)
    K = K @ K.mT
    for result in (center_gram(K), normalize_gram(K)):
        assert result.shape == shape
        assert result.isfinite().all()
    for index in np.ndindex(*shape[:-2]):
        assert torch.equal(center_gram(K)[index], center_gram(K[index]))
        assert torch.equal(normalize_gram(K)[index], normalize_gram(K[index]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kind_and_dtype_are_those_of_the_matrix(dtype):
    K = torch.eye(3, dtype=dtype)
    norms = np.ones(3)  # float64 beside a float32 matrix
    for result in (center_gram(K), center_gram(K, K.double()), normalize_gram(K), normalize_gram(K, norms, norms)):
        assert isinstance(result, torch.Tensor)
        assert result.dtype == dtype
    array = K.numpy()
    for result in (center_gram(array), normalize_gram(array), normalize_gram(array, norms), center_gram(array, array)):
        assert isinstance(result, np.ndarray)
        assert result.dtype == array.dtype


@pytest.mark.parametrize("layout", [">f8", "reversed", "read-only", "list"])
def test_arrays_of_any_layout(layout):
    K = TRAIN @ TRAIN.T
    other = {
        ">f8": K.astype(">f8"),
        "reversed": K[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": K.copy(),
        "list": K.tolist(),
    }[layout]
    if layout == "read-only":
        other.flags.writeable = False
    assert np.array_equal(center_gram(other), center_gram(K))
    assert np.array_equal(normalize_gram(other), normalize_gram(K))


KINDS = {
    "list": list,
    "tensor": torch.from_numpy,
    "diagonal": lambda norms: np.diag(np.diag(norms)),  # read-only
    "big-endian": lambda norms: norms.astype(">f8"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_squared_norms_of_any_kind(kind, torch_repeats_warnings):
    K = NEW @ TRAIN.T
    new, train = (NEW**2).sum(1), (TRAIN**2).sum(1)
    scaled = normalize_gram(K, kind(new), kind(train))
    assert np.array_equal(scaled, normalize_gram(K, new, train))


def test_inputs_are_not_modified():
    K, norms = TRAIN @ TRAIN.T, (TRAIN**2).sum(1)
    before = K.copy(), norms.copy()
    center_gram(K, K)
    normalize_gram(K, norms)
    assert np.array_equal(K, before[0])
    assert np.array_equal(norms, before[1])


def test_gradients():
    K = torch.from_numpy(TRAIN[:4] @ TRAIN[:4].T).requires_grad_()
    block = torch.from_numpy(NEW[:3] @ TRAIN[:4].T).requires_grad_()
    norms = torch.from_numpy((NEW[:3] ** 2).sum(1)).requires_grad_()
    assert torch.autograd.gradcheck(center_gram, (K,))
    assert torch.autograd.gradcheck(center_gram, (block, K))
    assert torch.autograd.gradcheck(normalize_gram, (K,))
    assert torch.autograd.gradcheck(lambda b, r, k: normalize_gram(b, r, k.diagonal()), (block, norms, K))


def test_gradients_at_zero_feature_vectors_are_finite():
    K = torch.diag(torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)).requires_grad_()
    normalize_gram(K).sum().backward()
    assert K.grad is not None
    assert K.grad.isfinite().all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: center_gram(np.ones((2, 3))), ValueError, r"K has shape \(2, 3\)"),
        (lambda: center_gram(np.ones(3)), ValueError, r"K has shape \(3,\)"),
        (lambda: center_gram(np.ones((2, 3)), np.eye(4)), ValueError, "K has 3 columns and K_train 4"),
        (lambda: center_gram(np.ones((2, 3)), np.ones((3, 2))), ValueError, r"K_train has shape \(3, 2\)"),
        (
            lambda: center_gram(np.eye(2, dtype=int)),
            TypeError,
            r"K has dtype torch.int64",
        ),
        (lambda: center_gram(np.eye(2), np.eye(2, dtype=int)), TypeError, "K_train has dtype torch.int64"),
        (lambda: normalize_gram(np.ones((2, 3))), ValueError, r"K has shape \(2, 3\)"),
        (lambda: normalize_gram(np.ones((2, 3)), np.ones(3)), ValueError, r"rows has shape \(3,\)"),
        (
            lambda: normalize_gram(np.ones((2, 3)), np.ones(2)),
            ValueError,
            r"columns has shape \(2,\)",
        ),
        (lambda: normalize_gram(np.eye(2, dtype=complex)), TypeError, "K has dtype complex128"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_block_taken_for_a_gram_matrix_is_refused():
    block = NEW[:3] @ TRAIN[:3].T
    with pytest.raises(ValueError, match="K is not symmetric"):
        center_gram(block)
