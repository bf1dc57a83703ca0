"""How expectation-maximization trains MM-PL."""

import math
from dataclasses import dataclass
from typing import get_args

from torchrank.rankings.validate import check_choice, check_count, check_finite, check_positive
from torchrank.typing import EMInit, EMSchedule, EMScores, EMStep, EMStop

INITS = get_args(EMInit)
SCORES = get_args(EMScores)
STEPS = get_args(EMStep)
SCHEDULES = get_args(EMSchedule)
STOPS = get_args(EMStop)
SIGMA = 1.5  # prototype spacings


@dataclass(frozen=True)
class EMSettings:
    """Settings of :meth:`torchrank.MMPL.fit`; the defaults are what did best in experiments.

    Args:
        init: "cells" divides the features into as many cells as there are prototypes by K-means, and the cells into
            clusters by their mean votes; "tree" takes the leaves of a RankTree, grown on the CPU, whose means lie apart
            where features matter; "random" takes prototypes from distinct rows and scores from N(1, 0.1).
        n_init: fits from different starts, of which the one with the least loss on the validation rows, else on the
            training rows, is kept.
        n_updates: single-row updates of a fit, rounded up to whole passes over the rows that make a choice, which rank
            two labels, or one in a top list; 0 leaves the start as it is.
        batch_size: rows per update; None is 1 on the CPU, 256 on other devices and with ``group=``, and 0 is all rows.
        step: "normalized" moves prototypes by ``rate`` times w (h/g - 1) (x - m), "gradient" by that over sigma^2, as
            equation 30 does.
        scores: "gradient" is the M-step v.1, "mm" v.2, Hunter's MM once after each pass.
        rate: step of prototypes at the beginning.
        rate_end: step at the end, reached geometrically.
        score_rate: step of scores, as a multiple of the step of prototypes.
        sigma: width of the gate at the beginning, in prototype spacings (the median distance of a prototype to the
            nearest other one); None means the default.
        sigma_end: width at the end, reached geometrically.
        prior: shape of a Gamma prior on scores, with mean 1, for "mm" and the starting scores.
        stop: whether to end early: when a pass lowers the "loss" or the mean negative log-"likelihood" by less than
            ``tol``; "never" goes through all updates.
        tol: least gain of a pass with ``stop``.
        recenter: at the end, reorder each cluster's scores by the Borda ranking of the rows it wins, and give each
            prototype to the cluster whose central ranking its rows like best.
        schedule: "geometric", or "paper" for value * T / (T + updates done) with T = 8 N as in Algorithm 2; then
            ``sigma`` is taken as it is, or as the total variance of the features if None.
        metric_weight: with ``metric="ridge"``, how much differences of predicted votes count beside those of features.

    Raises:
        ValueError, TypeError: words that are unknown, numbers out of range.
    """

    init: EMInit = "cells"
    n_init: int = 1
    n_updates: int = 100_000
    batch_size: int | None = None
    step: EMStep = "normalized"
    scores: EMScores = "gradient"
    rate: float = 0.3
    rate_end: float = 0.01
    score_rate: float = 0.5
    sigma: float | None = SIGMA
    sigma_end: float = 0.15
    prior: float = 0.1
    stop: EMStop = "never"
    tol: float = 1e-4
    recenter: bool = True
    schedule: EMSchedule = "geometric"
    metric_weight: float = 2.0

    def __post_init__(self) -> None:
        for name, legal in (("init", INITS), ("step", STEPS), ("scores", SCORES), ("stop", STOPS)):
            check_choice(getattr(self, name), name, legal)
        check_choice(self.schedule, "schedule", SCHEDULES)
        check_count(self.n_init, "n_init", least=1)
        check_count(self.n_updates, "n_updates", least=0)
        if self.batch_size is not None:
            check_count(self.batch_size, "batch_size", least=0)
        for name in ("rate", "rate_end", "sigma_end", "prior"):
            check_positive(getattr(self, name), name)
        for name in ("score_rate", "tol", "metric_weight"):
            check_finite(getattr(self, name), name, 0)
        if self.sigma is not None and not 0 < self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} is out of range; it must be positive and finite, or None")

    @classmethod
    def paper(cls) -> "EMSettings":
        """Algorithm 2 and Section 7 of Grbovic et al. (2013), with the signs of equation 30 corrected.

        For comparison: the stopping rule ends long before the width has fallen below the distances of prototypes.
        """
        return cls(
            init="random",
            n_updates=10_000_000,
            batch_size=1,
            step="gradient",
            rate=0.03,
            score_rate=1.0,
            sigma=None,
            stop="loss",
            recenter=False,
            schedule="paper",
        )
