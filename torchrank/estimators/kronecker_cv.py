"""Conditional ranking with its regularization chosen by cross-validation in one of the four settings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from typing_extensions import Self

from torchrank._docs import shares_arguments
from torchrank._progress import progress_bar
from torchrank.conditional import ConditionalSplit
from torchrank.estimators.fitting import all_or_nothing
from torchrank.estimators.kronecker import SHARED, KroneckerRLS
from torchrank.estimators.kronecker_graph import Graph
from torchrank.metrics import conditional_ranking_error
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import Direction, Loss, Relation, Solver

EXCLUDES = ("edge", "start", "end", "both")  # what cv names, in the order of the settings 1 to 4


@isolated
@shares_arguments(**SHARED)
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
        verbose: show a progress bar of splits that are fitted, with the least error of the last, then of iterations.
        device: {device} Kernels between nodes are computed on the CPU, by scikit-learn or a function of arrays.

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
        loss: Loss = "regression",
        direction: Direction = "outgoing",
        relation: Relation = "ordinary",
        solver: Solver = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
        device: Any = None,
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
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any) -> Self:
        """Choose ``alpha`` by edges ``X`` and their labels ``y``, then learn from all of them.

        Raises:
            TypeError: ``cv`` that does not split.
            ValueError: edges that number no node, NaN, an unknown choice, or too few edges for the splits.

        Warns:
            ConvergenceWarning: the iterations did not reach ``tol``.
        """
        with all_or_nothing(self):
            X, y = self._checked(X, y)
            if isinstance(self.cv, str):
                check_choice(self.cv, "cv", EXCLUDES)
            elif not hasattr(self.cv, "split"):
                raise TypeError(
                    f"cv={self.cv!r} is not a splitter; choose one of {', '.join(EXCLUDES)}, or ConditionalSplit"
                )
            alphas = np.asarray(self.alphas, dtype=np.float64)
            if alphas.ndim != 1 or len(alphas) == 0:
                raise ValueError(f"alphas has shape {alphas.shape}; expected a list of at least one number")
            graph = self._graph(X)
            short_cut = isinstance(self.cv, str) and self.cv != "both" and self.relation == "ordinary"
            F = self._closed_form(graph, y) if short_cut else None
            if F is not None:
                solver = self._solver(graph)
                exclude: Any = self.cv
                left_out = to_numpy(solver.loo(F.to(solver.K_start.dtype), alphas, exclude=exclude))
                predicted, tested = left_out[:, graph.start, graph.end], np.arange(len(y))
            else:
                predicted, tested = self._by_folds(X, y, graph, alphas)
            self.cv_errors_ = self._errors(graph, y, predicted, tested)
            if np.isnan(self.cv_errors_).any():
                raise ValueError(
                    "cv leaves no edges, or none that could be ranked, to choose alpha by; take fewer splits"
                )
            self.alpha_ = float(alphas[np.argmin(self.cv_errors_)])
            self.pair_duals_ = self._fit_graph(graph, y, np.array([self.alpha_]), progress=bool(self.verbose))[0]
        return self

    def _by_folds(
        self, X: np.ndarray, y: np.ndarray, graph: Graph, alphas: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of test edges, split after split, and which edges they are."""
        splitter = self.cv
        if isinstance(splitter, str):
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            splitter = ConditionalSplit(
                EXCLUDES.index(splitter) + 1,
                self.n_splits,
                one_domain=graph.end_nodes is None,
                undirected=self.relation != "ordinary",
                generator=torch.Generator().manual_seed(seed),
            )
        predicted, tested = [], []
        splits = list(splitter.split(graph.edges, y))
        with progress_bar("cross-validation", "split", splits, progress=bool(self.verbose)) as bar:
            for train, test in bar:
                weights = self._fit_graph(self._graph(X[train]), y[train], alphas, progress=False)
                predicted.append(self._predict_graph(self._graph(X[test]), weights))
                tested.append(test)
                if self.verbose:
                    bar.set_postfix(error=f"{self._errors(graph, y, predicted[-1], test).min():.3g}")
        return np.concatenate(predicted, axis=1), np.concatenate(tested)

    def _errors(self, graph: Graph, y: np.ndarray, predicted: np.ndarray, tested: np.ndarray) -> np.ndarray:
        if self.loss == "regression":
            return ((predicted - y[tested]) ** 2).mean(1)
        query = (graph.start if self.direction == "outgoing" else graph.end)[tested]
        return np.array([conditional_ranking_error(y[tested], scores, query).pooled for scores in predicted])
