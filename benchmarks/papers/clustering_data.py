"""Votes that the clustering experiments use: the APA election of 1980, the Eurovision finals from 2007 to 2012."""

from typing import NamedTuple

import numpy as np
import torch

from benchmarks.papers.conditional_data import data_folder
from torchrank import KendallKernel, MultivariateKernel

YEARS = range(2007, 2013)
CANDIDATES = 5
FINALISTS = 8


class Votes(NamedTuple):
    """Different ballots and how many voters cast each."""

    scores: np.ndarray  # (u, n) larger = preferred
    counts: np.ndarray  # (u,)

    def one_by_one(self) -> np.ndarray:
        """All ballots ``(m, n)``."""
        return np.repeat(self.scores, self.counts, axis=0)


def apa() -> Votes:
    """The 5,738 complete ballots of the American Psychological Association's election of 1980, true ranks."""
    table = np.genfromtxt(data_folder() / "apa" / "apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    return Votes(CANDIDATES - table[:, :CANDIDATES], table[:, CANDIDATES].astype(int))


def eurovision() -> tuple[list[str], np.ndarray]:
    """The voting countries, and their scores ``(34, 48)``: eight countries a year, NaN for those without points."""
    table = np.genfromtxt(data_folder() / "eurovision" / "eurovision.csv", delimiter=",", dtype=str, skip_header=1)
    ranks = table[:, 1:].astype(float)
    return table[:, 0].tolist(), np.where(ranks == 0, np.nan, -ranks)


def eurovision_kernel() -> MultivariateKernel:
    """The mean over the six years of the top-k Kendall kernel, equation 8 with equal weights."""
    years = [KendallKernel(missing="topk") for _ in YEARS]
    return MultivariateKernel(years, sizes=[FINALISTS] * len(years))


def seeded(seed: int) -> torch.Generator:
    """A source of random starts."""
    return torch.Generator().manual_seed(seed)
