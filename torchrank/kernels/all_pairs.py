"""From rankings to what is wanted of all pairs of them: hand them over to the op."""

import torch
from torch import Tensor

from torchrank.kernels.batches import one_batch
from torchrank.ops.completeness import refuse_unranked
from torchrank.ops.kendall_matrix import Counting, Side, kendall_matrix
from torchrank.ops.pair_counts import METHODS, WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import REMEDY, Pair, SparsePair, refusing_unranked
from torchrank.ops.sparse_matrix import sparse_matrix
from torchrank.rankings.validate import check_choice, check_workspace


def all_pairs(
    pair: Pair | SparsePair,
    quantity: Quantity,
    *,
    method: str,
    workspace: int = WORKSPACE,
    progress: bool = False,
    dtype: torch.dtype | None = None,
    lam: Tensor | None = None,
) -> Tensor:
    """``quantity`` of all pairs of rankings, ``(1 or 5, ..., m, m2)``.

    The result has the dtype of results of these rankings, or at least float32 for distances, or ``dtype``. "mallows"
    needs ``lam``, one number. Asking for a derivative in the scores raises.

    Raises:
        ValueError, TypeError, RuntimeError: as the public functions say.
    """
    check_choice(method, "method", METHODS)
    workspace = check_workspace(workspace)
    words = {side.missing for side in pair.sides()}
    partial = any(side.meaning.partial for side in pair.sides())
    if partial and quantity.needs_strict:
        word = next(side.missing for side in pair.sides() if side.meaning.partial)
        raise ValueError(
            f"missing={word!r} gives expected signs, not counts: use missing='pairwise', "
            "or for distances tie_penalty=0.25"
        )
    dtype = dtype_of(pair, quantity) if dtype is None else dtype
    missing = words.copy().pop() if not partial else "interleaving" if "interleaving" in words else "topk"
    counting = Counting(missing, method, workspace, bool(progress))
    if lam is not None:
        lam = lam.to(pair.X.ranks.device, torch.float64, non_blocking=True)
    if isinstance(pair, SparsePair):
        lam = None if lam is None else lam.expand(1)
        result = sparse_matrix(pair.X, pair.Y, quantity, dtype, counting, lam)
        return pair.without_gradient(result[:, 0])
    if words == {"raise"}:
        counting = Counting(missing, method, workspace, bool(progress), untied=_refuse_unranked(pair))
    elif "raise" in words:
        for side, name in zip(pair.sides(), "XY", strict=False):
            refusing_unranked(side, name, REMEDY)
    one, two, shape = _expected_sides(pair) if partial else _sides(pair)
    if lam is not None:
        lam = lam.expand(one.ranks.shape[0])
    result = kendall_matrix(one, two, quantity, dtype, counting, lam)
    return pair.without_gradient(result.reshape(result.shape[0], *shape))


def dtype_of(pair: Pair | SparsePair, quantity: Quantity) -> torch.dtype:
    """The dtype of results: half precision has too few digits for distances."""
    return torch.promote_types(pair.dtype, torch.float32) if quantity.name == "distance" else pair.dtype


def _refuse_unranked(pair: Pair) -> Tensor | None:
    """Refuse unranked items on both sides at once, unless known; gives what an engine wants to know, if it is known."""
    x, y = pair.X, pair.X if pair.Y is None else pair.Y  # of no rankings is not None
    if not (x.complete and y.complete):
        return refuse_unranked(
            x.ranks, x.strict, None if pair.Y is None else y.ranks, None if pair.Y is None else y.strict, REMEDY
        )
    if x.untied is None or y.untied is None:
        return None
    return torch.tensor([x.untied, y.untied], device="cpu")


def _sides(pair: Pair) -> tuple[Side, Side | None, tuple[int, ...]]:
    """Both sides with one batch dimension, and the shape ``(..., m, m2)`` of what is made of them."""
    x, y = pair.X, pair.Y
    flat_x, flat_y, shape = one_batch(x.ranks, None if y is None else y.ranks)
    one, two, _ = one_batch(x.strict[..., None], None if y is None else y.strict[..., None])
    return Side(flat_x, one[..., 0]), None if flat_y is None or two is None else Side(flat_y, two[..., 0]), shape


def _expected_sides(pair: Pair) -> tuple[Side, Side | None, tuple[int, ...]]:
    """The same with what unranked items mean in each row, of which words may have batch dimensions of their own."""
    x, y = pair.X, pair.X if pair.Y is None else pair.Y  # of no rankings is not None
    tops = [side.meaning.topk_rows(side.shape[-2], side.ranks.device) for side in (x, y)]
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    try:
        batch = torch.broadcast_shapes(batch, *(top.shape[:-1] for top in tops))
    except RuntimeError:
        raise ValueError(
            f"batch dimensions {tuple(tops[0].shape[:-1])} of missing and {tuple(tops[1].shape[:-1])} of missing_y "
            f"do not broadcast with {tuple(batch)}, those of the scores"
        ) from None
    one, two = (
        Side(
            side.ranks.expand(*batch, *side.shape[-2:]).reshape(batch.numel(), *side.shape[-2:]),
            side.strict.expand(*batch, -1).reshape(batch.numel(), side.shape[-2]),
            top.expand(*batch, -1).reshape(batch.numel(), side.shape[-2]),
        )
        for side, top in zip((x, y), tops, strict=True)
    )
    return one, None if pair.Y is None else two, (*batch, x.shape[-2], y.shape[-2])
