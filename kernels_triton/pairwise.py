# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Device helpers that the engines share: ranks as ordered bit patterns, signs of pairs, and mirroring a triangle."""

import torch
import triton
import triton.language as tl

HALF_RANKS = 61_440  # finite, normal and nonzero numbers of half precision, one for each rank

_SIGN = tl.constexpr(
    "{ .reg .b32 g, l; set.gt.f16x2.f16x2 g, $1, $2; set.lt.f16x2.f16x2 l, $1, $2; sub.f16x2 $0, g, l; }"
)
_UNEQUAL = tl.constexpr("set.ne.f16x2.f16x2 $0, $1, $2;")


@triton.jit
def half_pattern(k):
    """Bits of the half-precision number that stands for ``k`` in 0..61,439; larger ``k``, larger number.

    Only normal numbers: a mode that flushes small ones to zero can't make two of them equal.
    """
    return tl.where(k < 30720, 0x8400 + 30719 - k, 0x0400 + k - 30720)


@triton.jit
def pair_signs(a, b, STRICT: tl.constexpr, PACKED: tl.constexpr):
    """Sign of ``a - b``, or with STRICT its absolute value, in half precision; 0 where one of the two is NaN.

    PACKED does two half-precision pairs an instruction, which compilers do not find by themselves; the interpreter
    has no inline assembly.
    """
    if PACKED:
        signs = tl.inline_asm_elementwise(
            _UNEQUAL if STRICT else _SIGN, "=r,r,r", [a, b], dtype=tl.float16, is_pure=True, pack=2
        )
    elif STRICT:
        signs = (a > b).to(tl.float16) + (a < b).to(tl.float16)
    else:
        signs = (a > b).to(tl.float16) - (a < b).to(tl.float16)
    return signs


@triton.jit(do_not_specialize=["m", "batch_stride", "row_stride"])
def mirror_kernel(
    OUT,  # (batch, m, m) whose upper triangle is filled
    m,
    batch_stride,
    row_stride,
    BLOCK: tl.constexpr,
):
    """Copy the upper triangle of every matrix to the lower one.

    A program reads only words above the diagonal and writes only words below it, each of them alone.
    """
    tiles = tl.cdiv(m, BLOCK)
    pid = tl.program_id(0)
    i = pid % tiles * BLOCK + tl.arange(0, BLOCK)
    j = pid // tiles % tiles * BLOCK + tl.arange(0, BLOCK)
    if pid // tiles % tiles > pid % tiles:
        return
    OUT += (pid // tiles // tiles).to(tl.int64) * batch_stride
    below = (j[None, :] < i[:, None]) & (i[:, None] < m)  # [BLOCK, BLOCK]
    upper = tl.load(OUT + j[None, :].to(tl.int64) * row_stride + i[:, None], mask=below)
    tl.store(OUT + i[:, None].to(tl.int64) * row_stride + j[None, :], upper, mask=below)


def mirror(out: torch.Tensor, block: int = 64) -> None:
    """Make every matrix of the contiguous ``(batch, m, m)`` tensor symmetric by its upper triangle, in place."""
    batch, m, _ = out.shape
    grid = (batch * triton.cdiv(m, block) ** 2,)
    mirror_kernel[grid](out, m, out.stride(0), out.stride(1), BLOCK=block)
