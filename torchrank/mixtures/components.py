"""What the M-steps of mixtures have in common: shares of components, and concentrations at their cap."""

from torch import Tensor

from torchrank._warnings import warn


def log_shares(counts: Tensor) -> Tensor:
    """Logarithms of the components' shares; minus infinity for empty ones, which then stay empty."""
    return counts.log() - counts.sum(-1, keepdim=True).log()


EQUAL_RANKINGS = "hold equal rankings only, for which the likelihood has no maximum"


def warn_of_caps(lam: Tensor, max_lam: float, why: str = EQUAL_RANKINGS, remedy: str = "") -> None:
    """Warn of components whose concentration is the largest allowed, and say why and what to do."""
    capped = (lam >= max_lam).nonzero()[:, 0].tolist()
    if capped:
        warn(f"components {capped} {why}: their lam was capped at max_lam={max_lam:g}{remedy}")
