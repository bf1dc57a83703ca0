"""What a fit tells of itself, in the same words for every model."""

from dataclasses import dataclass

from torchrank._repr import short_repr


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """How a fit went. What the objective is, and whether it falls or rises, each kind of fit says."""

    objective: tuple[float, ...]  # after every iteration of the start that was kept; empty for closed forms
    losses: tuple[float, ...]  # what each start came to, the lower the better
    n_iter: int  # iterations of the start that was kept
    converged: bool  # whether it ended as it should, and not for want of iterations
    reason: str  # why it ended: "tolerance", "max_iter", or what else the kind of fit says

    __repr__ = short_repr

    @classmethod
    def closed_form(cls, *losses: float) -> "Evidence":
        """That of a fit without iterations."""
        return cls(objective=(), losses=losses, n_iter=0, converged=True, reason="closed form")
