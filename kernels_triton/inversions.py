"""Scores and strict pairs from inversions: each side as permutations, in blocks of rankings that fit the workspace."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from kernels_triton import pairwise, tiles
from kernels_triton.blocks import blocks
from kernels_triton.inversion_kernels import add_inversions
from kernels_triton.launching import on_device_of_tensors
from kernels_triton.permutations import Permutations, padded_length, permutations

# Scratch for each item of a padded row: its permutations and a contiguous copy; masks and tied ranks for strict pairs.
_BYTES_UNTIED, _BYTES_TIED, _BYTES_STRICT = 12, 20, 48
_SORT_SHARE = 4  # a quarter of the workspace is for sorting


@on_device_of_tensors
def score(
    x: Tensor,  # (b, m, n) int32 dense ranks, -1 = unranked
    y: Tensor | None,  # (b, m2, n); None means x
    out: Tensor,  # (b, m, m2) contiguous, int32 or int64
    *,
    untied: tuple[bool, bool],
    workspace: int,
    tile: tiles.InversionTile,
) -> None:
    """Fill ``out`` with concordant minus discordant pairs.

    Args:
        x: ranks of the first side.
        y: ranks of the second side.
        out: result.
        untied: whether all rankings of x, and of y, are complete and untied.
        workspace: bytes of scratch.
        tile: sizes of the kernels.
    """
    n = x.shape[2]
    row_bytes = padded_length(n, tile.block) * (_BYTES_UNTIED if all(untied) else _BYTES_TIED)
    permuted = partial(permutations, apart=True, multiple=tile.block, sort_bytes=workspace // _SORT_SHARE)
    for block in blocks(x, y, row_bytes, pair_bytes=8, workspace=workspace):
        rx, ry = block.rankings(x, y)
        px = permuted(rx, untied=untied[0])
        py = px if block.symmetric else permuted(ry, untied=untied[1])
        part = out[block.batch, block.x, block.y]
        found = torch.zeros(part.shape, dtype=torch.int64, device=x.device)
        for one in px:
            for two in py:
                add_inversions(one, two, found, 1, symmetric=block.symmetric, tile=tile)
        # The mean over all combinations of n(n-1)/2 - 2 inversions; the sum is a multiple of their number.
        part.copy_(found.mul_(-2).floor_divide_(len(px) * len(py)).add_(n * (n - 1) // 2))
    if y is None:
        pairwise.mirror(out)


@on_device_of_tensors
def strict(
    x: Tensor,
    y: Tensor | None,
    out: Tensor,
    *,
    complete: bool,
    workspace: int,
    tile: tiles.InversionTile,
) -> None:
    """Fill ``out`` with the pairs that both rankings order strictly; arguments as for :func:`score`.

    Pairs ranked in both, less those tied in x, less those tied in y, and again those tied in both. Pairs tied in x and
    ranked in y are pairs tied in x and in the ranking that ties all items that y ranks; where all rankings are
    complete that is one and the same for all.
    """
    n = x.shape[2]
    permuted = partial(
        permutations, untied=False, apart=False, multiple=tile.block, sort_bytes=workspace // _SORT_SHARE
    )
    for block in blocks(x, y, padded_length(n, tile.block) * _BYTES_STRICT, pair_bytes=64, workspace=workspace):
        rx, ry = block.rankings(x, y)
        px, py = permuted(rx), permuted(ry)
        ranked_x = permuted((rx[:, :1] if complete else rx).clamp(max=0))
        ranked_y = permuted((ry[:, :1] if complete else ry).clamp(max=0))
        part = out[block.batch, block.x, block.y]
        b, m, m2 = part.shape
        tied_x = _tied_in_both(px, ranked_y, (b, m, 1 if complete else m2), tile)
        tied_y = _tied_in_both(ranked_x, py, (b, 1 if complete else m, m2), tile)
        common = n if complete else ((rx >= 0).float() @ (ry >= 0).float().mT).long()
        pairs = common * (common - 1) // 2
        part.copy_(_tied_in_both(px, py, (b, m, m2), tile).sub_(tied_x).sub_(tied_y).add_(pairs))
    if y is None:
        pairwise.mirror(out)


def _tied_in_both(
    x: Sequence[Permutations], y: Sequence[Permutations], shape: tuple[int, int, int], tile: tiles.InversionTile
) -> Tensor:
    """Pairs tied in both: 1/4 of the four sums with the sign of their combination, where n(n-1)/2 cancels."""
    found = torch.zeros(shape, dtype=torch.int64, device=x[0].order.device)
    for a, one in zip((1, -1), x, strict=True):
        for b, two in zip((1, -1), y, strict=True):
            add_inversions(one, two, found, a * b, symmetric=False, tile=tile)
    return found.floor_divide_(-2)
