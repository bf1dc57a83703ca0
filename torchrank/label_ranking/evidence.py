"""How a fit of MM-PL went."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torchrank._warnings import warn_not_converged
from torchrank.evidence import Evidence
from torchrank.label_ranking.settings import EMSettings

NOTHING_TAUGHT = "Y has no row that ranks two labels; there is nothing to learn from"


@dataclass(frozen=True, kw_only=True, repr=False)
class MMPLFit(Evidence):
    """How a fit of MM-PL went.

    The objective is the mean log-likelihood over rows with a choice in each pass, each row before its update; it rises.
    Losses are loss_LR, on the validation rows if there are any. The reason is "tolerance", the last pass changed the
    objective by less; "schedule", all updates were made, as planned; or "n_updates", they were too few for the
    tolerance.
    """

    n_updates: int  # single-row updates of the start that was kept

    @classmethod
    def of(
        cls, trace: Sequence[float], losses: tuple[float, ...], reason: str, n_taught: int, settings: EMSettings
    ) -> "MMPLFit":
        """That of passes over so many rows, with a warning where they were too few."""
        evidence = cls(
            objective=tuple(trace),
            losses=losses,
            n_iter=len(trace),
            converged=reason != "n_updates",
            reason=reason,
            n_updates=len(trace) * n_taught,
        )
        if not evidence.converged:
            last = abs(trace[-1] - trace[-2]) if len(trace) > 1 else math.inf
            warn_not_converged(
                f"MM-PL did not converge in {evidence.n_updates} updates: the last pass changed the mean "
                f"log-likelihood by {last:.3g}, tol is {settings.tol:.3g} (of stop={settings.stop!r}); raise n_updates "
                "or tol"
            )
        return evidence
