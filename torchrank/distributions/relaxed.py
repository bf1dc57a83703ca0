"""Samples of the Plackett-Luce distribution through which gradients flow."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints

from torchrank.distributions.plackett_luce import WORTHLESS, PlackettLuce, with_gumbel_noise
from torchrank.distributions.support import RankingDistribution
from torchrank.kernels.smoothed import one_window
from torchrank.losses.spearman import soft_rank
from torchrank.losses.top_k import soft_top_k
from torchrank.ops.checks import positive_window
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES
from torchrank.rankings.orders import total_scores
from torchrank.rankings.validate import check_choice
from torchrank.typing import Noise


@isolated
class RelaxedPlackettLuce(RankingDistribution):
    r"""Plackett-Luce distribution whose samples are smooth in the logits: for training by expected reward.

    A sample of :class:`torchrank.PlackettLuce` is the order of logits with independent Gumbel noise (Yellott, J. Math.
    Psychol. 15(2), 1977). Here the noise is drawn likewise and the order is made smooth: a sample has the expected
    ranks (:func:`torchrank.soft_rank`) of the noisy logits under further jitters of scale ``window``. As the window
    shrinks, samples become those of the Plackett-Luce distribution, and their gradients rarer and larger.

    Gradients of a mean reward are biased by the smoothing and vary little. Those without bias take hard samples,
    ``(reward - baseline) * law.log_prob(sample)`` of :class:`torchrank.PlackettLuce`, and vary more.

    Args:
        window: scale of the jitter, greater than 0, in the unit of the logits, a number or a tensor of one element that
            may require a gradient.
        logits: ``(..., n)`` logarithms of the items' worths, larger = preferred; may require a gradient.
        noise: of the jitter, "uniform" or "gaussian", as for :func:`torchrank.soft_rank`.
        straight_through: whether samples are hard, with the gradients of the smooth ones.
        validate_args: whether to check arguments; torch's default for None.

    Raises:
        ValueError: a window that is not positive and finite, an unknown noise, logits as for
            :class:`torchrank.PlackettLuce`.
        TypeError: logits that are not a floating-point tensor.

    Example:
        >>> logits = torch.tensor([2.0, 0.0, 1.0], requires_grad=True)
        >>> _ = torch.manual_seed(0)
        >>> relevance = torch.tensor([3.0, 2.0, 1.0])
        >>> samples = RelaxedPlackettLuce(0.5, logits).rsample((1000,))
        >>> reward = (samples * relevance).sum(-1).mean()
        >>> reward.backward()
        >>> bool(logits.grad[0] > 0 > logits.grad[2])
        True
    """

    has_rsample = True

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What the parameters have to satisfy."""
        return {"logits": constraints.real_vector}

    def __init__(
        self,
        window: float | Tensor,
        logits: Tensor,
        *,
        noise: Noise = "uniform",
        straight_through: bool = False,
        validate_args: bool | None = None,
    ) -> None:
        check_choice(noise, "noise", tuple(NOISES))
        base = PlackettLuce(logits, validate_args=validate_args)
        self.window = positive_window(one_window(window, check=False).to(logits.device))
        self.logits, self.straight_through = base.logits, straight_through
        self.noise: Noise = noise
        super().__init__(base.batch_shape, base.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "RelaxedPlackettLuce":
        """The same distribution with another batch shape, sharing memory."""
        new = self._get_checked_instance(RelaxedPlackettLuce, _instance)
        return self._expanded(new, torch.Size(batch_shape), "logits", same=("window", "noise", "straight_through"))

    @property
    def support(self) -> constraints.Constraint:
        """Scores from 1 to n."""
        return constraints.independent(constraints.interval(1, self.event_shape[0]), 1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Smooth samples, ``sample_shape + batch_shape + (n,)`` scores from 1 to n that add up to n(n+1)/2.

        With ``straight_through`` they are whole, those that :meth:`torchrank.PlackettLuce.sample` draws from the same
        state of torch's generator. Differentiable in logits and window.
        """
        noisy = self._noisy(sample_shape)
        soft = soft_rank(_for_smoothing(noisy), self.window, noise=self.noise)
        if self.straight_through:
            soft = total_scores(noisy.detach()) + (soft - soft.detach())
        return soft.to(self._result_dtype())

    def rsample_top_k(self, k: int, sample_shape: Any = ()) -> Tensor:
        """Smooth samples of the set of the k items that are chosen first: shares of the items from 0 to 1, in all k.

        They are the :func:`torchrank.soft_top_k` of the noisy logits. With ``straight_through`` they are 0 or 1.

        Args:
            k: how many items, at least 0.
            sample_shape: shape of the samples.

        Returns:
            ``sample_shape + batch_shape + (n,)``, differentiable in logits and window.
        """
        noisy = self._noisy(sample_shape)
        soft = soft_top_k(_for_smoothing(noisy), k, self.window, noise=self.noise)
        if self.straight_through:
            first = total_scores(noisy.detach()) > self.event_shape[0] - k
            soft = first.to(soft.dtype) + (soft - soft.detach())
        return soft.to(self._result_dtype())

    def log_prob(self, value: Tensor) -> Tensor:
        """Not known in a short form.

        Raises:
            NotImplementedError: always; rankings have a probability under :class:`torchrank.PlackettLuce`.
        """
        raise NotImplementedError(
            "densities of relaxed samples are not known; PlackettLuce(logits).log_prob is that of rankings"
        )

    def _noisy(self, sample_shape: Any) -> Tensor:
        return with_gumbel_noise(self.logits, self._extended_shape(torch.Size(sample_shape)))

    def _result_dtype(self) -> torch.dtype:
        return torch.promote_types(self.logits.dtype, torch.float32)


def _for_smoothing(noisy: Tensor) -> Tensor:
    """Noisy logits with -inf for items of worth 0, which so are tied, whatever the window."""
    return noisy.masked_fill(noisy <= -WORTHLESS, -torch.inf)
