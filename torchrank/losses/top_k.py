"""How much each item is among the k most preferred: a smooth form of the set of the first k."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS as OF_KERNELS
from torchrank.losses.rows import ARGUMENTS, as_mask, flat, flat_mask, row_windows
from torchrank.ops.checks import exact_differences
from torchrank.ops.top_k import top_k_bar
from torchrank.ops.units import in_unit
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES, passing, passing_slope
from torchrank.rankings.validate import Scores, as_scores, check_choice, check_count, count_dtype
from torchrank.typing import Array, Noise

_STEPS = 2  # of Newton's method from where it has ended: each doubles the order up to which derivatives are right
_FLAT, _STEEP = 1e-280, 1e-3
_FAR = 200.0  # windows


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS)
def soft_top_k(
    x: Scores[Array], k: int, window: float | Tensor, *, noise: Noise = "uniform", mask: Any = None
) -> Array:
    r"""Share of each item in the k most preferred ones, from 0 to 1, in all k: smooth in scores and window.

    .. math:: p_i = P(x_i + \epsilon_i > \tau), \qquad \sum_i p_i = k

    with a bar tau that k of the jittered scores can be expected to pass. With uniform noise this is the nearest point
    to x / window whose entries are between 0 and 1 and add up to k, the projection to the capped simplex, so that most
    shares are exactly 0 or 1. As the window shrinks, the first k items get 1 and the others 0; of items tied at the bar
    each gets its part.

    Args:
        x: ``(..., n)`` scores, one list a row, larger = preferred, of any real dtype. NaN = not ranked.
        k: how many items, at least 0. Where no more than k items count, each gets 1.
        window: {window}
        noise: {noise}
        mask: {mask}

    Returns:
        ``(..., n)``, 0 with gradient 0 for items that do not count; dtype and kind as for
        :func:`torchrank.kendall_loss`, computed in float64. Derivatives of scores and window up to the third, of every
        mode. Time and memory O(n) a row.

    Raises:
        ValueError: a negative ``k``, a mask or a window that does not fit, an unknown noise.
        TypeError: ``k`` that is no integer, scores that are not real numbers, a mask that is not bool; prepared
            rankings.

    Example:
        >>> soft_top_k(np.array([3.0, 1.0, 0.75, -2.0]), 2, window=1.0).tolist()
        [1.0, 0.625, 0.375, 0.0]
    """
    check_choice(noise, "noise", tuple(NOISES))
    check_count(k, "k", 0, "items")
    scores, origin = as_scores(x, "x", least_dims=1, least_items=0, apart=True)
    counted = scores == scores
    counted = counted if mask is None else counted & as_mask(mask, scores)
    exact = exact_differences(scores, "x", counted)
    rows, n = flat(torch.where(counted, exact, 0)).to(torch.float64), scores.shape[-1]
    among = flat_mask(counted, rows)
    rows, width = in_unit(rows, row_windows(window, rows), among)
    shares = _shares(rows, among, k, width[:, None], noise)
    return origin.named(shares[:, :n].reshape(scores.shape).to(count_dtype(scores, origin)), "rows", "items")


def _shares(x: Tensor, among: Tensor, k: int, window: Tensor, noise: str) -> Tensor:
    """Shares ``(r, n)`` of float64 scores; 0 where not ``among``."""
    x = _finite(x, among, window)
    x = x - top_k_bar(x, among, window, k, noise)
    bar = torch.zeros_like(window)  # above the one found, whose last digit may be many windows
    for _ in range(_STEPS):
        excess = torch.where(among, passing(x - bar, window, noise), 0).sum(-1, keepdim=True) - k
        slope = torch.where(among, passing_slope(x - bar, window, noise), 0).sum(-1, keepdim=True)
        flat = slope < _FLAT  # no score is near the bar, which may move
        rounding = torch.where(slope * window > _STEEP, 0, excess.detach())  # which little slope would make a leap
        bar = bar + torch.where(flat, 0, excess - rounding) / torch.where(flat, 1, slope)
    shares = torch.where(among.sum(-1, keepdim=True) > k, passing(x - bar, window, noise), 1.0)
    return torch.where(among, shares, 0) if k > 0 else torch.zeros_like(x)


def _finite(x: Tensor, among: Tensor, window: Tensor) -> Tensor:
    """Scores with infinite ones so far beyond the others that no jitter bridges it."""
    finite = among & x.isfinite()
    plain = torch.where(finite, x, 0).detach()
    far = _FAR * window.detach()
    ends = plain.amin(-1, keepdim=True) - far, plain.amax(-1, keepdim=True) + far
    return torch.where(finite, x, torch.where(x > 0, ends[1], ends[0]))
