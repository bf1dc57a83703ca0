import math
import warnings

import pytest
import torch

from torchrank.linalg import centered_eigh, check_psd, check_symmetric, psd_eigh
from torchrank.linalg import symmetric as module


def random_psd(n, rank, dtype=torch.float64):
    X = torch.randn(n, rank, dtype=torch.float64)
    return (X @ X.mT).to(dtype)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (torch.ones(2, 3), r"K_start has shape \(2, 3\)"),
        (torch.ones(2), r"K_start has shape \(2,\)"),
        (torch.ones(0, 0), "K_start has no rows"),
        (torch.tensor([[1.0, math.nan], [math.nan, 1.0]]), r"K_start\[0, 1\] is nan"),
        (torch.tensor([[1.0, 0.0], [0.0, math.inf]]), r"K_start\[1, 1\] is inf"),
        (torch.tensor([[2.0, 0.5], [0.0, 2.0]]), r"K_start is not symmetric: .* by up to 0.5 \(largest entry 2\)"),
    ],
)
def test_refuses_what_is_not_a_kernel_matrix(K, message):
    with pytest.raises(ValueError, match=message):
        check_symmetric(K, "K_start")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_in_a_product_passes_as_symmetric(dtype):
    X = torch.randn(50, 7, dtype=dtype)
    check_symmetric(1e8 * (X @ X.mT + torch.randn(50, 50, dtype=dtype) * torch.finfo(dtype).eps))


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (2, 2), (7, 7), (7, 3), (40, 5)])
def test_eigenpairs_rebuild_the_matrix(n, rank):
    K = random_psd(n, rank)
    values, vectors = psd_eigh(K)
    torch.testing.assert_close((vectors * values) @ vectors.mT, K, rtol=0, atol=1e-12 * float(K.max()))
    assert int((values > 0).sum()) == rank


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (2, 2), (2, 1), (7, 7), (7, 3), (40, 5)])
def test_centered_eigenpairs_rebuild_the_centered_matrix_and_are_orthogonal_to_constants(n, rank):
    K = random_psd(n, rank)
    C = torch.eye(n, dtype=torch.float64) - 1 / n
    values, vectors = centered_eigh(K)
    assert vectors.shape == (n, n - 1)
    torch.testing.assert_close((vectors * values) @ vectors.mT, C @ K @ C, rtol=0, atol=1e-12 * float(K.max()))
    torch.testing.assert_close(vectors.mT @ vectors, torch.eye(n - 1, dtype=torch.float64), rtol=0, atol=1e-13)
    assert vectors.sum(0).abs().max() < 1e-13 if n > 1 else vectors.numel() == 0


def test_constant_kernel_has_nothing_left_after_centering():
    assert centered_eigh(torch.full((6, 6), 3.0, dtype=torch.float64)).values.tolist() == [0.0] * 5


def test_eigenpairs_are_float64_and_rounding_follows_the_input_dtype():
    values, vectors = psd_eigh(random_psd(30, 4, torch.float32))
    assert values.dtype == vectors.dtype == torch.float64
    assert int((values > 0).sum()) == 4


def test_rounding_below_zero_is_cleared_in_silence_more_is_reported_and_much_is_refused():
    eye = torch.eye(3, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psd_eigh(eye - torch.diag(eye[2]) * (1 + 1e-16)).values.tolist() == [0, 1, 1]
    with pytest.warns(UserWarning, match=r"K_end has eigenvalues down to -1e-09 \(largest 1\)"):
        assert psd_eigh(eye - torch.diag(eye[2]) * (1 + 1e-9), "K_end").values.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match=r"K_end is not positive semi-definite: .* -0.001 .* adding 0.001 to"):
        psd_eigh(eye - torch.diag(eye[2]) * 1.001, "K_end")


def failing(times, monkeypatch):
    real, calls = torch.linalg.eigh, []

    def eigh(A):
        calls.append((A.dtype, A.device.type))
        if len(calls) <= times:
            raise torch.linalg.LinAlgError("no convergence")
        return real(A)

    monkeypatch.setattr(module.torch.linalg, "eigh", eigh)
    return calls


def test_a_failed_decomposition_is_tried_again_on_the_cpu_in_float64(monkeypatch):
    calls = failing(1, monkeypatch)
    assert psd_eigh(torch.eye(3)).values.tolist() == [1, 1, 1]
    assert calls == [(torch.float64, "cpu")] * 2


def test_a_second_failure_names_size_dtype_and_device(monkeypatch):
    failing(2, monkeypatch)
    message = r"eigen-decomposition of K_start failed on cpu and on the CPU in float64 \(n=3, dtype torch.float32\)"
    with pytest.raises(torch.linalg.LinAlgError, match=message):
        psd_eigh(torch.eye(3), "K_start")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_indefinite_matrices_are_refused_without_their_eigenpairs(dtype):
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(12, 5, generator=generator, dtype=dtype)
    singular = factor @ factor.mT
    check_psd(singular)
    check_psd(torch.zeros(3, 3, dtype=dtype))
    before = singular.clone()
    message = r"K_end is not positive semi-definite: its lowest eigenvalue is -0\.1 at a largest of .* to zero"
    with pytest.raises(ValueError, match=message):
        check_psd(singular - 0.1 * torch.eye(12, dtype=dtype), "K_end", "a hint")
    assert torch.equal(singular, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [-0.5, -0.99, -1.01, -2.0])
def test_both_checks_refuse_the_same_matrices(share, dtype):
    """The largest entry is far below the largest eigenvalue here, which is what both are relative to."""
    n, lowest = 64, share * math.sqrt(torch.finfo(dtype).eps)
    ones = torch.ones(n, n, dtype=torch.float64) / n  # its eigenvalues are 1 and 0
    e = torch.zeros(n, dtype=torch.float64)
    e[0], e[1] = 0.5**0.5, -(0.5**0.5)
    K = (ones + lowest * torch.outer(e, e)).to(dtype)
    for check in (check_psd, psd_eigh):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if share > -1:
                check(K)
            else:
                with pytest.raises(ValueError, match="not positive semi-definite"):
                    check(K)
