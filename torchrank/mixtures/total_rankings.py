"""Total rankings: what distributions on permutations are distributions of."""

from torch import Tensor

from torchrank.clustering.points import ungrouped, weights_of_new
from torchrank.kernels.points import Groups, grouped, row_weights
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.validate import Scores

WHY = "this is a distribution of total rankings"
_REMEDY = f"{WHY}; complete the row, or use KernelGaussianMixture"


def total_rankings(X: Scores, n_items: int, weights: Matrix | None, *, training: bool) -> tuple[Tensor, Groups, Origin]:
    """Dense ranks ``(u, n)`` of total rankings, the rows they stand for, and where those came from.

    Raises:
        ValueError: another number of items or dimensions, an unranked item, or a tie.
        TypeError: scores that are not real numbers.
    """
    rankings = as_rankings(X, missing="raise", remedy=_REMEDY)
    ranks = rankings.ranks
    check_shape(ranks, n_items)
    refuse_tied_rows(ranks, "break the tie, or use KernelGaussianMixture")
    groups = groups_of_rows(ranks, weights_said(X, weights), training=training)
    return ranks[groups.first], groups, rankings.origin


def groups_of_rows(rows: Tensor, weights: Matrix | None, *, training: bool) -> Groups:
    """Which of ``rows`` (m, q) are points; in training equal ones are one, and those of weight 0 are left out."""
    return grouped(rows, row_weights(weights, rows)) if training else ungrouped(weights_of_new(weights, rows))


def check_shape(ranks: Tensor, n_items: int) -> None:
    """Raise ``ValueError`` unless these are rankings ``(m, n_items)``."""
    if ranks.ndim != 2 or ranks.shape[1] != n_items:
        raise ValueError(f"X has shape {tuple(ranks.shape)}; expected (rankings, {n_items})")


def refuse_tied_rows(ranks: Tensor, remedy: str) -> None:
    """Raise ``ValueError`` naming the first row of ``ranks`` (m, n) with ties between ranked items."""
    on_values(lambda values: _untied(values, remedy), ranks)


def _untied(ranks: Tensor, remedy: str) -> Tensor:
    in_order = ranks.sort(dim=-1).values
    tied = ((in_order[..., 1:] == in_order[..., :-1]) & (in_order[..., 1:] >= 0)).any(dim=-1)
    if bool(tied.any()):
        place = tuple(int(k) for k in tied.nonzero()[0])
        raise ValueError(f"X has tied items in row {place[-1]}, ranks {ranks[place].tolist()}; {WHY}; {remedy}")
    return ranks
