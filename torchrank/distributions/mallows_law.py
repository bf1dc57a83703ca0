"""Concentrations of Mallows distributions by their mean distance, for the many M-steps of a mixture."""

import torch
from torch import Tensor

from torchrank.distributions.mallows_moments import mean_distance, variance_distance

_KNOTS = 2**14  # so that one Newton step goes from the table's accuracy to 1e-13 for 50 items, 1e-10 for 1,000
_LARGE = 50.0  # beyond, the expected distance is (n - 1) e^-lam to the last digit


class ConcentrationTable:
    """The maximum-likelihood concentration in ``[0, max_lam]`` for given mean distances to the centre.

    The expected distance falls with the concentration, so a table of it starts Newton's method close to the root.
    """

    def __init__(self, n: int, max_lam: float, device: torch.device) -> None:
        self.n, self.max_lam = n, max_lam
        self.largest = min(max_lam, _LARGE)
        steps = torch.linspace(0, 1, _KNOTS, dtype=torch.float64, device=device)
        self.lam = self.largest * steps.square()  # denser where the distance changes faster
        self.mean = mean_distance(self.lam, n).flip(0)  # ascending, as searchsorted needs it

    def __call__(self, mean: Tensor) -> Tensor:
        """0 where ``mean`` is at least n(n-1)/4, and ``max_lam`` where no smaller concentration is close enough."""
        right = torch.searchsorted(self.mean, mean.contiguous()).clamp_(1, _KNOTS - 1)
        low, high = self.mean[right - 1], self.mean[right]
        share = ((mean - low) / (high - low).clamp(min=1e-300)).clamp(0, 1)
        upper, lower = self.lam[_KNOTS - right], self.lam[_KNOTS - 1 - right]
        lam = upper + share * (lower - upper)
        step = (mean_distance(lam, self.n) - mean) / variance_distance(lam, self.n)
        lam = torch.minimum(torch.maximum(lam + step, lower), upper)
        large = ((self.n - 1) / mean.clamp(min=0)).log().clamp(self.largest, self.max_lam)
        lam = torch.where(mean <= self.mean[0], large, lam)
        return torch.where(mean >= self.mean[-1], 0.0, lam)
