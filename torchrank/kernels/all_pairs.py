"""From scores to what is wanted of all pairs of rankings: check, rank, and hand over to the op."""

import torch
from torch import Tensor

from torchrank.kernels.batches import one_batch
from torchrank.kernels.partial import KINDS, Kind, kinds_of_rows
from torchrank.ops.completeness import refuse_unranked
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.kendall_matrix import Counting, Side, kendall_matrix
from torchrank.ops.pair_counts import METHODS, WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.validate import ScorePair, Scores, check_choice, check_workspace, score_pair

MISSING = ("raise", "pairwise", *KINDS)
_REMEDY = (
    'pass missing="pairwise" to compare commonly ranked items only, '
    'or "interleaving" or "topk" for kernels of partial rankings'
)


def all_pairs(
    X: Scores,
    Y: Scores | None,
    quantity: Quantity,
    *,
    missing: str,
    method: str,
    workspace: int = WORKSPACE,
    progress: bool = False,
    kind: Kind = None,
    kind_y: Kind = None,
    dtype: torch.dtype | None = None,
    lam: Tensor | None = None,
) -> tuple[Tensor, ScorePair]:
    """``quantity`` of all pairs of rows, ``(1 or 5, ..., m, m2)``, and the checked scores.

    The result has the dtype of results of these scores, or at least float32 for distances, or ``dtype``. "mallows"
    needs ``lam``, one number. Asking for a derivative in the scores raises.

    Raises:
        ValueError, TypeError, RuntimeError: as the public functions say.
    """
    check_choice(missing, "missing", MISSING)
    check_choice(method, "method", METHODS)
    workspace = check_workspace(workspace)
    if missing not in KINDS and (kind is not None or kind_y is not None):
        raise ValueError(
            f"kind is for missing='interleaving' or 'topk', whose default it overrides; missing={missing!r}"
        )
    if missing in KINDS and quantity.needs_strict:
        raise ValueError(
            f"missing={missing!r} gives expected signs, not counts: use missing='pairwise', "
            "or for distances tie_penalty=0.25"
        )
    pair = score_pair(X, Y)
    if kind_y is not None and Y is None:
        raise ValueError("kind_y is for Y, which is None: X is compared with itself, and kind speaks of its rows")
    x, strict_x = dense_ranks(pair.X, "allow", "X")
    y, strict_y = (None, strict_x) if pair.Y is None else dense_ranks(pair.Y, "allow", "Y")
    floats = pair.X.is_floating_point() or (pair.Y is not None and pair.Y.is_floating_point())
    untied = refuse_unranked(x, strict_x, y, strict_y, _REMEDY) if missing == "raise" and floats else None
    if missing in KINDS:
        one, two, shape, missing = _expected_sides(x, strict_x, y, strict_y, kind, kind_y, missing)
    else:
        one, two, shape = _sides(x, strict_x, y, strict_y)
    counting = Counting(missing, method, workspace, bool(progress), untied)
    if dtype is None:
        dtype = torch.promote_types(pair.dtype, torch.float32) if quantity.name == "distance" else pair.dtype
    if lam is not None:
        lam = lam.to(x.device, torch.float64, non_blocking=True).expand(one.ranks.shape[0])
    result = kendall_matrix(one, two, quantity, dtype, counting, lam)
    return without_gradient(result.reshape(result.shape[0], *shape), pair.X, pair.Y), pair


def _sides(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor
) -> tuple[Side, Side | None, tuple[int, ...]]:
    """Both sides with one batch dimension, and the shape ``(..., m, m2)`` of what is made of them."""
    flat_x, flat_y, shape = one_batch(x, y)
    one, two, _ = one_batch(strict_x[..., None], None if y is None else strict_y[..., None])
    return Side(flat_x, one[..., 0]), None if flat_y is None or two is None else Side(flat_y, two[..., 0]), shape


def _expected_sides(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor, kind: Kind, kind_y: Kind, default: str
) -> tuple[Side, Side | None, tuple[int, ...], str]:
    """The same with the kinds of rows, which may have batch dimensions of their own; and "topk" if all are that."""
    kinds_x = kinds_of_rows(kind, default, x.shape[-2], "kind", x.device)
    kinds_y = kinds_x if y is None else kinds_of_rows(kind_y, default, y.shape[-2], "kind_y", y.device)
    batch = torch.broadcast_shapes(x.shape[:-2], (x if y is None else y).shape[:-2])
    try:
        batch = torch.broadcast_shapes(batch, kinds_x.top.shape[:-1], kinds_y.top.shape[:-1])
    except RuntimeError:
        raise ValueError(
            f"batch dimensions {tuple(kinds_x.top.shape[:-1])} of kind and {tuple(kinds_y.top.shape[:-1])} of kind_y "
            f"do not broadcast with {tuple(batch)}, those of the scores"
        ) from None

    def flat(ranks: Tensor, strict: Tensor, top: Tensor) -> Side:
        b, (m, n) = batch.numel(), ranks.shape[-2:]
        strict, top = (part.expand(*batch, m).reshape(b, m) for part in (strict, top))
        return Side(ranks.expand(*batch, m, n).reshape(b, m, n), strict, top)

    two = None if y is None else flat(y, strict_y, kinds_y.top)
    word = "interleaving" if kinds_x.some_interleaved or kinds_y.some_interleaved else "topk"
    return flat(x, strict_x, kinds_x.top), two, (*batch, x.shape[-2], (x if y is None else y).shape[-2]), word
