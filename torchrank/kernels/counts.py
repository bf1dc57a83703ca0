"""From scores to exact pair counts: what every Kendall quantity is made of, before any division."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.kernels.batches import one_batch
from torchrank.kernels.partial import KINDS, Kind, RowKinds, kinds_of_rows
from torchrank.kernels.partial_tiles import PartialRows, expected_signs
from torchrank.ops.completeness import refuse_unranked
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.pair_counts import METHODS, WORKSPACE
from torchrank.ops.pair_counts import pair_counts as pair_counts_op
from torchrank.rankings.validate import ScorePair, Scores, check_choice, check_count, score_pair

MISSING = ("raise", "pairwise", *KINDS)
_REMEDY = (
    'pass missing="pairwise" to compare commonly ranked items only, '
    'or "interleaving" or "topk" for kernels of partial rankings'
)
# Stays in cache, and is as much as torch computes in the calling thread: its own threads, which spin while they wait
# for each other, cost a busy machine many times what they gain here.
_BLOCK_ELEMENTS = 2**15


class Counts(NamedTuple):
    """Pair counts of all row pairs, as integers that broadcast to ``(..., m, m2)``.

    With s_ij the sign of x_i - x_j and t_ij that of y_i - y_j over pairs i < j that both rows rank:
    """

    score: Tensor  # sum of s t: concordant - discordant, (..., m, m2)
    strict_x: Tensor  # sum of |s|, (..., m, 1) for complete rankings
    strict_y: Tensor  # sum of |t|, (..., 1, m2) for complete rankings
    strict_xy: Tensor  # sum of |s t|: concordant + discordant; no elements unless asked for
    pairs: Tensor  # number of pairs, n(n-1)/2 and (..., 1, 1) for complete rankings

    def row_blocks(self) -> "Iterator[tuple[slice, Counts]]":
        """Cut into blocks of rows, so that floating-point temporaries stay small beside the result."""
        rows = self.score.shape[-2]
        step = max(1, _BLOCK_ELEMENTS // max(1, self.score.numel() // max(1, rows)))
        for start in range(0, rows, step):
            block = slice(start, start + step)
            yield block, Counts(*(part[..., block, :] if part.shape[-2] == rows else part for part in self))


def count_pairs(
    X: Scores,
    Y: Scores | None,
    *,
    strict: bool,
    missing: str,
    method: str,
    workspace: int = WORKSPACE,
    progress: bool = False,
    kind: Kind = None,
    kind_y: Kind = None,
) -> tuple[Counts, ScorePair]:
    """Check, rank and count; ``strict`` asks for ``strict_xy``.

    Raises:
        ValueError, TypeError, RuntimeError: as the public functions say.
    """
    check_choice(missing, "missing", MISSING)
    check_choice(method, "method", METHODS)
    check_count(workspace, "workspace", least=2**10, unit="bytes")
    if missing not in KINDS and (kind is not None or kind_y is not None):
        raise ValueError(
            f"kind is for missing='interleaving' or 'topk', whose default it overrides; missing={missing!r}"
        )
    pair = score_pair(X, Y)
    if kind_y is not None and Y is None:
        raise ValueError("kind_y is for Y, which is None: X is compared with itself, and kind speaks of its rows")
    x, strict_x = dense_ranks(pair.X, "allow", "X")
    y, strict_y = (None, strict_x) if pair.Y is None else dense_ranks(pair.Y, "allow", "Y")
    floats = pair.X.is_floating_point() or (pair.Y is not None and pair.Y.is_floating_point())
    untied = refuse_unranked(x, strict_x, y, strict_y, _REMEDY) if missing == "raise" and floats else None

    # In quotes: torch 2.6 does not trace a function inside a function whose annotations are unions.
    def op(a: Tensor, b: "Tensor | None", *, strict: bool = True) -> tuple[Tensor, Tensor]:
        flat_a, flat_b, shape = one_batch(a, b)
        score, both = pair_counts_op(flat_a, flat_b, strict, method, workspace, bool(progress), untied)
        return score.reshape(shape), both.reshape(shape) if strict else both

    if missing == "pairwise":
        return _pairwise(x, y, op), pair
    if missing in KINDS:
        if strict:
            raise ValueError(
                f"missing={missing!r} gives expected signs, not counts: use missing='pairwise', "
                "or for distances tie_penalty=0.25"
            )
        return _expected(x, strict_x, y, strict_y, (kind, kind_y, missing), (method, workspace, progress)), pair
    score, strict_xy = op(x, y, strict=strict)
    n = pair.X.shape[-1]
    all_pairs = torch.full((1, 1), n * (n - 1) // 2, dtype=torch.int64, device=score.device)
    return Counts(score, strict_x[..., :, None], strict_y[..., None, :], strict_xy, all_pairs), pair


def _pairwise(x: Tensor, y: Tensor | None, op: Callable[..., tuple[Tensor, Tensor]]) -> Counts:
    """Counts over commonly ranked items.

    A pair that y ranks is ordered strictly by y with its ties broken, so the pairs that x orders strictly among those
    are the ones ordered strictly by x and the tie-broken y.
    """
    score, strict_xy = op(x, y)
    other = x if y is None else y
    strict_x = op(x, _break_ties(other))[1]
    strict_y = strict_x.mT if y is None else op(_break_ties(x), other)[1]
    common = ((x >= 0).to(torch.float64) @ (other >= 0).to(torch.float64).mT).to(torch.int64)
    return Counts(score, strict_x, strict_y, strict_xy, common * (common - 1) // 2)


def _expected(
    x: Tensor,
    strict_x: Tensor,
    y: Tensor | None,
    strict_y: Tensor,
    kinds: tuple[Kind, Kind, str],
    counting: tuple[str, int, bool],
) -> Counts:
    """Expected signs in place of signs: the convolution kernel and its self-kernels, times the number of pairs."""
    kind, kind_y, default = kinds
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

    def flat(ranks: Tensor, strict: Tensor, rows: RowKinds) -> PartialRows:
        b, (m, n) = batch.numel(), ranks.shape[-2:]
        strict, top = (part.expand(*batch, m).reshape(b, m) for part in (strict, rows.top))
        return PartialRows(ranks.expand(*batch, m, n).reshape(b, m, n), strict, RowKinds(top, rows.some_interleaved))

    one, two = flat(x, strict_x, kinds_x), None if y is None else flat(y, strict_y, kinds_y)
    product, self_x, self_y = expected_signs(one, two, *counting)
    n, (m, m2) = x.shape[-1], product.shape[1:]
    return Counts(
        product.reshape(*batch, m, m2),
        self_x.reshape(*batch, m, 1),
        self_y.reshape(*batch, 1, m2),
        product.new_empty((0, 0)),
        torch.full((1, 1), n * (n - 1) // 2, dtype=torch.int64, device=x.device),
    )


def _break_ties(ranks: Tensor) -> Tensor:
    """The same rankings with ties broken by item index; unranked items stay so."""
    order = ranks.argsort(dim=-1, stable=True)
    positions = torch.arange(ranks.shape[-1], dtype=torch.int32, device=ranks.device).expand(ranks.shape)
    unranked = ranks < 0  # they sort first
    untied = torch.empty_like(ranks).scatter_(-1, order, positions) - unranked.sum(-1, keepdim=True, dtype=torch.int32)
    return untied.masked_fill_(unranked, -1)
