# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Rankings with ties and unranked items as pairs of permutations.

Let x+ and x- order tied items by index upward and downward. Pair by pair the mean of their signs is the sign of x, and
half their difference is 1 on tied pairs (i < j) and 0 elsewhere. Sums over pairs of products of signs are bilinear, so

    S(x, y)          = 1/4 sum over a, b of     S(x_a, y_b)      concordant - discordant
    tied in x and y  = 1/4 sum over a, b of a b S(x_a, y_b)

and S of two permutations is n(n-1)/2 - 2 inversions. Unranked items go above all in one permutation and below all in
the other where signs must cancel (``apart``), and to the same places in both where differences must.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels_triton.launching import round_up

_SORT_BYTES = 56  # for each item: keys, sorted keys, indices, and as much again inside the sort


class Permutations(NamedTuple):
    """Permutations of n items, each as items by position and as positions by item; what pads a row is ``n``."""

    order: Tensor  # (rows, n or more) int32
    position: Tensor
    n: int


@triton.jit(do_not_specialize=["n", "row_stride", "stride"])
def invert_kernel(P, FORWARD, INVERSE, n, row_stride, stride, BLOCK: tl.constexpr):
    """Copy rows of permutations and their inverses into padded rows; a permutation names every word once."""
    blocks = tl.cdiv(stride, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    i = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(P + row * row_stride + i, mask=i < n, other=0).to(tl.int32)
    value = tl.where(i < n, value, n)
    tl.store(FORWARD + row * stride + i, value, mask=i < stride)
    tl.store(INVERSE + row * stride + tl.where(i < n, value, i), tl.where(i < n, i, n), mask=i < stride)


def permutations(ranks: Tensor, *, untied: bool, apart: bool, multiple: int, sort_bytes: int) -> list[Permutations]:
    """The permutations that stand for each ranking: one where none has ties or unranked items, else up and down.

    Args:
        ranks: ``(b, m, n)`` int32 dense ranks, -1 = unranked.
        untied: whether every ranking is complete and untied.
        apart: put unranked items above all upward and below all downward, in the order of the index, so that signs
            cancel; otherwise below all in the same order both times.
        multiple: the padded length of a row is a multiple of this and more than n.
        sort_bytes: scratch for sorting at a time; one ranking is sorted however little that is.
    """
    rows = ranks.reshape(-1, ranks.shape[-1])
    if untied:
        position, order = _padded(rows.shape, multiple, rows.device)
        _invert(rows, position, order)
        return [Permutations(order, position, rows.shape[1])]
    return [_sorted_rows(rows, upward, apart, multiple, sort_bytes) for upward in (True, False)]


def _sorted_rows(ranks: Tensor, upward: bool, apart: bool, multiple: int, sort_bytes: int) -> Permutations:
    """Order ``(rows, n)`` by rank, tied items by index upward or downward."""
    n = ranks.shape[1]
    order, position = _padded(ranks.shape, multiple, ranks.device)
    item = torch.arange(n, device=ranks.device)
    along = item if upward else n - 1 - item
    unranked = item - n if not apart else n * n + item if upward else -1 - item
    step = max(1, sort_bytes // (_SORT_BYTES * n))
    for first in range(0, len(ranks), step):
        some = ranks[first : first + step]
        keys = torch.where(some < 0, unranked, some.long().mul_(n).add_(along))
        _invert(keys.argsort(dim=-1), order[first : first + step], position[first : first + step])
    return Permutations(order, position, n)


def padded_length(n: int, multiple: int) -> int:
    """Words of a row of n items, one at least of which is padding."""
    return round_up(n + 1, multiple)


def _padded(shape: torch.Size, multiple: int, device: torch.device) -> tuple[Tensor, Tensor]:
    rows, n = shape
    stride = padded_length(n, multiple)
    first, second = torch.empty((2, rows, stride), dtype=torch.int32, device=device)
    return first, second


def _invert(permutation: Tensor, forward: Tensor, inverse: Tensor) -> None:
    """Write rows of permutations and of their inverses, padded with n."""
    permutation = permutation.contiguous()
    rows, stride = forward.shape
    block = 1024
    grid = (rows * triton.cdiv(stride, block),)
    invert_kernel[grid](
        P=permutation,
        FORWARD=forward,
        INVERSE=inverse,
        n=permutation.shape[1],
        row_stride=permutation.stride(0),
        stride=stride,
        BLOCK=block,
    )
