"""Widths and steps of MM-PL's updates, over all of them."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from torchrank.cpu.mm_pl_job import Updates
from torchrank.label_ranking.settings import SIGMA, EMSettings
from torchrank.label_ranking.start import spacing


@dataclass(frozen=True)
class Schedule:
    """Widths and steps by how many single-row updates were done before."""

    settings: EMSettings
    scale: float  # of widths: spacing of the prototypes at the start, or 1
    planned: int  # single-row updates of all passes
    n_taught: int  # of a pass
    variance: float  # of all features

    @classmethod
    def of(cls, settings: EMSettings, prototypes: Tensor, planned: int, n_taught: int, variance: float) -> "Schedule":
        """That of a start with these prototypes ``(M, d)``."""
        scale = spacing(prototypes) if settings.schedule == "geometric" else 1.0
        return cls(settings, scale, planned, n_taught, variance)

    def updates(self, rows: np.ndarray, done: np.ndarray) -> Updates:
        """The updates by ``rows``, in which ``done`` (u,) are those before each."""
        settings = self.settings
        if settings.schedule == "paper":
            decay = 8 * self.n_taught / (8 * self.n_taught + done)
            sigma, rate = (self.variance if settings.sigma is None else settings.sigma) * decay, settings.rate * decay
        else:
            share = done / self.planned
            first = SIGMA if settings.sigma is None else settings.sigma
            sigma = self.scale * first * (settings.sigma_end / first) ** share
            rate = settings.rate * (settings.rate_end / settings.rate) ** share
        sigma = np.maximum(sigma, 1e-12)
        score_rate = np.zeros_like(rate) if settings.scores == "mm" else settings.score_rate * rate
        return Updates(rows, sigma, rate / sigma**2 if settings.step == "gradient" else rate, score_rate)
