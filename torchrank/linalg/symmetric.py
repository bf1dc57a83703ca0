"""Eigen-decompositions of kernel matrices: checked, in float64, and without negative eigenvalues."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.surroundings import in_plain_surroundings


class Eigen(NamedTuple):
    """Eigenpairs of a positive semi-definite matrix of n rows, restricted to a subspace of dimension r <= n."""

    values: Tensor  # (r,) float64, ascending, never negative; what rounding cannot tell from zero is exactly zero
    vectors: Tensor  # (n, r) float64 orthonormal columns


@in_plain_surroundings
def as_double(K: Tensor) -> Tensor:
    """``K`` in float64, moved to the CPU where its own device has no such numbers."""
    return K.cpu().double() if K.device.type == "mps" else K.double()


@in_plain_surroundings
def check_symmetric(K: Tensor, name: str = "K") -> None:
    """Refuse what cannot be a kernel matrix of one set of points.

    Symmetry is asked for up to half the digits of the dtype, relative to the largest entry: rounding in a product
    ``X @ X.T`` passes, an unsymmetric similarity does not.

    Raises:
        ValueError: not a square matrix, NaN or infinite entries, or not symmetric; the message says by how much.
    """
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


@in_plain_surroundings
def psd_eigh(K: Tensor, name: str = "K") -> Eigen:
    """Eigenpairs of a symmetric positive semi-definite matrix, in float64 whatever the dtype of ``K``.

    Eigenvalues within rounding of zero, ``n * eps`` of the largest, become zero. Negative ones beyond that, down to
    ``-sqrt(eps)`` of the largest, are set to zero too, with a warning that says how negative they were. ``eps`` is that
    of the dtype of ``K``. No gradient passes through; see :mod:`torchrank.conditional.adjoint`.

    Args:
        K: ``(n, n)`` symmetric matrix that :func:`check_symmetric` accepts.
        name: what to call it in messages.

    Raises:
        ValueError: an eigenvalue is more negative than the tolerance.
        torch.linalg.LinAlgError: no convergence, also not on the CPU.
    """
    eps = torch.finfo(K.dtype).eps
    values, vectors = _eigh(K.detach(), name)
    return Eigen(_without_negatives(values, float(values.abs().max()), eps, name), vectors)


@in_plain_surroundings
def check_psd(K: Tensor, name: str = "K") -> None:
    """Refuse an indefinite matrix at the price of a Cholesky factor, where nothing needs its eigenpairs.

    Args:
        K: ``(n, n)`` symmetric matrix that :func:`check_symmetric` accepts. Eigenvalues down to ``-sqrt(eps)`` of its
            largest row sum pass, ``eps`` being that of its dtype.
        name: what to call it in messages.

    Raises:
        ValueError: an eigenvalue is more negative.
    """
    tolerance = math.sqrt(torch.finfo(K.dtype).eps) * float(K.detach().abs().sum(dim=1).max())
    if tolerance == 0:
        return
    shifted = as_double(K.detach()).clone()
    shifted.diagonal().add_(tolerance)
    if int(torch.linalg.cholesky_ex(shifted).info) > 0:
        raise ValueError(
            f"{name} is not positive semi-definite: it has eigenvalues below {-tolerance:.3g}; shift it by adding to "
            "the diagonal, or set its negative eigenvalues to zero"
        )


@in_plain_surroundings
def centered_eigh(K: Tensor, name: str = "K") -> Eigen:
    """Eigenpairs of ``C K C`` on the complement of the constant vector, where ``C = I - 11^T/n`` centres.

    A Householder reflection takes the constants to the first axis, which leaves a symmetric matrix of order ``n - 1``.
    So the eigenvectors are orthogonal to the constants by construction, which a decomposition of ``C K C`` itself
    does not give when ``K`` is singular.

    Args:
        K: ``(n, n)`` symmetric positive semi-definite matrix that :func:`check_symmetric` accepts.
        name: what to call it in messages.

    Returns:
        ``n - 1`` eigenpairs; none for a single node.

    Raises:
        ValueError: as :func:`psd_eigh`, relative to the size of ``K`` before centring.
        torch.linalg.LinAlgError: as :func:`psd_eigh`.
    """
    n, eps = K.shape[0], torch.finfo(K.dtype).eps
    if n == 1:
        return Eigen(K.new_zeros(0, dtype=torch.float64), K.new_zeros((1, 0), dtype=torch.float64))
    K = as_double(K.detach())
    w = K.new_full((n,), -1 / math.sqrt(n))
    w[0] += 1  # reflecting at w exchanges the first axis and the normalised constant vector
    beta = 2 / w.dot(w)
    z = beta * (K @ w)
    z -= (beta * w.dot(z) / 2) * w
    trailing = K[1:, 1:].clone().addr_(w[1:], z[1:], alpha=-1).addr_(z[1:], w[1:], alpha=-1)
    values, inner = _eigh(trailing, f"{name}, centred,")
    vectors = torch.cat([inner.new_zeros((1, n - 1)), inner])
    vectors.addr_(w, w @ vectors, alpha=-float(beta))
    scale = max(float(values.abs().max()), float(K.diagonal().abs().max()))
    return Eigen(_without_negatives(values, scale, eps, f"{name}, centred,"), vectors)


def _without_negatives(values: Tensor, scale: float, eps: float, name: str) -> Tensor:
    lowest = float(values.min())
    if lowest < -math.sqrt(eps) * scale:
        raise ValueError(
            f"{name} is not positive semi-definite: its lowest eigenvalue is {lowest:.3g} at a largest of {scale:.3g}; "
            f"shift it by adding {-lowest:.3g} to the diagonal, or set its negative eigenvalues to zero"
        )
    rounding = len(values) * eps * scale
    if lowest < -rounding:
        message = f"{name} has eigenvalues down to {lowest:.3g} (largest {scale:.3g}); they were set to zero"
        warn(message)
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
