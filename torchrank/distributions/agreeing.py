"""Sums of Mallows weights over the total rankings that agree with partial orders, for many centers at once.

Exact where a partial order leaves little open, by dynamic programming over sets of items, else from samples. Both are
written once for a center and a concentration of at least 0; a negative one is that of the reversed center.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.orders import best_first
from torchrank.rankings.pairs import n_pairs

N_SAMPLES = 200
_FEW = 0.05  # of the samples, below which those that count are too few


class Sums(NamedTuple):
    """Of e^(-lam d) over agreeing rankings, d being the discordant pairs with each of b centers; ``(b, g)`` float64."""

    log_sum: Tensor
    mean: Tensor  # of d, by these weights
    variance: Tensor
    effective: Tensor  # samples that count, infinite where sums are exact


class Agreeing:
    """The total rankings that agree with each of g partial orders."""

    def __init__(self, precedes: Tensor, n_samples: int = N_SAMPLES, seed: int = 0) -> None:
        from torchrank.cpu import linear_extensions  # numba takes half a second to import

        self.precedes, self.n_samples, self.seed = precedes, n_samples, seed
        g, self.n = precedes.shape[:2]
        exact = np.zeros(g, bool)
        if self.n <= linear_extensions.MOST_ITEMS:
            before = _masks(precedes.mT)
            exact = linear_extensions.few_states(before)
            self._before = before[exact]
        self._exact = exact
        self._sampled = precedes.cpu().numpy()[~exact]

    def __len__(self) -> int:
        return len(self.precedes)

    @property
    def sampled(self) -> bool:
        """Whether sums of any of the partial orders are estimates."""
        return len(self._sampled) > 0

    def sums(self, centers: Tensor, lam: Tensor) -> Sums:
        """For ``centers`` ``(b, n)``, dense ranks without ties, and concentrations ``lam`` ``(b,)``."""
        from torchrank.cpu import agreeing_samples, linear_extensions

        ranks, size = self._turned(centers, lam)
        found = np.full((4, len(size), len(self)), np.inf)
        if self._exact.any():
            found[:3, :, self._exact] = linear_extensions.sums(self._before, _better(ranks), size)
        if self.sampled:
            orders = best_first(ranks).numpy()
            found[:, :, ~self._exact] = agreeing_samples.sampled_sums(
                self._sampled, orders, size, self.n_samples, self.seed
            )
        log_sum, mean, variance, effective = torch.from_numpy(found).to(self.precedes.device)
        pairs, turned = n_pairs(self.n), (lam.detach() < 0)[:, None]
        log_sum = torch.where(turned, log_sum - lam.detach()[:, None] * pairs, log_sum)
        return Sums(log_sum, torch.where(turned, pairs - mean, mean), variance, effective)

    def log_sums(self, centers: Tensor, lam: Tensor) -> Tensor:
        """The logarithms alone, with their first derivative in ``lam``."""
        return _LogSums.apply(lam, centers, self)

    def preferences(self, centers: Tensor, lam: Tensor, shares: Tensor) -> Tensor:
        """Sums over partial orders of ``shares`` (b, g) times the chance that i is above j, ``(b, n, n)`` float64."""
        from torchrank.cpu import agreeing_samples, linear_extensions

        ranks, size = self._turned(centers, lam)
        given = shares.detach().cpu().numpy()
        total = np.zeros((len(size), self.n, self.n))
        if self._exact.any():
            own = np.ascontiguousarray(given[:, self._exact])
            total += linear_extensions.preferences(self._before, _better(ranks), size, own)
        if self.sampled:
            own = np.ascontiguousarray(given[:, ~self._exact])
            orders = best_first(ranks).numpy()
            total += agreeing_samples.sampled_preferences(self._sampled, orders, size, self.n_samples, self.seed, own)
        return torch.from_numpy(total).to(self.precedes.device)

    def warn_of_few_samples(self, effective: Tensor) -> None:
        """Warn once if of the samples of any partial order hardly one counts."""
        least = float(effective.min()) if effective.numel() else torch.inf
        if least < max(2.0, _FEW * self.n_samples):
            warn(
                f"of n_samples={self.n_samples} sampled rankings as few as {least:.1f} count for some row, so that its "
                "probability is a rough estimate; raise n_samples",
                RuntimeWarning,
            )

    @staticmethod
    def _turned(centers: Tensor, lam: Tensor) -> tuple[Tensor, np.ndarray]:
        """Centers on the CPU, those of negative concentrations reversed, and concentrations without sign."""
        lam = lam.detach().cpu().to(torch.float64)
        ranks = torch.where((lam < 0)[:, None], -centers.cpu(), centers.cpu())
        return ranks, np.ascontiguousarray(lam.abs().numpy())


def _masks(member: Tensor) -> np.ndarray:
    """The last dimension ``(..., n)`` bool as bit masks, int64."""
    bits = 1 << torch.arange(member.shape[-1])
    return (member.cpu().to(torch.int64) * bits).sum(-1).numpy()


def _better(ranks: Tensor) -> np.ndarray:
    """Masks of the items that centers prefer to each item."""
    return _masks(ranks[:, None, :] > ranks[:, :, None])


class _LogSums(torch.autograd.Function):
    """Logarithms of sums, whose derivative in the concentration is minus the mean number of discordant pairs."""

    @staticmethod
    def forward(ctx: Any, lam: Tensor, centers: Tensor, agreeing: Agreeing) -> Tensor:
        sums = agreeing.sums(centers, lam)
        ctx.save_for_backward(sums.mean)
        return sums.log_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (mean,) = ctx.saved_tensors
        return -(gradients[0] * mean).sum(-1), None, None
