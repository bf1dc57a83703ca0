# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the launches of kernels, which the type checker does not see.
"""The smoothed Kendall kernel and its gradient on a CUDA device: the launchers behind the ops of those names."""

from math import gcd

import torch
import triton
from torch import Tensor

from kernels_triton import pairwise, smoothed_kernels, tiles
from kernels_triton.blocks import blocks
from kernels_triton.launching import architecture_of, on_device_of_tensors, options_of, round_up
from kernels_triton.prepare import SHRINK, prepare, prepare_sides

NOISES = ("uniform", "gaussian")
_MOST_ITEMS = 2**22  # chunks of items are numbered in 16 bits
_WINDOWS = (2.0**-120, 2.0**120)  # single precision has room for its multiples and their inverse


def suits(x: Tensor, window: float) -> bool:
    """Whether the kernels can take such scores and window; what they can't belongs to plain torch."""
    return x.dtype == torch.float32 and x.shape[2] <= _MOST_ITEMS and _WINDOWS[0] <= window <= _WINDOWS[1]


@on_device_of_tensors
def launch(x: Tensor, y: Tensor | None, *, window: float, noise: str, workspace: int) -> Tensor:
    """Mean product of the expected signs of two rankings over all pairs of items, ``(b, m, m2)`` float32.

    Args:
        x: ``(b, m, n)`` scores without NaN; infinite ones are ordinary.
        y: ``(b, m2, n)`` on the same device, or None for ``x`` (then the result is symmetric bit for bit).
        window: one positive number that :func:`suits`.
        noise: one of :data:`NOISES`.
        workspace: bytes of scratch beside inputs and outputs; exceeded only where one tile needs more.

    The same bits come out of every run. Errors against float64 are below 1e-6: expected signs and their products are
    rounded as :mod:`kernels_triton.smoothed_kernels` says. Never waits for the device. Runs on CPU tensors where
    Triton interprets kernels.
    """
    b, m, n = x.shape
    m2 = m if y is None else y.shape[1]
    out = torch.empty((b, m, m2), dtype=torch.float32, device=x.device)
    if out.numel() == 0 or n < 2:
        return out.zero_()  # one item makes no pair
    tile = tiles.smoothed_tile(architecture_of(x), max(m, m2))
    rows, items = max(tile.rows_x, tile.rows_y), round_up(n, tile.items)
    bits = 62 - (items * items // 2).bit_length()  # for the fraction, so that sums stay below 2**63
    for block in blocks(x, y, row_bytes=items * 4, pair_bytes=16, workspace=workspace, padding=rows):
        px, py = prepare_sides(block, x, y, rows, items, torch.float32)
        part = out[block.batch, block.x, block.y]
        sums = torch.zeros(part.shape, dtype=torch.int64, device=x.device)
        programs = len(part) * (px.shape[2] // tile.rows_x) * (py.shape[2] // tile.rows_y) * (items // tile.items)
        smoothed_kernels.gram_kernel[(programs, triton.cdiv(items, tile.chunk) + 1)](
            X=px,
            Y=py,
            SUMS=sums,
            m=part.shape[1],
            m2=part.shape[2],
            n=n,
            rows_x=px.shape[2],
            rows_y=py.shape[2],
            items=items,
            batch_stride=sums.stride(0),
            row_stride=sums.stride(1),
            inverse=_inverse(window),
            scale=2.0**bits,
            SYMMETRIC=block.symmetric,
            GAUSSIAN=noise == "gaussian",
            **options_of(tile),
        )
        part.copy_(sums.double().div_(float(n * (n - 1) // 2 << bits)))
        del px, py, sums  # before those of the next block are made
    if y is None:
        pairwise.mirror(out)
    return out


@on_device_of_tensors
def launch_backward(
    gradient: Tensor, x: Tensor, y: Tensor | None, *, window: float, noise: str, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for ``x``, ``y`` (no elements for None) and the window, from that of the Gram matrix ``(b, m, m2)``.

    Arguments as for :func:`launch`, and ``gradient``, float32, of any strides. Those for the scores are float32, that
    for the window a float64 number. Weights are rounded to 2**-24 of the largest of their row. A row whose weights are
    not all finite gets a gradient that is not finite.
    """
    other = x if y is None else y
    n = x.shape[2]
    for_x, for_y = torch.zeros_like(x), torch.zeros_like(x[:0] if y is None else y)
    for_window = torch.zeros((), dtype=torch.float64, device=x.device)
    if gradient.numel() == 0 or n < 2:
        return for_x, for_y, for_window
    tile = tiles.smoothed_gradient_tile(architecture_of(x))
    rows, items = max(tile.rows_x, tile.rows_y), round_up(n, tile.items)
    # A prepared row, its gradient as an integer, and that as a number.
    for block in blocks(x, other, row_bytes=items * 20, pair_bytes=8, workspace=workspace, padding=rows):
        px, py = (prepare(scores, rows, items, torch.float32) for scores in block.rankings(x, other))
        weights = gradient[block.batch, block.x, block.y]
        mirrored = gradient[block.batch, block.y, block.x] if y is None else None
        moment = _pull_back(weights, mirrored, px, py, for_x[block.batch, block.x], window, noise, tile)
        for_window -= moment
        if y is not None:
            moment = _pull_back(weights.mT, None, py, px, for_y[block.batch, block.y], window, noise, tile)
            for_window -= moment
    for_window /= window
    return for_x, for_y, for_window


def _pull_back(
    weights: Tensor,  # (b, m, m2), any strides
    mirrored: Tensor | None,  # (b, m2, m) of the same strides, whose transpose is to be added
    px: Tensor,  # (b, items, rows_x) prepared scores
    py: Tensor,  # (b, items, rows_y)
    gradient: Tensor,  # (b, m, n) to which to add
    window: float,
    noise: str,
    tile: tiles.SmoothedTile,
) -> Tensor:
    """Add the gradient of the sum of weights times Gram matrix for the x side; returns its product with x."""
    b, m, m2 = weights.shape
    n, (items, rows_x), rows_y = gradient.shape[2], px.shape[1:], py.shape[2]
    largest = _largest(weights, -1) if mirrored is None else _largest(weights, -1) + _largest(mirrored, -2)
    scale = torch.ldexp(torch.ones_like(largest), -torch.frexp(largest).exponent.clamp_(-120, 120)).contiguous()
    halves = torch.empty((b, 2, rows_x, rows_y), dtype=torch.float16, device=px.device)
    block = gcd(32, rows_x, rows_y)
    smoothed_kernels.weights_kernel[(b * (rows_x // block) * (rows_y // block),)](
        GRADIENT=weights,
        TRANSPOSED=weights if mirrored is None else mirrored,
        SCALE=scale,
        OUT=halves,
        m=m,
        m2=m2,
        batch_stride=weights.stride(0),
        row_stride=weights.stride(1),
        column_stride=weights.stride(2),
        padded_rows=rows_x,
        padded_columns=rows_y,
        BOTH=mirrored is not None,
        BLOCK=block,
    )
    bits = 62 - (2 * m2 * items).bit_length()
    moment_bits = 62 - (m2 * items * items).bit_length()
    sums = torch.zeros((b, items, rows_x), dtype=torch.int64, device=px.device)
    moments = torch.zeros((b, rows_x), dtype=torch.int64, device=px.device)
    smoothed_kernels.gradient_kernel[
        (b * (rows_x // tile.rows_x) * (items // tile.items), triton.cdiv(items, tile.chunk) + 1)
    ](
        X=px,
        Y=py,
        WEIGHTS=halves,
        GRADIENT=sums,
        MOMENTS=moments,
        n=n,
        rows_x=rows_x,
        rows_y=rows_y,
        items=items,
        inverse=_inverse(window),
        scale=2.0**bits,
        moment_scale=2.0**moment_bits,
        GAUSSIAN=noise == "gaussian",
        **options_of(tile),
    )
    unscale = (1 + 0 * largest).double() / scale / (n * (n - 1) // 2)  # not finite where weights are not
    by_item = sums[:, :n, :m].mT.double().mul_(unscale[..., None] * 2.0**-bits / window)
    gradient += by_item
    return (moments[:, :m] * unscale).sum() * 2.0**-moment_bits


def _largest(weights: Tensor, dim: int) -> Tensor:
    """The largest absolute value along a dimension, without a copy of the matrix; NaN where one is NaN."""
    low, high = weights.aminmax(dim=dim)
    return torch.maximum(-low, high)


def _inverse(window: float) -> float:
    """What turns differences of prepared scores into multiples of the window."""
    return 1 / (window * SHRINK.value)
