"""What all pictures share: axes, colors, and inputs as arrays."""

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from torchrank.datasets.data import RankingData
from torchrank.plots.text import as_names
from torchrank.rankings.arrays import as_tensor, to_numpy
from torchrank.rankings.convert import to_positions
from torchrank.rankings.missing import Meaning, Missing, meaning_of, refuse_batches
from torchrank.rankings.prepared import said_of
from torchrank.rankings.validate import as_scores, as_weights, check_choice
from torchrank.typing import Names, PositionWord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart with any kind of color vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class Groups(NamedTuple):
    """Rows by the cluster they belong to."""

    names: tuple[str, ...]  # as labels were given, sorted; a number j is called "cluster j"
    codes: np.ndarray  # (m,) int64, which of the names

    def own(self, code: int) -> np.ndarray:
        """``(m,)`` bool: which rows belong to the cluster."""
        return self.codes == code


class CountedRankings(NamedTuple):
    """Rankings, and what is known about them."""

    scores: np.ndarray  # (m, n) float64
    weights: np.ndarray  # (m,)
    items: tuple[str, ...]  # n names
    meaning: Meaning  # of unranked items

    def part(self, rows: np.ndarray) -> "CountedRankings":
        """Those of the mask ``rows`` ``(m,)``."""
        meaning = self.meaning.of_rows(torch.from_numpy(rows), (len(self.scores),))
        return CountedRankings(self.scores[rows], self.weights[rows], self.items, meaning)


def style(number: int) -> tuple[str, str]:
    """Color and marker of a series; 64 of them differ."""
    return PALETTE[number % len(PALETTE)], MARKERS[(number + number // len(PALETTE)) % len(MARKERS)]


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (5.0, 4.0)) -> "Axes":
    """The axes given, or those of a new figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    return ax if ax is not None else new_axes(1, 1, size)[0, 0]


def new_axes(rows: int, columns: int, size: tuple[float, float]) -> np.ndarray:
    """``(rows, columns)`` axes of a new figure of so many inches.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("pictures need matplotlib: pip install matplotlib") from error
    return plt.subplots(rows, columns, figsize=size, layout="compressed", squeeze=False)[1]


def as_array(values: Any, name: str, *dims: int) -> np.ndarray:
    """Numbers as a float64 array of one of these numbers of dimensions.

    Raises:
        TypeError: values that are not real numbers.
        ValueError: another number of dimensions, or nothing to draw.
    """
    tensor = as_tensor(values, name)[0]
    if tensor.is_complex():
        raise TypeError(f"{name} has dtype {tensor.dtype}; expected real numbers")
    if tensor.ndim not in dims:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected {' or '.join(map(str, dims))} dimension(s)")
    if tensor.numel() == 0:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; there is nothing to draw")
    return to_numpy(tensor.detach().to("cpu", torch.float64))


def as_gram(K: Any) -> np.ndarray:
    """A square matrix of kernel values in float64.

    Raises:
        TypeError, ValueError: as :func:`as_array`; a matrix that is not square, or one of distances.
    """
    gram = as_square(K)
    if len(gram) > 1 and not gram.diagonal().any() and (np.nan_to_num(gram) >= 0).all() and gram.any():
        raise ValueError(
            "K has a diagonal of 0, as distances have; pass the kernel, for example torchrank.kendall_gram(X), or "
            "draw distances by matplotlib's imshow"
        )
    return gram


def as_square(K: Any, name: str = "K") -> np.ndarray:
    """A square matrix in float64; otherwise as :func:`as_array`."""
    gram = as_array(K, name, 2)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"{name} has shape {gram.shape}; expected a square matrix")
    return gram


def as_groups(labels: Any, m: int) -> Groups:
    """The clusters of m rows; None means that all are alike.

    Raises:
        ValueError: another number of labels, or NaN.
    """
    if labels is None:
        return Groups(("all",), np.zeros(m, dtype=np.int64))
    array = to_numpy(labels) if isinstance(labels, Tensor) else np.asarray(labels)
    if array.shape != (m,):
        raise ValueError(f"labels has shape {array.shape}; expected ({m},), one for each ranking")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"labels has NaN for row {int(np.isnan(array).argmax())}; every ranking needs a label")
    values, codes = np.unique(array, return_inverse=True)
    numbers = values.dtype.kind in "biuf"
    return Groups(tuple(f"cluster {value:g}" if numbers else str(value) for value in values), codes.reshape(m))


def as_rankings(X: Any, weights: Any = None, items: Names | None = None, missing: Missing = None) -> CountedRankings:
    """Scores with weights and names of items, which a data set or the columns of a data frame may bring along.

    Raises:
        TypeError, ValueError: as :func:`torchrank.borda`, or another number of names.
    """
    if isinstance(X, RankingData):
        weights, items = X.weights if weights is None else weights, X.items if items is None else items
        X = X.scores
    scores = as_scores(X, "X")[0].detach().cpu()
    if scores.ndim != 2:
        raise ValueError(f"X has shape {tuple(scores.shape)}; expected one matrix (rankings, items)")
    counts = as_weights(weights.detach().cpu() if isinstance(weights, Tensor) else weights, scores)
    columns = getattr(X, "columns", None) if items is None else items
    names = as_names(columns, scores.shape[1], "items", "X ranks {n} items")
    meaning = meaning_of(said_of(X, missing, "raise"), len(scores), "missing", scores.device)
    refuse_batches(meaning, "missing")
    return CountedRankings(to_numpy(scores.to(torch.float64)), to_numpy(counts), names, meaning)


def positions_of(rankings: CountedRankings) -> np.ndarray:
    """``(m, n)`` positions, 1 for the best; tied items share their mean, as unranked ones with "topk" at the end.

    Raises:
        ValueError: unranked items that mean something else.
    """
    word = rankings.meaning.word
    check_choice(word, "missing", get_args(PositionWord))
    unranked = np.isnan(rankings.scores)
    if word == "raise" and unranked.any():
        row, item = np.argwhere(unranked)[0]
        raise ValueError(f"X has NaN (an unranked item) at row {row}, item {item}; pass missing='topk' if it is below")
    last = (len(rankings.items) + 1 + (~unranked).sum(axis=1)) / 2
    return np.where(unranked, last[:, None], np.asarray(to_positions(rankings.scores)))
