"""Total rankings: what distributions on permutations are distributions of."""

from torch import Tensor

from torchrank.clustering.points import Groups, grouped, row_weights, ungrouped, weights_of_new
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.validate import Scores

_REMEDY = "this is a distribution of total rankings; complete the row, or use KernelGaussianMixture"


def total_rankings(X: Scores, n_items: int, weights: Matrix | None, *, training: bool) -> tuple[Tensor, Groups, Origin]:
    """Dense ranks ``(u, n)`` of total rankings, the rows they stand for, and where those came from.

    In training equal rankings are one, and those of weight 0 are left out.

    Raises:
        ValueError: another number of items or dimensions, an unranked item, or a tie.
        TypeError: scores that are not real numbers.
    """
    rankings = as_rankings(X, missing="raise", remedy=_REMEDY)
    ranks = rankings.ranks
    if ranks.ndim != 2 or ranks.shape[1] != n_items:
        raise ValueError(f"X has shape {tuple(ranks.shape)}; expected (rankings, {n_items})")
    tied = rankings.strict < n_pairs(n_items)
    if bool(tied.any()):
        row = int(tied.nonzero()[0])
        raise ValueError(
            f"X has tied items in row {row}, ranks {ranks[row].tolist()}; this is a distribution of total rankings; "
            "break the tie, or use KernelGaussianMixture"
        )
    groups = grouped(ranks, row_weights(weights, ranks)) if training else ungrouped(weights_of_new(weights, ranks))
    return ranks[groups.first], groups, rankings.origin
