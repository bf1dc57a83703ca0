"""Conditional ranking as a scikit-learn estimator: samples are edges, one row for each."""

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from tqdm import tqdm
from typing_extensions import Self

from torchrank._docs import shares_arguments
from torchrank._progress import NoBar, progress_bar
from torchrank.conditional import FitState, KroneckerEigh
from torchrank.conditional.arguments import checked_double
from torchrank.conditional.descriptions import DIRECTION, LOSS, RELATION
from torchrank.conditional.edges import solve_edges
from torchrank.estimators.border import ENCODE, check_features
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, keep_evidence, on_device
from torchrank.estimators.kronecker_graph import Graph, NodeKernel, graph_of_features, graph_of_numbers
from torchrank.evidence import Evidence
from torchrank.metrics import concordance_index
from torchrank.rankings.arrays import refuse_masks, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import Direction, KrylovMethod, Loss, Relation, Solver

NUMBER = "a node is its row in nodes, counted from 0; pandas.Index(names).get_indexer(column) finds rows by name"
SOLVERS = get_args(Solver)
SHARED = {
    "kernel": (
        "node kernel: a name that ``sklearn.metrics.pairwise.pairwise_kernels`` knows, a function of ``(r, d)`` and"
        ' ``(s, d)`` giving ``(r, s)``, or "precomputed": then ``nodes`` and ``end_nodes`` are the kernel matrices.'
    ),
    "kernel_params": "further arguments of a named kernel.",
    "nodes": "features ``(p, d)`` or kernel ``(p, p)`` of all nodes that edges number.",
    "end_nodes": "the same for end nodes, where they are another set.",
    "n_start_features": "without ``nodes``, how many columns belong to the start node; by default half.",
    "loss": LOSS,
    "direction": DIRECTION,
    "relation": RELATION,
    "solver": (
        '"eigen" is the closed form for complete graphs, "cg" and "bicgstab" iterate on any; "auto" takes the closed'
        " form where there is one."
    ),
    "tol": "relative residual that ends the iterations.",
    "max_iter": "most iterations.",
    **SETTINGS,
}


@isolated
@shares_arguments(**SHARED)
class KroneckerRLS(RegressorMixin, BaseEstimator):
    """Kronecker RLS or RankRLS on edges.

    A row of ``X`` is an edge, in one of two forms. With ``nodes`` it is a pair of node numbers, ``(start, end)``; the
    table may hold nodes that no training edge touches, to be predicted later. Without ``nodes`` it holds the features
    of the start node and then those of the end node, and equal features are the same node; then scalers and other
    steps of a pipeline apply.

    Args:
        alpha: regularization, at least 0; ``lam`` of the functions. By default 1.
        kernel: {kernel}
        kernel_params: {kernel_params}
        nodes: {nodes}
        end_nodes: {end_nodes}
        n_start_features: {n_start_features}
        loss: {loss}
        direction: {direction}
        relation: {relation}
        solver: {solver}
        tol: {tol}
        max_iter: {max_iter}
        verbose: show a progress bar of iterations, with the relative residual; the closed form has none.
        device: {device} Kernels between nodes are computed on the CPU, by scikit-learn or a function of arrays.

    Attributes:
        pair_duals_: ``(m, n)`` weights of the pairs of training nodes.
        start_nodes_: the m training start nodes, features or numbers.
        end_nodes_: the n training end nodes; None for one set.
        objective_: relative residual at the start and after each iteration; empty for the closed form.
        losses_: one value: the last residual, or for the closed form what it minimizes, at the solution.
        n_iter_: iterations; 0 for the closed form.
        converged_: whether the solver reached its tolerance; always for the closed form.
        reason_: why it ended: "closed form", "tolerance", "max_iter", "precision" or "breakdown".
        n_features_in_: columns of ``X``.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        kernel_params: dict[str, Any] | None = None,
        nodes: Any = None,
        end_nodes: Any = None,
        n_start_features: int | None = None,
        loss: Loss = "regression",
        direction: Direction = "outgoing",
        relation: Relation = "ordinary",
        solver: Solver = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.nodes = nodes
        self.end_nodes = end_nodes
        self.n_start_features = n_start_features
        self.loss: Loss = loss
        self.direction: Direction = direction
        self.relation: Relation = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from edges ``X`` and their labels ``y``.

        Raises:
            ValueError: edges that number no node, NaN, an unknown choice, or ``solver="eigen"`` on an incomplete graph.

        Warns:
            ConvergenceWarning: the iterations did not reach ``tol``.
        """
        with all_or_nothing(self):
            X, y = self._checked(X, y)
            if np.ndim(self.alpha) != 0:
                raise ValueError(f"alpha={self.alpha!r} is not a number; KroneckerRLSCV chooses among several")
            alphas, progress = np.array([self.alpha]), bool(self.verbose)
            self.pair_duals_ = self._fit_graph(self._graph(X), y, alphas, progress=progress)[0]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Scores ``(q,)`` of edges, between nodes old or new."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return self._predict_graph(self._graph(X), self.pair_duals_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 for the regression loss, for the ranking loss the share of pairs of a query's edges in their order."""
        predicted = self.predict(X)
        if self.loss == "regression":
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("loss='ranking' counts pairs of edges, which sample_weight does not weigh; leave it out")
        graph = self._graph(np.asarray(self._checked(X, reset=False)))
        return concordance_index(np.asarray(y), predicted, graph.start if self.direction == "outgoing" else graph.end)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # products of two halves of the features cannot fit every table
        return tags

    def _checked(self, X: Any, *y: Any, reset: bool = True) -> Any:
        numeric: dict[str, Any] = {"y_numeric": True} if y else {}
        remedy = ENCODE if self.nodes is None else NUMBER
        return check_features(self, X, *y, reset=reset, remedy=remedy, dtype=np.float64, **numeric)

    def _graph(self, X: np.ndarray) -> Graph:
        if self.nodes is not None:
            refuse_masks(self.nodes, "nodes")
            refuse_masks(self.end_nodes, "end_nodes")
            return graph_of_numbers(X, self.nodes, self.end_nodes)
        if self.end_nodes is not None:
            raise ValueError("end_nodes without nodes; pass the table of start nodes as nodes, the same for one set")
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs nodes=K, the kernel matrix of all nodes, and edges as node numbers"
            )
        return graph_of_features(X, self.n_start_features, one_set=self.relation != "ordinary")

    @property
    def _node_kernel(self) -> NodeKernel:
        return NodeKernel(self.kernel, self.kernel_params)

    def _training_kernels(self, graph: Graph) -> tuple[Tensor, Tensor | None]:
        K_start = self._kernel_values(graph.start_nodes, graph.start_nodes, self.nodes)
        if graph.end_nodes is None:
            return K_start, None
        return K_start, self._kernel_values(graph.end_nodes, graph.end_nodes, self.end_nodes)

    def _kernel_values(self, left: np.ndarray, right: np.ndarray, table: Any) -> Tensor:
        """The kernel between nodes where it is computed with."""
        K = self._node_kernel(left, right, table)
        return on_device(K if K.dtype.kind == "f" else K.astype(np.float64), self.device, "the kernel")

    def _closed_form(self, graph: Graph, y: np.ndarray) -> Tensor | None:
        """The label matrix where the closed form is to be used, else None."""
        check_choice(self.solver, "solver", SOLVERS)
        has_one = self.loss == "regression" or self.relation == "ordinary"
        F = graph.matrix(y) if has_one and self.solver in ("auto", "eigen") else None
        if self.solver == "eigen" and F is None:
            raise ValueError(
                "solver='eigen' needs every pair of nodes exactly once, and the ranking loss an ordinary relation; "
                "use solver='auto'"
            )
        return None if F is None else on_device(F, self.device, "y")

    def _solver(self, graph: Graph) -> KroneckerEigh:
        K_start, K_end = self._training_kernels(graph)
        return KroneckerEigh(K_start, K_end, loss=self.loss, direction=self.direction, relation=self.relation)

    def _fit_graph(self, graph: Graph, y: np.ndarray, alphas: np.ndarray, *, progress: bool) -> np.ndarray:
        """Weights ``(alphas, m, n)`` of the training pairs; keeps the nodes and how the last solution was reached."""
        self.start_nodes_, self.end_nodes_ = graph.start_nodes, graph.end_nodes
        F = self._closed_form(graph, y)
        if F is not None:
            solver = self._solver(graph)
            solver.solve(F.to(solver.K_start.dtype), alphas)
            keep_evidence(self, Evidence.closed_form(float(solver.training_loss()[-1])))
            return to_numpy(solver.pair_duals)
        K_start, K_end = self._training_kernels(graph)
        start = checked_double(K_start, "the kernel of start nodes")
        end = None if K_end is None else checked_double(K_end, "the kernel of end nodes")
        method: KrylovMethod = "bicgstab" if self.solver == "bicgstab" else "cg"
        weights, labels = np.empty((len(alphas), *graph.shape)), on_device(y.astype(np.float64), self.device, "y")
        for i, alpha in enumerate(alphas):
            with progress_bar(f"alpha={alpha:g}", "iteration", total=self.max_iter, progress=progress) as bar:
                fit = solve_edges(
                    start,
                    end,
                    graph.edges,
                    labels,
                    alpha,
                    loss=self.loss,
                    direction=self.direction,
                    relation=self.relation,
                    method=method,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    callback=partial(_show_iteration, bar) if progress else None,
                )
            weights[i] = to_numpy(fit.pair_duals)
            keep_evidence(self, fit)
        return weights

    def _predict_graph(self, graph: Graph, pair_duals: np.ndarray) -> np.ndarray:
        """Scores ``(..., q)`` by weights ``(..., m, n)``."""
        trained_end = self.start_nodes_ if self.end_nodes_ is None else self.end_nodes_
        duals = on_device(pair_duals, self.device)
        left = self._kernel_values(graph.start_nodes, self.start_nodes_, self.nodes).double() @ duals
        end_table = self.nodes if self.end_nodes is None else self.end_nodes
        new_end = graph.start_nodes if graph.end_nodes is None else graph.end_nodes
        right = self._kernel_values(new_end, trained_end, end_table).double()
        start, end = on_device(graph.start, self.device), on_device(graph.end, self.device)
        scores = duals.new_empty((*duals.shape[:-2], len(start)))
        step = max(1, 2**22 // right.shape[1])
        for first in range(0, len(graph.start), step):  # in parts: edges times nodes may be large
            part = slice(first, first + step)
            scores[..., part] = (left[..., start[part], :] * right[end[part]]).sum(-1)
        return to_numpy(scores)


def _show_iteration(bar: "tqdm[Any] | NoBar[Any]", state: FitState) -> None:
    bar.set_postfix(residual=f"{state.residual:.2g}", refresh=False)
    bar.update()
