"""Rates that this card reaches on the plainest work: what the engines' times are held against."""

import torch

from benchmarks.gpu.parts import Context, Verdict, median_seconds, part


@part("rates", seconds=15)
def rates(context: Context) -> Verdict:
    """Multiply-adds a second of fp16 and int8 matrix products, and bytes a second of a copy, read and written."""
    size = 256 if context.dry else 8192
    generator = torch.Generator(context.device).manual_seed(0)
    factors = torch.randint(-1, 2, (3, size, size), generator=generator, device=context.device, dtype=torch.int8)
    work = size**3
    found = {"fp16": work / median_seconds(lambda a: a @ a, list(factors.to(torch.float16)))}
    if not context.dry:
        found["int8"] = work / median_seconds(lambda a: torch._int_mm(a, a.mT), list(factors))
    bytes_each = size * size * (1 if context.dry else 16)
    buffers = torch.zeros((3, bytes_each), dtype=torch.uint8, device=context.device)
    target = torch.empty_like(buffers[0])
    found["copy"] = 2 * bytes_each / median_seconds(target.copy_, list(buffers))
    context.shared["rates"] = found
    context.record(**found)
    return Verdict(True, ", ".join(f"{name} {rate:.3g}/s" for name, rate in found.items()))
