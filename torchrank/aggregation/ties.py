"""Scores that differ by rounding only are made equal: equal scores mean tied items."""

import torch
from torch import Tensor

from torchrank.rankings.derivatives import needs_derivative


def merge_close(
    scores: Tensor,  # (..., n)
    tolerance: float,
) -> Tensor:
    """The same scores with those less than ``tolerance`` apart, one to the next, made equal to the least of them.

    Gradients pass as if nothing had been merged.
    """
    values, item = scores.detach().sort(dim=-1)
    starts_group = torch.ones_like(values, dtype=torch.bool)
    starts_group[..., 1:] = values[..., 1:] - values[..., :-1] > tolerance
    least = torch.where(starts_group, values, -torch.inf).cummax(dim=-1).values
    merged = torch.empty_like(values).scatter(-1, item, least)
    return scores + (merged - scores.detach()) if needs_derivative(scores) else merged
