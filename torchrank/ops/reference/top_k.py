"""The bar that k of a row's jittered scores pass, by halving, in plain torch."""

import torch
from torch import Tensor

from torchrank.rankings.noises import passing

_HALVINGS = 70  # of an interval of float64: more leave its ends neighbors
_REACH = 40.0  # windows beyond which a score passes, or does not, whatever its jitter


def top_k_bar(x: Tensor, among: Tensor, window: Tensor, k: int, noise: str) -> Tensor:
    """The middle of the interval of bars that k of the scores ``(r, n)`` pass, ``(r, 1)``."""
    far = (_REACH + 1) * window
    ends = x.amin(-1, keepdim=True) - far, x.amax(-1, keepdim=True) + far
    low, high = (torch.cat([end, end], -1) for end in ends)  # of the interval's lower and of its upper end
    for _ in range(_HALVINGS):
        bar = low + (high - low) / 2
        shares = torch.where(among[:, None], passing(x[:, None] - bar[..., None], window[:, None], noise), 0)
        more = shares.sum(-1) - k
        above = torch.stack([more[:, 0] > 0, more[:, 1] >= 0], -1)
        low, high = torch.where(above, bar, low), torch.where(above, high, bar)
    return (low + (high - low) / 2).mean(-1, keepdim=True)
