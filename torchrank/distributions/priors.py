"""What may be known of Plackett-Luce worths before any ranking is seen."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.validate import check_finite, check_number


class GhostItem(NamedTuple):
    r"""Every item won and lost some comparisons with a ghost, an item of logit 0.

    .. math:: k \sum_c \Bigl(\theta_c - 2 \log(1 + e^{\theta_c})\Bigr)

    This is how the R package PlackettLuce ties loose groups together, whose ``npseudo`` is the strength (Turner, van
    Etten, Firth and Kosmidis, Comput. Stat. 35, 2020).
    """

    strength: float = 0.5  # k, comparisons won, and as many lost, by each item


class NormalPrior(NamedTuple):
    r"""Logits are normally distributed.

    .. math:: -\frac{1}{2} (\theta - \mu)^T \Sigma^{-1} (\theta - \mu)
    """

    mean: Matrix = 0.0  # mu, a number or (n,)
    covariance: Matrix = 1.0  # Sigma, (n, n); a number or (n,) for variances of independent logits


Prior = float | GhostItem | NormalPrior


class LogPrior(Protocol):
    """The logarithm of a prior of logits ``(n,)``, up to a constant."""

    fixes_level: bool  # whether a constant added to all logits changes it

    def value(self, logits: Tensor) -> Tensor:
        """``()``."""
        ...

    def gradient(self, logits: Tensor) -> Tensor:
        """``(n,)``."""
        ...

    def product(self, logits: Tensor, x: Tensor) -> Tensor:
        """Minus the second derivatives times the columns of x ``(n, k)``."""
        ...

    def diagonal(self, logits: Tensor) -> Tensor:
        """Of minus the second derivatives, ``(n,)``."""
        ...


def log_prior(prior: Prior, n: int, device: torch.device, what: str = "items") -> LogPrior | None:
    """The prior as users say it; None where there is none.

    Raises:
        ValueError: a strength or variance that is negative or not finite, shapes that do not fit, a covariance that is
            not symmetric and positive definite.
        TypeError: another kind of prior.
    """
    if isinstance(prior, GhostItem):
        check_finite(prior.strength, "prior.strength", 0)
        return _Ghost(float(prior.strength)) if prior.strength > 0 else None
    if isinstance(prior, NormalPrior):
        return _normal(prior, n, device, what)
    if isinstance(prior, tuple):
        raise TypeError(f"prior is {prior!r}; expected a number, GhostItem or NormalPrior")
    check_number(prior, "prior")
    check_finite(prior, "prior", 0)
    return Gamma(float(prior)) if prior > 0 else None


class Gamma:
    """Every item was chosen ``alpha`` more times, out of all."""

    fixes_level = False

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def value(self, logits: Tensor) -> Tensor:
        """The logarithm, up to a constant."""
        return self.alpha * logits.log_softmax(0).sum()

    def gradient(self, logits: Tensor) -> Tensor:
        """In the logits."""
        return self.alpha * (1 - len(logits) * logits.softmax(0))

    def product(self, logits: Tensor, x: Tensor) -> Tensor:
        """Minus the second derivatives times the columns of ``x``."""
        share = logits.softmax(0)[:, None]
        return self.alpha * len(logits) * share * (x - (share * x).sum(0))

    def diagonal(self, logits: Tensor) -> Tensor:
        """Of minus the second derivatives."""
        share = logits.softmax(0)
        return self.alpha * len(logits) * share * (1 - share)


class _Ghost:
    fixes_level = True

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def value(self, logits: Tensor) -> Tensor:
        return self.strength * (torch.nn.functional.logsigmoid(logits) + torch.nn.functional.logsigmoid(-logits)).sum()

    def gradient(self, logits: Tensor) -> Tensor:
        return self.strength * (1 - 2 * logits.sigmoid())

    def product(self, logits: Tensor, x: Tensor) -> Tensor:
        return self.diagonal(logits)[:, None] * x

    def diagonal(self, logits: Tensor) -> Tensor:
        return 2 * self.strength * logits.sigmoid() * (-logits).sigmoid()


class _Normal:
    fixes_level = True

    def __init__(self, mean: Tensor, precision: Tensor) -> None:
        self.mean, self.precision = mean, precision

    def value(self, logits: Tensor) -> Tensor:
        return (logits - self.mean) @ self.gradient(logits) / 2

    def gradient(self, logits: Tensor) -> Tensor:
        return -self.product(logits, (logits - self.mean)[:, None])[:, 0]

    def product(self, logits: Tensor, x: Tensor) -> Tensor:
        return self.precision @ x if self.precision.ndim == 2 else self.precision[:, None] * x

    def diagonal(self, logits: Tensor) -> Tensor:
        return self.precision.diagonal() if self.precision.ndim == 2 else self.precision


def _normal(prior: NormalPrior, n: int, device: torch.device, what: str) -> _Normal:
    mean, covariance = (
        as_tensor(value, f"prior.{name}")[0].to(device, torch.float64)
        for name, value in zip(prior._fields, prior, strict=True)
    )
    for name, value, most in (("mean", mean, 1), ("covariance", covariance, 2)):
        if value.ndim > most or any(size != n for size in value.shape):
            raise ValueError(
                f"prior.{name} has shape {tuple(value.shape)}; expected a number or one for each of {n} {what}"
            )
        if not bool(value.isfinite().all()):
            raise ValueError(f"prior.{name} has numbers that are not finite")
    if covariance.ndim < 2:
        if not bool((covariance > 0).all()):
            raise ValueError(f"prior.covariance has the variance {float(covariance.min()):g}; expected more than 0")
        return _Normal(mean.expand(n), (1 / covariance).expand(n))
    factor, failed = torch.linalg.cholesky_ex(covariance)
    if bool(failed) or not torch.allclose(covariance, covariance.mT):
        raise ValueError("prior.covariance is not a symmetric positive definite matrix")
    return _Normal(mean.expand(n), torch.cholesky_inverse(factor))
