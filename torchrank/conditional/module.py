"""Kronecker RLS as a module: node features and a node kernel with parameters inside, scores of pairs out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    check_end_given,
    checked_double,
    real_tensor,
    tensor_of,
)
from torchrank.conditional.descriptions import DIRECTION, LOSS, RELATION
from torchrank.conditional.edges import solve_edges
from torchrank.conditional.eigen import KroneckerEigh
from torchrank.conditional.krylov import IterativeFit
from torchrank.conditional.relations import check_relation
from torchrank.evidence import Evidence
from torchrank.linalg import as_double, kron_matmul
from torchrank.linalg.precision import KeepsPrecision, kernel_values, one_number
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_at_least, check_choice
from torchrank.typing import Direction, Loss, Relation, Values

NodeKernel = Callable[[Tensor, Tensor], Tensor]


@isolated
@shares_arguments(loss=LOSS, direction=DIRECTION, relation=RELATION)
class KroneckerRLS(KeepsPrecision):
    """Scores of pairs of nodes, learned by Kronecker RLS or RankRLS from the labels of edges.

    Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7; :func:`kron_rls`, :func:`kron_rank_rls` and
    :func:`kron_edge_rls` say what is minimized.

    The training nodes are buffers and so are the duals, so ``state_dict`` is the whole model. The duals are in float64
    whatever the dtype of the features. ``.float()`` or ``.half()`` leave both as they are, but for nodes that a network
    takes, which follow it. Before a fit the duals are zero, and so are all scores. Two ways to use it: :meth:`fit` or
    :meth:`fit_edges` and call; or, to learn the parameters of the kernel and ``lam``, differentiate through
    :meth:`solve`::

        duals = model.solve(F_train)
        loss = (model(x_new_start, x_new_end, duals=duals) - F_new).square().mean()

    Args:
        kernel: maps features ``(r, d)`` and ``(s, d)`` to the kernel matrix ``(r, s)``; an ``nn.Module`` brings its
            parameters.
        x_start: ``(m, d)`` features of the training start nodes.
        x_end: ``(n, d')`` features of the training end nodes; by default the same nodes.
        kernel_end: kernel of the end nodes; by default ``kernel``.
        lam: regularization to start from, above 0, by default 1; its logarithm is a parameter.
        loss: {loss}
        direction: {direction}
        relation: {relation}

    Raises:
        ValueError: ``lam`` not positive, unknown choices, or a relation between two sets of nodes.
    """

    x_start: Tensor
    x_end: Tensor | None
    duals: Tensor
    _fed = ("x_start", "x_end")

    def __init__(
        self,
        kernel: NodeKernel,
        x_start: Tensor,
        x_end: Tensor | None = None,
        *,
        kernel_end: NodeKernel | None = None,
        lam: float = 1.0,
        loss: Loss = "regression",
        direction: Direction = "outgoing",
        relation: Relation = "ordinary",
    ) -> None:
        super().__init__()
        x_start = tensor_of(x_start, "x_start")
        x_end = None if x_end is None else tensor_of(x_end, "x_end")
        check_choice(loss, "loss", LOSSES)
        check_choice(direction, "direction", DIRECTIONS)
        check_relation(relation, x_start, x_end)
        check_at_least(lam, "lam", torch.finfo(torch.float32).tiny, ", so that it has a logarithm")
        if kernel_end is not None and x_end is None:
            raise ValueError("kernel_end is for a second set of nodes: pass x_end too")
        self.kernel, self.kernel_end = kernel, kernel_end
        self.loss: Loss = loss
        self.direction: Direction = direction
        self.relation: Relation = relation
        self.log_lam = nn.Parameter(one_number(math.log(lam)))
        self.register_buffer("x_start", x_start.clone())  # loading a state writes into buffers
        self.register_buffer("x_end", None if x_end is None else x_end.clone())
        n_end = len(x_start if x_end is None else x_end)
        self.register_buffer("duals", torch.zeros(len(x_start), n_end, dtype=torch.float64, device=x_start.device))

    @property
    def lam(self) -> Tensor:
        """The regularization."""
        return self.log_lam.reshape(()).exp()

    def forward(self, x_start: Tensor, x_end: Tensor | None = None, *, duals: Tensor | None = None) -> Tensor:
        """Scores ``(r, s)`` of all pairs of start nodes ``(r, d)`` and end nodes ``(s, d')``.

        Args:
            x_start: features of the start nodes.
            x_end: those of the end nodes. With one set of nodes None takes ``x_start`` for both sides.
            duals: those of :meth:`solve`; by default the fitted ones.

        Raises:
            ValueError: no ``x_end`` although the nodes are of two sets.
        """
        check_end_given(x_end, "x_end", one_domain=self.x_end is None)
        left, right, weights = self._factors(x_start, x_end, duals)
        return kron_matmul(left, right, weights).to(x_start.dtype)

    if TYPE_CHECKING:

        @override
        def __call__(self, x_start: Tensor, x_end: Tensor | None = None, *, duals: Tensor | None = None) -> Tensor: ...

    def score_pairs(self, x_start: Tensor, x_end: Tensor, *, duals: Tensor | None = None) -> Tensor:
        """Scores ``(b,)`` of the pairs formed by the rows of ``(b, d)`` and ``(b, d')``."""
        left, right, weights = self._factors(x_start, x_end, duals)
        return ((left @ weights) * right).sum(-1).to(x_start.dtype)

    def solve(self, F: Values) -> Tensor:
        """Duals ``(..., m, n)`` for the labels of all pairs of training nodes, with gradients.

        For the parameters of the kernel, ``log_lam`` and the labels; see :meth:`KroneckerEigh.solve`.
        """
        return self._solver().solve(F, self.lam)

    @torch.no_grad()
    def fit(self, F: Values) -> Evidence:
        """Solve for the labels ``(m, n)`` of all pairs of training nodes and keep the duals.

        Returns:
            Evidence: of a closed form, so without iterations; ``losses`` has what was minimized, at the solution:
            :meth:`KroneckerEigh.training_loss`.
        """
        solver = self._solver()
        solver.solve(real_tensor(F, "F").to(solver.K_start), self.lam)
        self.duals.copy_(solver.pair_duals)
        return Evidence.closed_form(float(solver.training_loss()))

    @torch.no_grad()
    def fit_edges(self, edges: Values, y: Values, **options: Any) -> IterativeFit[Tensor]:
        """Solve for labels of edges and keep the duals.

        Args:
            edges: ``(q, 2)`` rows (start, end), numbers of training nodes.
            y: ``(q,)`` labels.
            **options: of the iteration, such as ``tol`` and ``validation``, for :func:`kron_edge_rls`.

        Returns:
            IterativeFit: the duals, and how they were reached.
        """
        start, end = self._training_kernels()
        fit = solve_edges(
            checked_double(start, "the kernel of start nodes"),
            None if end is None else checked_double(end, "the kernel of end nodes"),
            edges,
            as_double(real_tensor(y, "y")),
            self.lam,
            loss=self.loss,
            direction=self.direction,
            relation=self.relation,
            **options,
        )
        self.duals.copy_(fit.pair_duals)
        return fit

    def extra_repr(self) -> str:
        """What ``print`` shows beside the kernels."""
        shape = tuple(self.duals.shape)
        return f"nodes={shape}, loss={self.loss!r}, direction={self.direction!r}, relation={self.relation!r}"

    def _solver(self) -> KroneckerEigh[Tensor]:
        start, end = self._training_kernels()
        return KroneckerEigh(start, end, loss=self.loss, direction=self.direction, relation=self.relation)

    def _training_kernels(self) -> tuple[Tensor, Tensor | None]:
        end = None
        if self.x_end is not None:
            end = kernel_values(self.kernel_end or self.kernel, self.x_end, self.x_end)
        return kernel_values(self.kernel, self.x_start, self.x_start), end

    def _factors(self, x_start: Tensor, x_end: Tensor | None, duals: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        trained_end = self.x_start if self.x_end is None else self.x_end
        left = kernel_values(self.kernel, x_start, self.x_start)
        right = kernel_values(self.kernel_end or self.kernel, x_start if x_end is None else x_end, trained_end)
        return as_double(left), as_double(right), as_double(self.duals if duals is None else duals)
