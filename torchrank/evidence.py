"""What a fit tells of itself, in the same words for every model."""

from dataclasses import dataclass

from torchrank._repr import short_repr


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """How a fit went. What the objective is, and whether it falls or rises, each kind of fit says.

    Attributes:
        objective: its values after every iteration of the start that was kept; empty for closed forms.
        losses: what each start came to, the lower the better.
        n_iter: iterations of the start that was kept.
        converged: whether it ended as it should, and not for want of iterations.
        reason: why it ended, "tolerance", "max_iter", or what else the kind of fit says.
    """

    objective: tuple[float, ...]
    losses: tuple[float, ...]
    n_iter: int
    converged: bool
    reason: str

    __repr__ = short_repr

    @classmethod
    def closed_form(cls, *losses: float) -> "Evidence":
        """The evidence of a fit without iterations."""
        return cls(objective=(), losses=losses, n_iter=0, converged=True, reason="closed form")
