"""The way in for code that works on rankings: whatever users pass becomes :class:`Rankings`, ranked once."""

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from torchrank.ops.completeness import refuse_unranked
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import Origin, is_data_set, is_sparse_matrix
from torchrank.rankings.derivatives import KENDALL, needs_derivative, without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import MISSING, Missing, meaning_of
from torchrank.rankings.names import check_same_rows
from torchrank.rankings.prepared import Prepared, Rankings
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.sparse_forms import from_rankings, from_sparse_matrix
from torchrank.rankings.validate import Scores, as_scores, check_sides, joint_dtype, real_dtype
from torchrank.typing import Array, SparseMatrix, Values

REMEDY = (
    'pass missing="pairwise" to compare commonly ranked items only, '
    'or "interleaving" or "topk" for kernels of partial rankings'
)

_FOR_LOSSES = "; losses take targets with NaN as they are, and mask= for items that do not count"


@overload
def rank(X: SparseRankings[Array], missing: Missing = None) -> SparseRankings[Array]: ...
@overload
def rank(X: Values[Array] | Rankings[Array], missing: Missing = None) -> Rankings[Array]: ...
@overload
def rank(X: SparseMatrix, missing: Missing = None) -> SparseRankings[np.ndarray]: ...
@overload
def rank(X: Scores[Any], missing: Missing = None) -> Any: ...
@isolated
def rank(X: Any, missing: Missing = None) -> Any:
    """Prepare rankings once, to be used many times.

    Everything that takes scores takes the result, and ranks nothing again: kernels, distances, learners, folds of a
    cross-validation. The smoothed kernels alone refuse it, since they compare differences of scores.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked. Any real dtype.
            Or a matrix of ``scipy.sparse`` or a sparse tensor, in which what is not stored is unranked; or a
            :class:`torchrank.datasets.RankingData`, whose weights stay with the rankings.
        missing: what unranked items mean, to all functions that the rankings are passed to without a word of their own:
            "raise" (an error, here; the default), "interleaving", "topk" or "pairwise", as
            :func:`torchrank.kendall_gram` explains; or "interleaving" or "topk" for each ranking, ``(..., m)``.

    Returns:
        :class:`Rankings` on the device of the scores, :class:`SparseRankings` of sparse ones. Results made of them are
        arrays if the scores were.

    Raises:
        ValueError: unranked items with "raise", fewer than two items, unknown words.
        TypeError: scores that are not real numbers.

    Example:
        >>> rankings = rank([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
        >>> rankings.ranks.tolist(), len(rankings[:1])
        ([[2, 0, 1], [0, 1, 2]], 1)
    """
    if is_sparse(X):
        return sparse_rankings(X, missing=missing)
    said = "raise" if missing is None and not isinstance(X, Rankings) else missing
    rankings = as_rankings(X, missing=said, remedy=REMEDY + _FOR_LOSSES)
    return rankings if torch.compiler.is_compiling() else rankings.known()


def as_rankings(
    X: Any,
    name: str = "X",
    *,
    missing: Missing = "raise",
    remedy: str = REMEDY,
    least_dims: int = 2,
    least_items: int = 2,
    legal: tuple[str, ...] = MISSING,
    check: bool = True,
    word: str = "missing",
) -> Rankings:
    """``X`` as rankings, of sparse ones all items too.

    Args:
        X: scores, dense or sparse, or rankings, which stay as they are but for what ``missing`` says.
        name: what to call them in messages.
        missing: what unranked items mean; None leaves it to the rankings, and is "raise" for scores.
        remedy: what to do about unranked items where they are refused.
        least_dims: fewest dimensions.
        least_items: fewest items.
        legal: words that ``missing`` may be.
        check: whether unranked items are refused here if they have to be.
        word: what ``missing`` is called in messages.

    Raises:
        ValueError, TypeError: as :func:`rank`.
    """
    if is_data_set(X):
        words = {"missing": missing, "remedy": remedy, "least_dims": least_dims, "legal": legal, "check": check}
        words |= {"least_items": least_items}
        return of_data_set(as_rankings(X.scores, name, word=word, **words), X)
    if is_sparse(X):
        X, missing = sparse_rankings(X, name, missing=missing, legal=legal, word=word).dense(), None
    if isinstance(X, Rankings):
        rankings = X
        if missing is not None:
            rankings = replace(X, meaning=meaning_of(missing, X.shape[-2], word, X.ranks.device, legal))
        elif rankings.missing not in legal:
            raise ValueError(
                f"{name} was ranked with missing={rankings.missing!r}; pass {word}=, "
                f"one of {', '.join(map(repr, legal))}"
            )
        return refusing_unranked(rankings, name, remedy) if check else rankings
    scores, origin = as_scores(X, name, least_dims=least_dims, least_items=least_items)
    rows = scores.shape[-2] if scores.ndim > 1 else 1
    check_same_rows(origin.rows, missing, word)
    meaning = meaning_of("raise" if missing is None else missing, rows, word, scores.device, legal)
    refused = check and meaning.word == "raise"
    ranks, strict = dense_ranks(scores, remedy if refused else "allow", name)
    return Rankings(
        ranks,
        strict,
        meaning,
        real_dtype(scores, origin) if scores.is_floating_point() else None,
        origin,
        complete=True if refused or not scores.is_floating_point() else None,
        scores=scores if needs_derivative(scores) else None,
    )


def sparse_rankings(
    X: Any,
    name: str = "X",
    *,
    missing: Missing = None,
    legal: tuple[str, ...] = MISSING,
    word: str = "missing",
) -> SparseRankings:
    """Sparse rankings, or a sparse matrix, as sparse rankings; ``missing`` as for :func:`as_rankings`.

    Raises:
        ValueError, TypeError: as :func:`rank`.
    """
    if is_data_set(X):
        return of_data_set(sparse_rankings(X.scores, name, missing=missing, legal=legal, word=word), X)
    if not isinstance(X, SparseRankings):
        X, missing = from_sparse_matrix(X, name), "raise" if missing is None else missing
    return X.meant(missing, legal, word, name)


def is_sparse(X: Any) -> bool:
    """Whether these are sparse rankings, a sparse matrix, or a data set of the one or the other."""
    X = X.scores if is_data_set(X) else X
    return isinstance(X, SparseRankings) or is_sparse_matrix(X)


Kind = TypeVar("Kind", Rankings, SparseRankings)


def of_data_set(rankings: Kind, data: Any) -> Kind:
    """The same rankings with the names of a data set, and its weights unless all of them are 1."""
    table = torch.as_tensor(data.weights, dtype=torch.float64, device=rankings.ranks.device)
    weights = rankings.weights if bool((table == 1).all()) else table
    return replace(rankings, weights=weights, origin=rankings.origin.of_data_set(data))


def refusing_unranked(rankings: Rankings, name: str, remedy: str) -> Rankings:
    """The same rankings, complete where unranked items are refused."""
    if rankings.missing != "raise" or rankings.complete:
        return rankings
    refuse_unranked(rankings.ranks, rankings.strict, None, None, remedy, name)
    return replace(rankings, complete=True)


def of_items(rankings: Rankings, items: slice) -> Rankings:
    """The rankings of some of the items; unranked ones mean there what they mean among all."""
    ranks, strict = dense_ranks(rankings.as_scores()[..., items], "allow", "X")
    scores = rankings.scores
    return replace(
        rankings,
        ranks=ranks,
        strict=strict,
        complete=rankings.complete or None,
        untied=rankings.untied or None,
        scores=None if scores is None else scores[..., items],
    )


class Pair(NamedTuple):
    """Two checked sets of rankings, and how what is made of them has to look."""

    X: Rankings
    Y: Rankings | None  # None means X
    dtype: torch.dtype  # of a real-valued result
    origin: Origin

    def sides(self) -> tuple[Rankings, ...]:
        """Both, or X alone."""
        return (self.X,) if self.Y is None else (self.X, self.Y)

    def without_gradient(self, result: Tensor, what: str = KENDALL) -> Tensor:
        """A result that is piecewise constant in the scores; see :func:`torchrank.rankings.derivatives`."""
        return without_gradient(result, *(side.scores for side in self.sides()), what=what)


class SparsePair(NamedTuple):
    """The same of sparse rankings, unranked items of which are no error."""

    X: SparseRankings
    Y: SparseRankings | None
    dtype: torch.dtype
    origin: Origin

    def sides(self) -> tuple[SparseRankings, ...]:
        """Both, or X alone."""
        return (self.X,) if self.Y is None else (self.X, self.Y)

    def without_gradient(self, result: Tensor) -> Tensor:
        """As :meth:`Pair.without_gradient`."""
        return without_gradient(result, *(side.scores for side in self.sides()))


def rankings_of_sides(
    X: Scores,
    Y: Scores | None,
    missing: Missing = "raise",
    missing_y: Missing = None,
    remedy: str = REMEDY,
) -> Pair:
    """The two sides of a Gram matrix; ``missing_y=None`` takes for Y what ``missing`` says of X, if that is one word.

    Raises:
        ValueError: as :func:`as_rankings`; different numbers or names of items, different devices, batch dimensions
            that do not broadcast, words that do not go together.
        TypeError: as :func:`as_rankings`.
    """
    sides = _sides(X, Y, missing, missing_y, remedy, check=True, keep=False)
    assert isinstance(sides, Pair)
    return sides


def sides_to_count(X: Scores, Y: Scores | None, missing: Missing, missing_y: Missing = None) -> Pair | SparsePair:
    """The same, sparse where one of the two is; what is left to check is whether "raise" holds.

    Raises:
        ValueError, TypeError: as :func:`rankings_of_sides`; a batch beside sparse rankings.
    """
    return _sides(X, Y, missing, missing_y, REMEDY, check=False, keep=True)


def _sides(
    X: Any, Y: Any, missing: Missing, missing_y: Missing, remedy: str, *, check: bool, keep: bool
) -> Pair | SparsePair:
    def one(side: Any, name: str, said: Missing, word: str) -> Any:  # no union: torch 2.6 compiles none in a function
        if keep and is_sparse(side):
            sparse = sparse_rankings(side, name, missing=said, word=word)
            return sparse.dense() if sparse.missing == "raise" else sparse
        return as_rankings(side, name, missing=said, remedy=remedy, check=check, word=word)

    x = one(X, "X", missing, "missing")
    if Y is None:
        if missing_y is not None:
            raise ValueError("missing_y is for Y, which is None: X is compared with itself, and missing speaks of it")
        y, origin = None, x.origin
    else:
        if missing_y is None and not isinstance(Y, Prepared):
            if x.meaning.topk is not None:
                raise ValueError(
                    "missing has a word for each row of X; pass missing_y, one word or one for each row of Y"
                )
            missing_y = x.missing
        y = one(Y, "Y", missing_y, "missing_y")
        check_sides((x.shape, y.shape), (x.ranks.device, y.ranks.device))
        if x.missing != y.missing and "pairwise" in (x.missing, y.missing):
            raise ValueError(
                f"missing={x.missing!r} for X and {y.missing!r} for Y do not go together: 'pairwise' compares items "
                "that both rank, so it is for both sides"
            )
        origin = x.origin.joint(y.origin)
    dtype = joint_dtype(x.dtype, None if y is None else y.dtype, origin)
    if isinstance(x, Rankings) and not isinstance(y, SparseRankings):
        return Pair(x, y, dtype, origin)
    return SparsePair(_held_by_items(x, "X"), None if y is None else _held_by_items(y, "Y"), dtype, origin)


def _held_by_items(side: Rankings | SparseRankings, name: str) -> SparseRankings:
    if isinstance(side, SparseRankings):
        return side
    return from_rankings(refusing_unranked(side, name, REMEDY), name)
