"""The Mallows distribution of rankings."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints

from torchrank.distributions.mallows_law import log_partition, mean_distance, mean_scores, variance_distance
from torchrank.distributions.support import RankingDistribution, ranking
from torchrank.kernels.kendall import kendall_distance
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.derivatives import on_values, without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.orders import total_scores
from torchrank.rankings.validate import refuse_ties

COMPLETE = "Mallows rankings are complete; drop these rows, or complete them"
UNTIED = "Mallows rankings have no ties; break them, for example at random"


@isolated
class Mallows(RankingDistribution):
    r"""Mallows distribution: rankings around a center, less probable the more pairs they order otherwise.

    .. math:: P(\sigma) = \frac{e^{-\lambda\, n_d(\sigma, \sigma_0)}}{Z(\lambda)}

    with the number of discordant pairs :math:`n_d` (Mallows, Biometrika 44, 1957). With ``lam`` 0 all rankings are
    alike. A negative ``lam`` is legal: it is the distribution with the reversed center and ``-lam``, which lets
    optimizers pass through 0, where everything is smooth.

    Ties and unranked items have no probability here and are refused.

    Args:
        center: ``(..., n)`` scores of the centers: larger = preferred, complete, no ties.
        lam: ``(...)`` concentrations, a number or a tensor that may require a gradient.
        validate_args: whether to check arguments and values; torch's default for None.

    Raises:
        ValueError: a center with ties, unranked items or fewer than 2 items, a ``lam`` that is not finite, shapes that
            do not broadcast.
        TypeError: a center that is not a tensor.

    Example:
        >>> mallows = Mallows(torch.tensor([3.0, 2.0, 1.0]), 0.0)
        >>> mallows.log_prob(torch.tensor([1.0, 2.0, 3.0])).exp()
        tensor(0.1667)
    """

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What the parameters have to satisfy."""
        return {"center": ranking, "lam": constraints.real}

    def __init__(self, center: Tensor, lam: float | Tensor, validate_args: bool | None = None) -> None:
        if not isinstance(center, Tensor) or center.ndim == 0:
            raise TypeError(f"center is {type(center).__name__}; expected a tensor (..., n) of scores")
        if center.shape[-1] < 2:
            raise ValueError(f"center has shape {tuple(center.shape)}; ranking needs at least 2 items")
        center, _ = as_tensor(center, "center", "scores that are real numbers")
        center = center.to(torch.float32) if center.dtype.itemsize == 1 and center.is_floating_point() else center
        narrow = center.is_floating_point() and center.dtype.itemsize < 4  # too few digits for distances
        dtype = center.dtype if center.is_floating_point() and not narrow else torch.get_default_dtype()
        lam = lam if isinstance(lam, Tensor) else torch.tensor(lam, dtype=dtype, device=center.device)
        lam = lam if lam.is_floating_point() else lam.to(dtype)
        if self._validate_args if validate_args is None else validate_args:
            on_values(_finite, lam)
            ranks, _ = dense_ranks(center if center.ndim > 1 else center[None], COMPLETE, "center")
            on_values(_untied, ranks)
        try:
            batch_shape = torch.broadcast_shapes(center.shape[:-1], lam.shape)
        except RuntimeError:
            raise ValueError(
                f"lam has shape {tuple(lam.shape)}, which does not broadcast with the shape "
                f"{tuple(center.shape[:-1])} of the centers"
            ) from None
        self.center = center.expand(batch_shape + center.shape[-1:])
        self.lam = lam.expand(batch_shape)
        super().__init__(batch_shape, center.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "Mallows":
        """The same distribution with another batch shape, sharing memory."""
        new = self._get_checked_instance(Mallows, _instance)
        return self._expanded(new, torch.Size(batch_shape), "center", per_batch=("lam",))

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of the rankings ``value`` (..., n); differentiable in ``lam``.

        Returns:
            ``(...)`` in the dtype of ``lam``, at least float32.
        """
        logs = -self.lam.to(torch.float64) * self.distance(value) - self.log_partition
        return logs.to(self._result_dtype())

    def distance(self, value: Tensor) -> Tensor:
        """Number of pairs that the rankings ``value`` (..., n) order otherwise than the center; ``(...)`` float64."""
        ranks = self.ranks_of(value, COMPLETE, UNTIED)
        shape = torch.broadcast_shapes(ranks.shape[:-1], self.batch_shape)
        own, n = len(shape) - len(self.batch_shape), self.event_shape[0]
        samples, batch = shape[:own].numel(), shape[own:].numel()
        by_center = ranks.to(torch.float64).expand(*shape, n).reshape(samples, batch, n).transpose(0, 1)
        distance = kendall_distance(
            by_center, self.center.expand(*shape[own:], n).reshape(batch, 1, n)
        )  # [batch, samples, 1]
        return without_gradient(distance.squeeze(-1).mT.reshape(shape), value, what="distances are")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Exact samples by repeated insertion: ``sample_shape + batch_shape + (n,)`` scores 1 to n.

        The items enter in the order of the center, the j-th of them above v of those before it with probability
        proportional to ``exp(-lam v)`` (Doignon, Pekeč and Regenwetter, Psychometrika 69(1), 2004).
        """
        with torch.no_grad():
            shape, n = self._extended_shape(torch.Size(sample_shape)), self.event_shape[0]
            lam = self.lam.to(torch.float64).expand(shape[:-1])
            place = torch.zeros(*shape[:-1], 0, dtype=torch.int64, device=lam.device)  # by the order of the center
            for j in range(n):  # nothing in place, for vmap
                mine = (j - _truncated_geometric(lam, j + 1))[..., None]
                place = torch.cat([place + (place >= mine), mine], -1)
            order = self.center.argsort(dim=-1, descending=True).expand(shape)
            scores = torch.zeros(shape, dtype=self._result_dtype(), device=lam.device)
            return scores.scatter(-1, order, (n - place).to(scores.dtype))

    @property
    def support(self) -> constraints.Constraint:
        """Rankings of all items without ties."""
        return ranking

    @property
    def mode(self) -> Tensor:
        """The most probable ranking: the center, reversed for negative ``lam``; ``(..., n)`` scores 1 to n."""
        scores = total_scores(self.center, self._result_dtype())
        return torch.where(self.lam[..., None] >= 0, scores, self.event_shape[0] + 1 - scores)

    @property
    def mean(self) -> Tensor:
        """Expected scores of a sample, ``(..., n)`` from 1 to n: the expected votes of Borda's count.

        At ``lam`` 0 all are (n + 1)/2; they move toward the mode as ``lam`` grows. Differentiable in ``lam``.
        """
        places = total_scores(self.center, torch.float64)
        mean = mean_scores(self.lam.to(torch.float64), places).to(self._result_dtype())
        return without_gradient(mean, self.center, what="expected scores are")

    @property
    def log_partition(self) -> Tensor:
        """Logarithm of the normalizer, ``(...)`` float64."""
        return log_partition(self.lam.to(torch.float64), self.event_shape[0])

    @property
    def mean_distance(self) -> Tensor:
        """Expected :meth:`distance`, ``(...)`` in the dtype of ``lam``, at least float32: n(n-1)/4 at 0."""
        return mean_distance(self.lam.to(torch.float64), self.event_shape[0]).to(self._result_dtype())

    @property
    def variance_distance(self) -> Tensor:
        """Variance of :meth:`distance`, ``(...)``."""
        return variance_distance(self.lam.to(torch.float64), self.event_shape[0]).to(self._result_dtype())

    def entropy(self) -> Tensor:
        """Entropy in nats, ``(...)``: log n! at ``lam`` 0."""
        lam, n = self.lam.to(torch.float64), self.event_shape[0]
        lam = torch.where(lam < 0, -lam, lam)  # with the reversed center; abs() has derivative 0 at 0
        return (log_partition(lam, n) + lam * mean_distance(lam, n)).to(self._result_dtype())

    def _result_dtype(self) -> torch.dtype:
        return torch.promote_types(self.lam.dtype, torch.float32)


def _finite(lam: Tensor) -> Tensor:
    if not bool(lam.isfinite().all()):
        raise ValueError(f"lam has {lam[~lam.isfinite()][0].item()}; concentrations must be finite")
    return lam


def _untied(centers: Tensor) -> Tensor:
    refuse_ties(centers, "center", UNTIED)
    return centers


def _truncated_geometric(lam: Tensor, count: int) -> Tensor:
    """Samples of v in 0, ..., count - 1 with probability proportional to exp(-lam v), by inversion."""
    uniform = torch.rand(lam.shape, dtype=torch.float64, device=lam.device)
    a = lam.abs()
    # P(V <= v) = (1 - e^(-a (v+1))) / (1 - e^(-a count))
    v = torch.where(a > 0, -(uniform * (-a * count).expm1()).log1p() / a.clamp(min=1e-300), uniform * count)
    v = v.floor().to(torch.int64).clamp(0, count - 1)
    return torch.where(lam < 0, count - 1 - v, v)
