"""What a data set is here, whatever it was read from, fetched or generated: rankings, or edges of a graph."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torchrank.rankings.arrays import as_tensor, refuse_masks, to_numpy
from torchrank.rankings.names import check_same_names, check_same_rows, columns_of, index_of, refuse_one_name


@dataclass(frozen=True, eq=False)
class RankingData:
    """Rankings with what is known about them.

    For label ranking and scikit-learn, ``X`` and ``Y`` are other names of ``features`` and ``scores``.

    Attributes:
        scores: ``(m, n)``, larger = preferred, equal = tied, NaN = not ranked; float64, or integers beyond 2^53; or
            :class:`torchrank.SparseRankings`.
        items: names of the n columns.
        weights: ``(m,)``, how often each row was observed; ones where nothing is said.
        rankers: names of the m rows, where they have any.
        features: ``(m, d)``, what is known about the rankers, where there is something.
        feature_names: names of the d features.
        classes: ``(m,)`` integers, which class or generating component each row belongs to, where that is known.
        class_names: names of the classes 0, 1, ...
        title: what the data set is called.
        license: terms of use, as the source states them.
        citation: the work to cite.
        notes: what else is known: further lines of a file's header, or the parameters of generated data.

    Raises:
        ValueError: rows or columns of which there are different numbers.
        TypeError: one name in place of a list of names.
    """

    scores: Any
    items: tuple[str, ...]
    weights: np.ndarray
    rankers: tuple[str, ...] = ()
    features: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()
    classes: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    title: str = ""
    license: str = ""
    citation: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("items", "rankers", "feature_names", "class_names"):
            refuse_one_name(getattr(self, name), name)
        for name in ("scores", "weights", "features", "classes"):
            refuse_masks(getattr(self, name), name)
        if self.scores.ndim != 2:
            raise ValueError(f"scores has shape {tuple(self.scores.shape)}; expected (rankings, items)")
        remedy = "bring them into one order, or pass arrays to take them by their place"
        check_same_names(self.items, columns_of(self.scores), "items", "columns of scores", remedy)
        check_same_names(self.rankers or None, index_of(self.scores), "rankers", "rows of scores", remedy)
        for name in ("weights", "classes", "features"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, np.ndarray):
                check_same_rows(self.rankers or index_of(self.scores), value, name)
                object.__setattr__(self, name, to_numpy(as_tensor(value, name)[0]))
        if columns_of(self.scores) is not None:
            object.__setattr__(self, "scores", to_numpy(as_tensor(self.scores, "scores")[0]))
        m, n = self.scores.shape
        if len(self.items) != n:
            raise ValueError(f"items has {len(self.items)} names; scores rank {n} items")
        for name in ("weights", "rankers", "features", "classes"):
            value = getattr(self, name)
            if value is None or (name == "rankers" and not value):
                continue
            if len(value) != m:
                raise ValueError(f"{name} has {len(value)} entries; there are {m} rankings")
        if self.features is not None and self.features.ndim != 2:
            raise ValueError(f"features has shape {self.features.shape}; expected (rankings, features)")
        columns = 0 if self.features is None else self.features.shape[1]
        if self.feature_names and len(self.feature_names) != columns:
            raise ValueError(f"feature_names has {len(self.feature_names)} names; there are {columns} features")

    def __repr__(self) -> str:
        m, n = self.scores.shape
        voters = "" if (self.weights == 1).all() else f", total weight {self.weights.sum():g}"
        columns = 0 if self.features is None else self.features.shape[1]
        known = "" if self.features is None else f", {columns} feature{'s' * (columns != 1)}"
        title = f"{self.title!r}: " if self.title else ""
        return f"RankingData({title}{m} rankings of {n} items{known}{voters})"

    @property
    def X(self) -> np.ndarray:  # noqa: N802  the name that scikit-learn and the papers use
        """The features; ``AttributeError`` where there are none."""
        if self.features is None:
            raise AttributeError("X: nothing is known about the rankers of this data set, its features are None")
        return self.features

    @property
    def Y(self) -> Any:  # noqa: N802
        """The scores."""
        return self.scores

    def expanded(self) -> Any:
        """Scores with every row repeated as often as it was observed.

        Raises:
            ValueError: weights that are not whole numbers.
        """
        counts = self.weights.astype(np.int64)
        if not np.array_equal(counts, self.weights):
            raise ValueError("weights are not whole numbers; pass scores and weights instead of repeating rows")
        return self.scores[np.repeat(np.arange(len(counts)), counts)]


def weights_of(weights: Any, m: int, rows: Any = None) -> np.ndarray:
    """Weights ``(m,)`` in float64, ones where None, of rankings with these names.

    Raises:
        ValueError: another shape, a weight that is negative, infinite or NaN, or a series of other rows.
    """
    if weights is None:
        return np.ones(m)
    check_same_rows(rows, weights)
    values = to_numpy(as_tensor(weights, "weights")[0]).astype(np.float64)
    if values.shape != (m,):
        raise ValueError(f"weights has shape {values.shape}; expected ({m},), one for each ranking")
    if not (values >= 0).all() or np.isinf(values).any():
        raise ValueError("weights has negative, infinite or NaN values; they say how often each ranking was observed")
    return values


def features_of(features: Any) -> np.ndarray | None:
    """Features in float64; None where there are none."""
    return None if features is None else to_numpy(as_tensor(features, "features")[0]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class EdgeData:
    """Labeled edges between nodes with features, for conditional ranking.

    ``KroneckerRLS(nodes=data.nodes).fit(data.edges, data.y)`` takes them as they are.

    Attributes:
        nodes: ``(p, d)``, features of the nodes.
        edges: ``(q, 2)`` integers, the start and the end node of each edge.
        y: ``(q,)``, labels of the edges, larger = preferred by the start node.
        title: what the data set is called.
        license: terms of use, as the source states them.
        citation: the work to cite.
        notes: what else is known, such as the parameters of generated data.

    Raises:
        TypeError: masked arrays.
    """

    nodes: np.ndarray
    edges: np.ndarray
    y: np.ndarray
    title: str = ""
    license: str = ""
    citation: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("nodes", "edges", "y"):
            refuse_masks(getattr(self, name), name)

    def __repr__(self) -> str:
        title = f"{self.title!r}: " if self.title else ""
        p, d = self.nodes.shape
        return f"EdgeData({title}{len(self.edges)} edges between {p} nodes of {d} features)"
