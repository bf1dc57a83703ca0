"""Concordance scores between all rankings of two batches on a CUDA device: the launcher behind the op of that name."""

from math import prod

import torch
from torch import Tensor

from kernels_triton import inversions, tiles
from kernels_triton.inversion_kernels import most_items
from kernels_triton.launching import architecture_of, on_device_of_tensors
from kernels_triton.signs import MOST_ITEMS, signs


@on_device_of_tensors
def launch(
    x: Tensor,
    y: Tensor | None,
    *,
    strict: bool,
    method: str,
    workspace: int,
    untied: tuple[bool, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Concordant minus discordant pairs of items, and on demand the pairs that both rankings order strictly.

    Args:
        x: ``(b, m, n)`` int32 dense ranks, -1 = unranked; a pair counts where both rankings rank both items.
        y: ``(b, m2, n)`` on the same device, or None for ``x`` (then the results are symmetric bit for bit).
        strict: whether the second result is wanted.
        method: "signs", "inversions", or "auto" to choose by the table in ``tiles.py``.
        workspace: bytes of scratch beside inputs and outputs; exceeded only where one pair of rankings needs more.
        untied: where the caller knows that all rankings are complete, whether those of x, and of y, have no ties.

    Returns:
        ``(b, m, m2)`` scores and ``(b, m, m2)`` strict pairs, ``(b, 0, 0)`` unless ``strict``; int32 up to 65,536
        items, else int64.

    Waits for the device at most once, to ask whether rankings have ties or unranked items; if the caller knows, with
    "signs", and with "auto" for fewer items than inversions could be worth, never. Runs on CPU tensors where Triton
    interprets kernels.

    Raises:
        ValueError: more items than the engine can number.
        torch.OutOfMemoryError: the result itself does not fit the device.
    """
    b, m, n = x.shape
    m2 = m if y is None else y.shape[1]
    dtype = torch.int32 if n <= 65_536 else torch.int64
    arch = architecture_of(x)
    score = _result((b, m, m2), dtype, x.device)
    pairs = _result((b, m, m2) if strict else (b, 0, 0), dtype, x.device)
    if score.numel() == 0 or n < 2:
        return score.zero_(), pairs.zero_()
    tile = tiles.inversion_tile(arch, n)
    limit = most_items(tile.block) if method == "inversions" else MOST_ITEMS
    if n > limit:
        raise ValueError(f"{n:,} items are more than the {limit:,} that method={method!r} can number; rank fewer items")
    rows = min(m, m2)
    worth_asking = n <= most_items(tile.block) and n >= tiles.inversions_from(rows, untied=True)
    if method == "inversions" or (method == "auto" and worth_asking):
        untied, complete = _facts(x, y) if untied is None else (untied, True)
        if method == "inversions" or n >= tiles.inversions_from(rows, all(untied)):
            inversions.score(x, y, score, untied=untied, workspace=workspace, tile=tile)
            if strict and all(untied):
                pairs.fill_(n * (n - 1) // 2)
            elif strict:
                inversions.strict(x, y, pairs, complete=complete, workspace=workspace, tile=tile)
            return score, pairs
    signs(x, y, score, strict=False, workspace=workspace, arch=arch)
    if strict:
        signs(x, y, pairs, strict=True, workspace=workspace, arch=arch)
    return score, pairs


def _result(shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device) -> Tensor:
    try:
        return torch.empty(shape, dtype=dtype, device=device)
    except torch.OutOfMemoryError as error:
        size = prod(shape) * dtype.itemsize / 2**30
        raise torch.OutOfMemoryError(
            f"a result of {' x '.join(map(str, shape))} counts takes {size:.1f} GiB, which {device} does not have; "
            "compare with some rows of Y at a time"
        ) from error


def _facts(x: Tensor, y: Tensor | None) -> tuple[tuple[bool, bool], bool]:
    """Whether all rankings of x, and of y, are complete and untied, and whether all are complete; waits for the device.

    Only a complete ranking without ties has dense ranks up to n - 1.
    """
    n = x.shape[2]
    facts = []
    for ranks in (x,) if y is None else (x, y):
        low, high = ranks.aminmax(dim=-1)
        facts += [(high == n - 1).all(), (low >= 0).all()]
    answers = torch.stack(facts).tolist()
    return (answers[0], answers[-2]), answers[1] and answers[-1]
