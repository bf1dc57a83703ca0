"""Kernel matrices: checked to be symmetric and positive semi-definite, and decomposed in float64.

How negative an eigenvalue may be is said once, by :func:`_tolerance`: what :func:`check_psd` refuses is what
:func:`psd_eigh` refuses.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import CHECKS, unmapped


class Eigen(NamedTuple):
    """Eigenpairs of a positive semi-definite matrix of n rows, restricted to a subspace of dimension r <= n."""

    values: Tensor  # (r,) float64, ascending, never negative; what rounding cannot tell from zero is exactly zero
    vectors: Tensor  # (n, r) float64 orthonormal columns


@isolated
def as_double(K: Tensor) -> Tensor:
    """``K`` in float64, moved to the CPU where its own device has no such numbers."""
    return K.cpu().double() if K.device.type == "mps" else K.double()


@isolated
@unmapped(CHECKS)
def check_symmetric(K: Tensor, name: str = "K") -> None:
    """Refuse what cannot be a kernel matrix of one set of points.

    Symmetry is asked for up to half the digits of the dtype, relative to the largest entry: rounding in a product
    ``X @ X.T`` passes, an unsymmetric similarity does not.

    Args:
        K: ``(n, n)`` floating-point matrix.
        name: what to call it in messages.

    Raises:
        ValueError: not a square matrix, NaN or infinite entries, or not symmetric; the message says by how much.
    """
    # torchrank.ops.checks.symmetric_gram is another check with another purpose: it tells the Gram matrix of training
    # rows from one of new rows against them that happens to be square. It is an op, so that compiled graphs keep it,
    # takes batches and NaN, and allows for float32 rounding in float64, where a solver would already be misled.
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} has shape {tuple(K.shape)}; a kernel matrix is square, one row and column a node")
    if K.numel() == 0:
        raise ValueError(f"{name} has no rows; at least one node is needed")
    largest = float(K.detach().abs().max())
    if not math.isfinite(largest):
        row, column = (int(i) for i in (~K.detach().isfinite()).nonzero()[0])
        raise ValueError(f"{name}[{row}, {column}] is {K[row, column].item()}; a kernel matrix must be finite")
    difference = float((K.detach() - K.detach().mT).abs_().max())
    if difference > math.sqrt(torch.finfo(K.dtype).eps) * largest:
        raise ValueError(
            f"{name} is not symmetric: entries differ from their mirror images by up to {difference:.3g} "
            f"(largest entry {largest:.3g}); use ({name} + {name}.mT) / 2 if that is meant"
        )


@isolated
@unmapped(CHECKS)
def psd_eigh(K: Tensor, name: str = "K") -> Eigen:
    """Eigenpairs of a symmetric positive semi-definite matrix, in float64 whatever the dtype of ``K``.

    Eigenvalues within rounding of zero, ``n * eps`` of the largest, become zero. Negative ones beyond that, down to
    ``-sqrt(eps)`` of the largest, are set to zero too, with a warning that says how negative they were. ``eps`` is that
    of the dtype of ``K``. No gradient passes through; see :mod:`torchrank.conditional.adjoint`.

    Args:
        K: ``(n, n)`` symmetric matrix that :func:`check_symmetric` accepts.
        name: what to call it in messages.

    Returns:
        All n eigenpairs.

    Raises:
        ValueError: an eigenvalue is more negative than the tolerance.
        torch.linalg.LinAlgError: no convergence, also not on the CPU.
    """
    values, vectors = _eigh(K.detach(), name)
    return Eigen(_without_negatives(values, float(values.abs().max()), K.dtype, name), vectors)


@isolated
@unmapped(CHECKS)
def check_psd(K: Tensor, name: str = "K", hint: str = "") -> None:
    """Refuse an indefinite matrix where nothing needs its eigenpairs, mostly at the price of a Cholesky factor.

    Args:
        K: ``(n, n)`` symmetric matrix that :func:`check_symmetric` accepts. Eigenvalues down to ``-sqrt(eps)`` of the
            largest pass, ``eps`` being that of its dtype.
        name: what to call it in messages.
        hint: where such matrices come from, to end the message with.

    Raises:
        ValueError: an eigenvalue is more negative.
    """
    K64 = as_double(K.detach())
    shifted = K64.clone()
    shifted.diagonal().add_(_tolerance(float(K64.abs().max()), K.dtype))  # no entry is larger than all eigenvalues
    if int(torch.linalg.cholesky_ex(shifted).info) > 0:  # a strict test, so only what fails it needs its eigenvalues
        values = torch.linalg.eigvalsh(K64)
        _refuse_negatives(float(values[0]), float(values.abs().max()), K.dtype, name, hint)


@isolated
@unmapped(CHECKS)
def centered_eigh(K: Tensor, name: str = "K") -> Eigen:
    """Eigenpairs of ``C K C`` on the complement of the constant vector, where ``C = I - 11^T/n`` centers.

    A Householder reflection takes the constants to the first axis, which leaves a symmetric matrix of order ``n - 1``.
    So the eigenvectors are orthogonal to the constants by construction, which a decomposition of ``C K C`` itself
    does not give when ``K`` is singular.

    Args:
        K: ``(n, n)`` symmetric positive semi-definite matrix that :func:`check_symmetric` accepts.
        name: what to call it in messages.

    Returns:
        ``n - 1`` eigenpairs; none for a single node.

    Raises:
        ValueError: as :func:`psd_eigh`, relative to the size of ``K`` before centering.
        torch.linalg.LinAlgError: as :func:`psd_eigh`.
    """
    n, dtype = K.shape[0], K.dtype
    if n == 1:
        return Eigen(K.new_zeros(0, dtype=torch.float64), K.new_zeros((1, 0), dtype=torch.float64))
    K = as_double(K.detach())
    w = K.new_full((n,), -1 / math.sqrt(n))
    w[0] += 1  # reflecting at w exchanges the first axis and the normalized constant vector
    beta = 2 / w.dot(w)
    z = beta * (K @ w)
    z -= (beta * w.dot(z) / 2) * w
    trailing = K[1:, 1:].clone().addr_(w[1:], z[1:], alpha=-1).addr_(z[1:], w[1:], alpha=-1)
    values, inner = _eigh(trailing, f"{name}, centered,")
    vectors = torch.cat([inner.new_zeros((1, n - 1)), inner])
    vectors.addr_(w, w @ vectors, alpha=-float(beta))
    scale = max(float(values.abs().max()), float(K.diagonal().abs().max()))
    return Eigen(_without_negatives(values, scale, dtype, f"{name}, centered,"), vectors)


def _tolerance(largest: float, dtype: torch.dtype) -> float:
    """How far below zero eigenvalues may be: half the digits of what the user gave, relative to the largest."""
    return math.sqrt(torch.finfo(dtype).eps) * largest


def _refuse_negatives(lowest: float, largest: float, dtype: torch.dtype, name: str, hint: str = "") -> None:
    if lowest < -_tolerance(largest, dtype):
        raise ValueError(
            f"{name} is not positive semi-definite: its lowest eigenvalue is {lowest:.3g} at a largest of "
            f"{largest:.3g}; shift it by adding {-lowest:.3g} to the diagonal, or set its negative eigenvalues to zero"
            f"{'; ' if hint else ''}{hint}"
        )


def _without_negatives(values: Tensor, largest: float, dtype: torch.dtype, name: str) -> Tensor:
    lowest, rounding = float(values.min()), len(values) * torch.finfo(dtype).eps * largest
    _refuse_negatives(lowest, largest, dtype, name)
    if lowest < -rounding:
        warn(f"{name} has eigenvalues down to {lowest:.3g} (largest {largest:.3g}); they were set to zero")
    return torch.where(values > rounding, values, 0.0)


def _eigh(K: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Decompose on the device of ``K``; where that does not converge, once more on the CPU."""
    K64 = as_double(K)
    try:
        values, vectors = torch.linalg.eigh(K64)
    except torch.linalg.LinAlgError:
        try:
            values, vectors = torch.linalg.eigh(K.to("cpu", torch.float64))
        except torch.linalg.LinAlgError as error:
            raise torch.linalg.LinAlgError(
                f"the eigen-decomposition of {name} failed on {K.device} and on the CPU in float64 "
                f"(n={K.shape[0]}, dtype {K.dtype}): {error}"
            ) from error
    return values.to(K64.device), vectors.to(K64.device)
