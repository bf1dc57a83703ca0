"""Gradients of solutions of ``K_start A K_end + lam A = F``, without differentiating an eigen-decomposition.

The backward pass of an eigen-decomposition divides by differences of eigenvalues and gives NaN where they repeat. The
solution itself is smooth there: with ``W`` the solution for the incoming gradient,

    dF = W,   dlam = -<W, A>,   dK_start = -W K_end A^T,   dK_end = -A^T K_start W.

Kernel matrices are symmetric, so their gradients are symmetrised; a step along them stays symmetric.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Solve = Callable[[Tensor, Tensor], Tensor]


def solve_pairs(F: Tensor, K_start: Tensor, K_end: Tensor, lam: Tensor, solve: Solve) -> Tensor:
    """``solve(F, lam)``, which knows the eigenpairs of the kernels, with gradients of any order for all four tensors.

    Args:
        F: ``(..., m, n)``.
        K_start: ``(m, m)``.
        K_end: ``(n, n)``.
        lam: shape that broadcasts against ``F``.
        solve: the solution as a symmetric operator on its first argument; for the ranking loss a projected one.
    """
    return _Solve.apply(F, K_start, K_end, lam, solve)


def kernel_gradients(W: Tensor, A: Tensor, K_start: Tensor, K_end: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients for the two node kernels from the adjoint solution ``W`` and the duals ``A``, both ``(..., m, n)``."""
    W, A = W.flatten(0, -3) if W.ndim > 2 else W[None], A.flatten(0, -3) if A.ndim > 2 else A[None]
    start = -torch.einsum("bij,bkj->ik", W @ K_end, A)
    end = -torch.einsum("bji,bjk->ik", A, K_start @ W)
    return (start + start.mT) / 2, (end + end.mT) / 2


def attach_gradients(
    duals: Tensor,
    y: Tensor,
    K_start: Tensor,
    K_end: Tensor,
    lam: Tensor,
    solve: Callable[[Tensor], Tensor],
    to_matrix: Callable[[Tensor], Tensor],
) -> Tensor:
    """Duals ``(q,)`` of edges that an iteration has found, with first derivatives for labels, kernels and ``lam``.

    Args:
        duals: ``solve(y)``.
        y: ``(q,)`` labels.
        K_start: ``(m, m)``.
        K_end: ``(n, n)``.
        lam: a number.
        solve: labels to duals, a symmetric linear operator.
        to_matrix: sums ``(q,)`` duals into the ``(m, n)`` matrix ``A`` with predictions ``K_start A K_end``.
    """
    return _Attach.apply(duals, y, K_start, K_end, lam, solve, to_matrix)


class _Attach(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        duals: Tensor,
        y: Tensor,
        K_start: Tensor,
        K_end: Tensor,
        lam: Tensor,
        solve: Callable[[Tensor], Tensor],
        to_matrix: Callable[[Tensor], Tensor],
    ) -> Tensor:
        ctx.save_for_backward(duals, K_start, K_end)
        ctx.solve, ctx.to_matrix = solve, to_matrix
        return duals.clone()

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, ...]:
        duals, K_start, K_end = ctx.saved_tensors
        w = ctx.solve(grads[0])
        d_start = d_end = None
        if ctx.needs_input_grad[2] or ctx.needs_input_grad[3]:
            d_start, d_end = kernel_gradients(ctx.to_matrix(w), ctx.to_matrix(duals), K_start, K_end)
        return None, w, d_start, d_end, -w.dot(duals).double(), None, None


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, F: Tensor, K_start: Tensor, K_end: Tensor, lam: Tensor, solve: Solve) -> Tensor:
        A = solve(F, lam)
        ctx.save_for_backward(K_start, K_end, lam, A)
        ctx.solve, ctx.shape = solve, F.shape
        return A

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        K_start, K_end, lam, A = ctx.saved_tensors
        W = solve_pairs(grads[0], K_start, K_end, lam, ctx.solve)
        d_start = d_end = d_lam = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            d_start, d_end = kernel_gradients(W, A, K_start, K_end)
        if ctx.needs_input_grad[3]:
            d_lam = -(W * A).sum_to_size(lam.shape)
        return W.sum_to_size(ctx.shape), d_start, d_end, d_lam, None
