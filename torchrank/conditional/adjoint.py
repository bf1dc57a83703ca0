# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input of forward, as torch documents, not the base class's *args.
"""Gradients of solutions of ``K_start A K_end + lam A = F``, without differentiating an eigen-decomposition.

The backward pass of an eigen-decomposition divides by differences of eigenvalues and gives NaN where they repeat. The
solution itself is smooth there: with ``W`` the solution for the incoming gradient,

    dF = W,   dlam = -<W, A>,   dK_start = -W K_end A^T,   dK_end = -A^T K_start W.

Kernel matrices are symmetric, so their gradients are symmetrized; a step along them stays symmetric.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrank.rankings.derivatives import refuse_nested_forward

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
    edges: "EdgeMaps",
) -> Tensor:
    """Duals ``(q,)`` that an iteration has found, with derivatives of any order for labels, kernels and ``lam``.

    Args:
        duals: ``solve(y)``.
        y: ``(q,)`` labels.
        K_start: ``(m, m)``.
        K_end: ``(n, n)``.
        lam: a number.
        solve: labels to duals, a symmetric linear operator.
        edges: between duals and the ``(m, n)`` matrix ``A`` with predictions ``K_start A K_end``.
    """
    return _Attach.apply(duals.detach(), y, K_start, K_end, lam, solve, edges)


class EdgeMaps(NamedTuple):
    """Two linear maps, each the transpose of the other."""

    to_matrix: Callable[[Tensor], Tensor]  # sums duals (q,) into (m, n)
    of_matrix: Callable[[Tensor], Tensor]  # takes (q,) out of (m, n)


class _Attach(torch.autograd.Function):
    @staticmethod
    def forward(
        duals: Tensor,
        y: Tensor,
        K_start: Tensor,
        K_end: Tensor,
        lam: Tensor,
        solve: Callable[[Tensor], Tensor],
        edges: EdgeMaps,
    ) -> Tensor:
        return duals.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, _, *tensors, ctx.solve, ctx.edges = inputs
        ctx.save_for_backward(*tensors, output)
        ctx.save_for_forward(*tensors, output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        K_start, K_end, lam, duals = ctx.saved_tensors
        w = attach_gradients(ctx.solve(grads[0].detach()), grads[0], K_start, K_end, lam, ctx.solve, ctx.edges)
        d_start = d_end = None
        if ctx.needs_input_grad[2] or ctx.needs_input_grad[3]:
            W, A = ctx.edges.to_matrix(w), ctx.edges.to_matrix(duals)
            d_start, d_end = kernel_gradients(W, A, K_start, K_end)
        return None, w, d_start, d_end, -(w * duals).sum().double(), None, None

    @staticmethod
    def jvp(
        ctx: Any,
        duals: None,
        y: Tensor | None,
        K_start: Tensor | None,
        K_end: Tensor | None,
        lam: Tensor | None,
        solve: None,
        edges: None,
    ) -> Tensor:
        refuse_nested_forward()
        start, end, at, found = ctx.saved_tensors
        right = torch.zeros_like(found) if y is None else y.to(found.dtype)
        A = ctx.edges.to_matrix(found)
        if K_start is not None:
            right = right - ctx.edges.of_matrix((K_start + K_start.mT) / 2 @ A @ end)
        if K_end is not None:
            right = right - ctx.edges.of_matrix(start @ A @ (K_end + K_end.mT) / 2)
        if lam is not None:
            right = right - lam.to(found.dtype) * found
        return attach_gradients(ctx.solve(right.detach()), right, start, end, at, ctx.solve, ctx.edges)


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(F: Tensor, K_start: Tensor, K_end: Tensor, lam: Tensor, solve: Solve) -> Tensor:
        return solve(F, lam)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        F, K_start, K_end, lam, ctx.solve = inputs
        ctx.shape = F.shape
        ctx.save_for_backward(K_start, K_end, lam, output)
        ctx.save_for_forward(K_start, K_end, lam, output)

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

    @staticmethod
    def jvp(
        ctx: Any, F: Tensor | None, K_start: Tensor | None, K_end: Tensor | None, lam: Tensor | None, solve: None
    ) -> Tensor:
        """What moves on the right side, less what the moved system makes of the solution."""
        refuse_nested_forward()
        start, end, at, A = ctx.saved_tensors
        right = torch.zeros_like(A) if F is None else F.expand_as(A)
        for part in (
            None if K_start is None else (K_start + K_start.mT) / 2 @ A @ end,
            None if K_end is None else start @ A @ (K_end + K_end.mT) / 2,
            None if lam is None else lam * A,
        ):
            right = right if part is None else right - part
        return solve_pairs(right, start, end, at, ctx.solve)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], F: Tensor, K_start: Tensor, K_end: Tensor, lam: Tensor, solve: Solve
    ) -> tuple[Tensor, int]:
        if in_dims[0] is None or any(dim is not None for dim in in_dims[1:4]):
            raise RuntimeError("vmap is for labels F; with several kernels or values of lam, call once for each")
        return solve_pairs(F.movedim(in_dims[0], 0), K_start, K_end, lam, solve), 0
