"""Splits of edges for the four settings of learning on pairs, without leakage between training and test."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from torchrank._docs import shares_arguments
from torchrank.conditional.descriptions import ONE_DOMAIN, SETTING, UNDIRECTED
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.validate import check_count

SETTINGS = (1, 2, 3, 4)


@shares_arguments(one_domain=ONE_DOMAIN, undirected=UNDIRECTED)
class ConditionalSplit:
    """Cross-validation over edges in one of four settings, for scikit-learn's ``cv`` argument or a loop.

    Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 1.2. A test edge joins

    ========  ===============  ===============
    setting   start node       end node
    ========  ===============  ===============
    1         in training      in training
    2         new              in training
    3         in training      new
    4         new              new
    ========  ===============  ===============

    Test edges that do not fit the setting, because a node of theirs occurs in no training edge, are left out, and so
    are training edges that would give a new node away.

    Args:
        setting: 1 splits edges into ``n_splits`` folds, repeated edges together; 2 and 3 split start or end nodes; 4
            splits both and goes through all ``n_splits ** 2`` pairs of folds.
        n_splits: folds, at least 2.
        one_domain: {one_domain}
        undirected: {undirected}
        shuffle: whether folds are random.
        generator: random numbers for the shuffle, drawn once, so that every :meth:`split` makes the same folds; by
            default torch's own.

    Raises:
        ValueError: an unknown setting, fewer than 2 folds, or ``undirected`` edges between two domains.
    """

    def __init__(
        self,
        setting: int,
        n_splits: int = 5,
        *,
        one_domain: bool = False,
        undirected: bool = False,
        shuffle: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        if setting not in SETTINGS:
            raise ValueError(f"setting={setting!r} is unknown; choose one of 1, 2, 3, 4")
        check_count(n_splits, "n_splits", 2)
        if undirected and not one_domain:
            raise ValueError(
                "undirected=True needs one_domain=True: only within one set of nodes can an edge be turned round"
            )
        self.setting, self.n_splits = setting, n_splits
        self.one_domain, self.undirected = one_domain, undirected
        self.shuffle = shuffle
        device = "cpu" if generator is None else generator.device
        self._seed = int(torch.randint(2**63 - 1, (), generator=generator, device=device)) if shuffle else 0

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits; the arguments are there for scikit-learn and ignored."""
        return self.n_splits**2 if self.setting == 4 else self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give training and test indices into the edges.

        Args:
            X: ``(q, 2)`` edges as node numbers.
            y: ignored.
            groups: ignored.

        Raises:
            ValueError: not edges, too few pairs or nodes for the folds, or a fold without training or test edges.
        """
        edges = _edge_array(X)
        for number, (train, test) in enumerate(self._masks(edges)):
            test &= self._fits(edges, train)
            if not train.any() or not test.any():
                part = "test" if train.any() else "training"
                advice = f"use fewer than {self.n_splits} folds"
                raise ValueError(f"split {number} of setting {self.setting} has no {part} edges; {advice}")
            indices = np.flatnonzero(train), np.flatnonzero(test)
            check_leakage(edges, *indices, self.setting, one_domain=self.one_domain, undirected=self.undirected)
            yield indices

    def _masks(self, edges: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(self._seed)
        start, end = edges.T
        if self.setting == 1:
            folds = self._folds(_pair_numbers(edges, self.undirected), "distinct pairs", rng)
            for k in range(self.n_splits):
                yield folds != k, folds == k
            return
        new_starts, new_ends = self.setting in (2, 4), self.setting in (3, 4)
        if self.one_domain:
            start_fold, end_fold = self._folds(edges.T, "nodes", rng)
        else:
            start_fold = self._folds(start, "start nodes", rng) if new_starts else np.zeros_like(start)
            end_fold = self._folds(end, "end nodes", rng) if new_ends else np.zeros_like(end)
        for k in range(self.get_n_splits()):
            a, b = divmod(k, self.n_splits) if self.setting == 4 else (k, k)
            start_is_new = (start_fold == a) & new_starts
            end_is_new = (end_fold == b) & new_ends
            touches_new = start_is_new | end_is_new
            if self.one_domain:
                held_out = [a] * new_starts + [b] * new_ends
                touches_new = np.isin(start_fold, held_out) | np.isin(end_fold, held_out)
            yield ~touches_new, (start_is_new == new_starts) & (end_is_new == new_ends)

    def _folds(self, names: np.ndarray, what: str, rng: np.random.Generator) -> np.ndarray:
        """The fold of each entry, equal entries in the same one."""
        distinct, inverse = np.unique(names, return_inverse=True)
        if len(distinct) < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits} is more than the {len(distinct)} {what}; use fewer folds")
        folds = np.arange(len(distinct)) % self.n_splits
        return (rng.permutation(folds) if self.shuffle else folds)[inverse].reshape(names.shape)

    def _fits(self, edges: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Edges whose nodes are new or known just as the setting says."""
        known_start, known_end = _known(edges, edges[train], self.one_domain)
        return (known_start == (self.setting in (1, 3))) & (known_end == (self.setting in (1, 2)))


@shares_arguments(setting=SETTING, one_domain=ONE_DOMAIN, undirected=UNDIRECTED)
def check_leakage(
    edges: Any,
    train: Any,
    test: Any,
    setting: int,
    *,
    one_domain: bool = False,
    undirected: bool = False,
) -> None:
    """Refuse a split whose training edges tell about test edges more than the setting allows.

    Args:
        edges: ``(q, 2)`` node numbers, a row (start, end) for each edge.
        train: indices of the training edges.
        test: indices of the test edges.
        setting: {setting}
        one_domain: {one_domain}
        undirected: {undirected}

    Raises:
        ValueError: naming a test edge that is among the training edges, or a node of one that is known or new against
            the setting.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting={setting!r} is unknown; choose one of 1, 2, 3, 4")
    pairs = _edge_array(edges)
    numbers = _pair_numbers(pairs, undirected)
    tests, trains = pairs[np.asarray(test)], pairs[np.asarray(train)]
    seen = np.isin(numbers[np.asarray(test)], numbers[np.asarray(train)])
    if seen.any():
        edge = tuple(int(i) for i in tests[seen][0])
        raise ValueError(f"test edge {edge} is also a training edge{', perhaps turned round' if undirected else ''}")
    known_start, known_end = _known(tests, trains, one_domain)
    for column, known, wanted in ((0, known_start, setting in (1, 3)), (1, known_end, setting in (1, 2))):
        wrong = known != wanted
        if wrong.any():
            edge = tuple(int(i) for i in tests[wrong][0])
            state = "in no training edge" if wanted else "in a training edge"
            raise ValueError(
                f"{('start', 'end')[column]} node {edge[column]} of test edge {edge} is {state}: not setting {setting}"
            )


def _edge_array(X: Any) -> np.ndarray:
    refuse_masks(X, "edges")
    edges = np.asarray(X)
    is_number = edges.dtype.kind in "iuf" and bool((np.floor(edges) == edges).all())
    if edges.ndim != 2 or edges.shape[1] != 2 or not is_number:
        raise ValueError(
            f"edges of shape {edges.shape} and dtype {edges.dtype} are not (edges, 2) node numbers, a row (start, end) "
            "for each; numpy.unique(names, return_inverse=True) numbers names"
        )
    return edges.astype(np.int64)


def _pair_numbers(edges: np.ndarray, undirected: bool) -> np.ndarray:
    ordered = np.sort(edges, axis=1) if undirected else edges
    return np.unique(ordered, axis=0, return_inverse=True)[1].reshape(-1)


def _known(edges: np.ndarray, train: np.ndarray, one_domain: bool) -> tuple[np.ndarray, np.ndarray]:
    """Whether start and end node of each edge occur in a training edge; on the same side, unless there is one set."""
    if one_domain:
        return np.isin(edges[:, 0], train), np.isin(edges[:, 1], train)
    return np.isin(edges[:, 0], train[:, 0]), np.isin(edges[:, 1], train[:, 1])
