"""Leading batch dimensions, which broadcast as in ``torch.cdist``, as the one that the ops take."""

import math

import torch
from torch import Tensor


def one_batch(x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor | None, tuple[int, ...]]:
    """Both sides with one batch dimension, and the shape ``(..., m, m2)`` to give to the op's result."""
    m, n = x.shape[-2:]
    if y is None:
        batch = x.shape[:-2]
        return x.reshape(math.prod(batch), m, n), None, (*batch, m, m)  # -1 would be ambiguous without rows
    batch, m2 = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), y.shape[-2]
    shape = (*batch, m, m2)
    if y.shape[:-2].numel() == 1:  # one Y for all: the batch is one long list of rows, and Y is prepared once
        return x.reshape(1, -1, n), y.reshape(1, m2, n), shape
    b = math.prod(batch)
    return x.expand(*batch, m, n).reshape(b, m, n), y.expand(*batch, m2, n).reshape(b, m2, n), shape
