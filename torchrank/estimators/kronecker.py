"""Conditional ranking as scikit-learn estimators: samples are edges, one row for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted, validate_data

from torchrank.conditional import ConditionalSplit, KroneckerEigh, kron_edge_rls
from torchrank.metrics import concordance_index, conditional_ranking_error
from torchrank.rankings.validate import check_choice

SOLVERS = ("auto", "eigen", "cg", "bicgstab")
EXCLUDES = ("edge", "start", "end", "both")  # what cv names, in the order of the settings 1 to 4


@dataclass(frozen=True)
class _Graph:
    """Edges as places in tables of nodes."""

    start: np.ndarray  # (q,)
    end: np.ndarray  # (q,)
    start_nodes: np.ndarray  # (m, d) features, or (m,) numbers of nodes
    end_nodes: np.ndarray | None  # None: the same table

    @property
    def edges(self) -> np.ndarray:
        return np.stack([self.start, self.end], axis=1)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.start_nodes), len(self.start_nodes if self.end_nodes is None else self.end_nodes)

    def matrix(self, y: np.ndarray) -> np.ndarray | None:
        """Labels as a matrix, or None unless every pair of nodes is there once."""
        if len(y) != self.shape[0] * self.shape[1]:
            return None
        F = np.full(self.shape, np.nan)
        F[self.start, self.end] = y
        return None if np.isnan(F).any() else F


class KroneckerRLS(RegressorMixin, BaseEstimator):
    """Kronecker RLS or RankRLS on edges.

    A row of ``X`` is an edge, in one of two forms. With ``nodes`` it is a pair of node numbers, ``(start, end)``; the
    table may hold nodes that no training edge touches, to be predicted later. Without ``nodes`` it holds the features
    of the start node and then those of the end node, and equal features are the same node; then scalers and other
    steps of a pipeline apply.

    Args:
        alpha: regularisation, at least 0.
        kernel: node kernel: a name that ``sklearn.metrics.pairwise.pairwise_kernels`` knows, a function of ``(r, d)``
            and ``(s, d)`` giving ``(r, s)``, or "precomputed", for which ``nodes`` and ``end_nodes`` are the kernel
            matrices.
        kernel_params: further arguments of a named kernel.
        nodes: features ``(p, d)`` or kernel ``(p, p)`` of all nodes that edges number.
        end_nodes: the same for end nodes, where they are another set.
        n_start_features: without ``nodes``, how many columns belong to the start node; by default half.
        loss: "regression" or "ranking".
        direction: "outgoing" ranks end nodes for each start node, "incoming" the other way.
        relation: "ordinary", "symmetric" or "reciprocal" pair kernel; the last two need one set of nodes.
        solver: "eigen" is the closed form for complete graphs, "cg" and "bicgstab" iterate on any; "auto" takes the
            closed form where there is one.
        tol: relative residual of the iterations.
        max_iter: most iterations.

    Attributes:
        pair_duals_: ``(m, n)`` weights of the pairs of training nodes.
        start_nodes_: the m training start nodes, features or numbers.
        end_nodes_: the n training end nodes; None for one set.
        converged_: whether the solver reached its tolerance; always for the closed form.
        n_iter_: iterations; 0 for the closed form.
        residuals_: relative residual at the start and after each iteration; empty for the closed form.
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
        loss: str = "regression",
        direction: str = "outgoing",
        relation: str = "ordinary",
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.nodes = nodes
        self.end_nodes = end_nodes
        self.n_start_features = n_start_features
        self.loss = loss
        self.direction = direction
        self.relation = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> "KroneckerRLS":
        """Learn from edges ``X`` and their labels ``y``.

        Raises:
            ValueError: edges that number no node, NaN, an unknown choice, or ``solver="eigen"`` on an incomplete graph.

        Warns:
            ConvergenceWarning: the iterations did not reach ``tol``.
        """
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        self.pair_duals_ = self._fit_graph(self._graph(X), y, np.array([self.alpha]))[0]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Scores ``(q,)`` of edges, between nodes old or new."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._predict_graph(self._graph(X), self.pair_duals_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 for the regression loss, for the ranking loss the share of pairs of a query's edges in their order."""
        predicted = self.predict(X)
        if self.loss == "regression":
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("loss='ranking' counts pairs of edges, which sample_weight does not weigh; leave it out")
        graph = self._graph(np.asarray(validate_data(self, X, reset=False, dtype=np.float64)))
        return concordance_index(np.asarray(y), predicted, graph.start if self.direction == "outgoing" else graph.end)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # products of two halves of the features cannot fit every table
        return tags

    def _graph(self, X: np.ndarray) -> _Graph:
        if self.nodes is not None:
            return self._numbered_graph(X)
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs nodes=K, the kernel matrix of all nodes, and edges as node numbers"
            )
        width = X.shape[1] // 2 if self.n_start_features is None else self.n_start_features
        if not 0 < width < X.shape[1] or (self.n_start_features is None and 2 * width != X.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} feature(s), n_start_features={self.n_start_features}; a row holds the features of "
                "the start node and then of the end node, half each unless n_start_features says otherwise"
            )
        start, end = X[:, :width], X[:, width:]
        if self.relation != "ordinary":
            if start.shape != end.shape:
                raise ValueError(f"relation={self.relation!r} needs as many features of the start as of the end node")
            table, places = np.unique(np.concatenate([start, end]), axis=0, return_inverse=True)
            places = places.reshape(2, -1)
            return _Graph(places[0], places[1], table, None)
        start_table, start_places = np.unique(start, axis=0, return_inverse=True)
        end_table, end_places = np.unique(end, axis=0, return_inverse=True)
        return _Graph(start_places.reshape(-1), end_places.reshape(-1), start_table, end_table)

    def _numbered_graph(self, X: np.ndarray) -> _Graph:
        if X.shape[1] != 2 or (np.floor(X) != X).any():
            raise ValueError(
                f"X has shape {X.shape}; with nodes given it holds (start, end) node numbers, two integers a row"
            )
        edges = X.astype(np.int64)
        tables = self.nodes, self.nodes if self.end_nodes is None else self.end_nodes
        for column, table in enumerate(tables):
            outside = (edges[:, column] < 0) | (edges[:, column] >= len(table))
            if outside.any():
                row = int(outside.argmax())
                raise ValueError(
                    f"X[{row}, {column}] is {edges[row, column]}; nodes are numbered 0 to {len(table) - 1}"
                )
        if self.end_nodes is None:
            numbers, places = np.unique(edges.T, return_inverse=True)
            places = places.reshape(2, -1)
            return _Graph(places[0], places[1], numbers, None)
        start_numbers, start = np.unique(edges[:, 0], return_inverse=True)
        end_numbers, end = np.unique(edges[:, 1], return_inverse=True)
        return _Graph(start, end, start_numbers, end_numbers)

    def _node_kernel(self, left: np.ndarray, right: np.ndarray, table: Any) -> np.ndarray:
        """The kernel between two lists of nodes, features or numbers in ``table``."""
        if table is not None:
            table = np.asarray(table)
            if self.kernel == "precomputed":
                return table[np.ix_(left, right)].astype(np.float64)
            left, right = table[left], table[right]
        if callable(self.kernel):
            return np.asarray(self.kernel(left, right), dtype=np.float64)
        return pairwise_kernels(left, right, metric=self.kernel, **(self.kernel_params or {}))

    def _training_kernels(self, graph: _Graph) -> tuple[np.ndarray, np.ndarray | None]:
        K_start = self._node_kernel(graph.start_nodes, graph.start_nodes, self.nodes)
        if graph.end_nodes is None:
            return K_start, None
        return K_start, self._node_kernel(graph.end_nodes, graph.end_nodes, self.end_nodes)

    def _closed_form(self, graph: _Graph, y: np.ndarray) -> np.ndarray | None:
        """The label matrix where the closed form is to be used, else None."""
        check_choice(self.solver, "solver", SOLVERS)
        has_one = self.loss == "regression" or self.relation == "ordinary"
        F = graph.matrix(y) if has_one and self.solver in ("auto", "eigen") else None
        if self.solver == "eigen" and F is None:
            raise ValueError(
                "solver='eigen' needs every pair of nodes exactly once, and the ranking loss an ordinary relation; "
                "use solver='auto'"
            )
        return F

    def _solver(self, graph: _Graph) -> KroneckerEigh:
        K_start, K_end = self._training_kernels(graph)
        return KroneckerEigh(K_start, K_end, loss=self.loss, direction=self.direction, relation=self.relation)

    def _fit_graph(self, graph: _Graph, y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Weights ``(alphas, m, n)`` of the training pairs; keeps the nodes and how the last solution was reached."""
        self.start_nodes_, self.end_nodes_ = graph.start_nodes, graph.end_nodes
        F = self._closed_form(graph, y)
        if F is not None:
            self.converged_, self.n_iter_, self.residuals_ = True, 0, ()
            return self._solver(graph).solve(F, alphas)
        K_start, K_end = self._training_kernels(graph)
        weights = np.empty((len(alphas), *graph.shape))
        for i, alpha in enumerate(alphas):
            fit = kron_edge_rls(
                K_start,
                K_end,
                graph.edges,
                y,
                alpha,
                loss=self.loss,
                direction=self.direction,
                relation=self.relation,
                method="cg" if self.solver == "auto" else self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            weights[i] = fit.pair_duals
            self.converged_, self.n_iter_, self.residuals_ = fit.converged, fit.n_iter, fit.residuals
        return weights

    def _predict_graph(self, graph: _Graph, pair_duals: np.ndarray) -> np.ndarray:
        """Scores ``(..., q)`` by weights ``(..., m, n)``."""
        trained_end = self.start_nodes_ if self.end_nodes_ is None else self.end_nodes_
        left = self._node_kernel(graph.start_nodes, self.start_nodes_, self.nodes) @ pair_duals
        end_table = self.nodes if self.end_nodes is None else self.end_nodes
        new_end = graph.start_nodes if graph.end_nodes is None else graph.end_nodes
        right = self._node_kernel(new_end, trained_end, end_table)
        scores = np.empty((*pair_duals.shape[:-2], len(graph.start)))
        step = max(1, 2**22 // right.shape[1])
        for first in range(0, len(graph.start), step):  # in parts: edges times nodes may be large
            part = slice(first, first + step)
            scores[..., part] = (left[..., graph.start[part], :] * right[graph.end[part]]).sum(-1)
        return scores


class KroneckerRLSCV(KroneckerRLS):
    """Kronecker RLS or RankRLS with ``alpha`` chosen by cross-validation, then fitted to all edges.

    On a complete graph with an ordinary relation, leaving out single edges, start nodes or end nodes takes one
    decomposition for all values of ``alpha`` by the formulas of :meth:`KroneckerEigh.loo`; they treat the two sides as
    separate sets, so a start node left out may still be an end node. Everything else is fitted fold by fold.

    Args:
        alphas: values to try.
        cv: what is left out: "edge", "start", "end" or "both" (settings 1 to 4); or a splitter of edges, such as
            :class:`torchrank.conditional.ConditionalSplit`, fitted fold by fold.
        n_splits: folds, where there are folds; "both" goes through ``n_splits ** 2`` pairs of them.
        random_state: seed of the folds.
        **others: those of :class:`KroneckerRLS` but ``alpha``.

    Attributes:
        alpha_: the best value.
        cv_errors_: ``(alphas,)`` mean squared error, or for the ranking loss the pooled conditional ranking error.
    """

    def __init__(
        self,
        alphas: Any = (0.01, 0.1, 1.0, 10.0, 100.0),
        *,
        cv: Any = "edge",
        n_splits: int = 3,
        random_state: Any = None,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        kernel_params: dict[str, Any] | None = None,
        nodes: Any = None,
        end_nodes: Any = None,
        n_start_features: int | None = None,
        loss: str = "regression",
        direction: str = "outgoing",
        relation: str = "ordinary",
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.n_splits = n_splits
        self.random_state = random_state
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.nodes = nodes
        self.end_nodes = end_nodes
        self.n_start_features = n_start_features
        self.loss = loss
        self.direction = direction
        self.relation = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> "KroneckerRLSCV":
        """Choose ``alpha`` and fit; see :meth:`KroneckerRLS.fit`."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        if isinstance(self.cv, str):
            check_choice(self.cv, "cv", EXCLUDES)
        alphas = np.asarray(self.alphas, dtype=np.float64)
        if alphas.ndim != 1 or len(alphas) == 0:
            raise ValueError(f"alphas has shape {alphas.shape}; expected a list of at least one number")
        graph = self._graph(X)
        short_cut = isinstance(self.cv, str) and self.cv != "both" and self.relation == "ordinary"
        F = self._closed_form(graph, y) if short_cut else None
        if F is not None:
            left_out = self._solver(graph).loo(F, alphas, exclude=self.cv)
            predicted, tested = left_out[:, graph.start, graph.end], np.arange(len(y))
        else:
            predicted, tested = self._by_folds(X, y, graph, alphas)
        self.cv_errors_ = self._errors(graph, y, predicted, tested)
        self.alpha_ = float(alphas[np.argmin(self.cv_errors_)])
        self.pair_duals_ = self._fit_graph(graph, y, np.array([self.alpha_]))[0]
        return self

    def _by_folds(
        self, X: np.ndarray, y: np.ndarray, graph: _Graph, alphas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of test edges, split after split, and which edges they are."""
        splitter = self.cv
        if isinstance(splitter, str):
            splitter = ConditionalSplit(
                EXCLUDES.index(splitter) + 1,
                self.n_splits,
                one_domain=graph.end_nodes is None,
                undirected=self.relation != "ordinary",
                random_state=self.random_state,
            )
        predicted, tested = [], []
        for train, test in splitter.split(graph.edges, y):
            weights = self._fit_graph(self._graph(X[train]), y[train], alphas)
            predicted.append(self._predict_graph(self._graph(X[test]), weights))
            tested.append(test)
        return np.concatenate(predicted, axis=1), np.concatenate(tested)

    def _errors(self, graph: _Graph, y: np.ndarray, predicted: np.ndarray, tested: np.ndarray) -> np.ndarray:
        if self.loss == "regression":
            return ((predicted - y[tested]) ** 2).mean(1)
        query = (graph.start if self.direction == "outgoing" else graph.end)[tested]
        return np.array([conditional_ranking_error(y[tested], scores, query).pooled for scores in predicted])
