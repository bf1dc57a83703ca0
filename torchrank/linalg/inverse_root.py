# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input of forward, as torch documents, not the base class's *args.
"""The inverse square root of a kernel matrix, with a derivative that repeated eigenvalues do not spoil."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from torchrank.linalg.symmetric import psd_eigh
from torchrank.rankings.derivatives import refuse_nested_forward


def inverse_root(K: Tensor, name: str = "K") -> Tensor:
    """The pseudo-inverse of the square root of a positive semi-definite matrix, ``(u, u)`` float64 and symmetric.

    Eigenvalues that rounding cannot tell from zero, up to ``u * eps`` of the largest, count as zero, and so does what
    is inverted of them; ``eps`` is that of the dtype of ``K``. First derivatives, backwards and forwards, are those for
    a rank that does not change.

    Args:
        K: ``(u, u)`` symmetric.
        name: what to call it in messages.

    Raises:
        ValueError, torch.linalg.LinAlgError: as :func:`torchrank.linalg.psd_eigh`.

    Warns:
        UserWarning: as there.
    """
    return _InverseRoot.apply(K, name)[0]


class _InverseRoot(torch.autograd.Function):
    """In the basis of the eigenvectors a derivative is multiplied by the divided differences of the eigenvalues' roots.

    Those are known without a difference, so nothing is divided by one that is zero.
    """

    @staticmethod
    def forward(K: Tensor, name: str) -> tuple[Tensor, Tensor, Tensor]:
        values, vectors = psd_eigh(K, name)
        roots = torch.where(values > 0, values.rsqrt(), 0)
        return (vectors * roots) @ vectors.mT, roots, vectors

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, roots, vectors = output
        ctx.mark_non_differentiable(roots, vectors)
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(roots, vectors)
        ctx.save_for_forward(roots, vectors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _moved(gradients[0], *ctx.saved_tensors).to(ctx.dtype), None

    @staticmethod
    def jvp(ctx: Any, K: Tensor, name: None) -> tuple[Tensor, None, None]:
        refuse_nested_forward()
        return _moved(K.double(), *ctx.saved_tensors), None, None


def _moved(change: Tensor, roots: Tensor, vectors: Tensor) -> Tensor:
    """What a change of the matrix makes of its inverse root, or back: the map is its own transpose."""
    r, s = roots[:, None], roots
    # (r - s) / (a - b) is -(r s)^2 / (r + s) for r = 1 / sqrt(a), s = 1 / sqrt(b); r^3 where s counts as 0
    both = r * s
    slopes = torch.where(both > 0, -(both**2) / torch.where(both > 0, r + s, 1), (r + s) ** 3)
    return vectors @ (slopes * (vectors.mT @ ((change + change.mT) / 2) @ vectors)) @ vectors.mT
