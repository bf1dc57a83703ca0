"""The Plackett-Luce distribution of rankings."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints

from torchrank.distributions.choices import MISSING, REMEDY, UNTIED, choices_of, log_prob
from torchrank.distributions.support import RankingDistribution, partial_ranking, ranking
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Meaning
from torchrank.rankings.orders import total_scores
from torchrank.rankings.validate import check_choice


@isolated
class PlackettLuce(RankingDistribution):
    r"""Plackett-Luce distribution: the best item is chosen among all, the next among the rest, and so on.

    .. math:: P(\sigma) = \prod_i \frac{e^{\theta_{\sigma_i}}}{\sum_{j \ge i} e^{\theta_{\sigma_j}}}

    with :math:`\sigma_1, \sigma_2, \dots` the items from the most preferred one on (Plackett, Appl. Statist. 24(2),
    1975). A constant added to all logits changes nothing.

    Args:
        logits: ``(..., n)`` logarithms :math:`\theta` of the items' worths, larger = preferred; may require a gradient.
        missing: what unranked items (NaN) of values mean.

            * "raise": an error.
            * "interleaving": anything. The items were ranked among themselves, and unranked ones were not on offer;
              which is the sum of the probabilities of all total rankings that agree with the value. Items of padding
              leak nothing: whatever their logits, probability and gradients stay the same, and their own are 0.
            * "topk": less preferred than all ranked items: the first choices out of all.
        validate_args: whether to check arguments and values; torch's default for None.

    Raises:
        ValueError: logits that are NaN or infinitely large, no items, an unknown word.
        TypeError: logits that are not a floating-point tensor.

    Example:
        >>> worths = torch.tensor([3.0, 1.0, 5.0])
        >>> PlackettLuce(worths.log()).log_prob(torch.tensor([2.0, 1.0, 3.0])).exp()
        tensor(0.4167)
    """

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What the parameters have to satisfy."""
        return {"logits": constraints.real_vector}

    def __init__(self, logits: Tensor, *, missing: str = "raise", validate_args: bool | None = None) -> None:
        check_choice(missing, "missing", MISSING)
        if not isinstance(logits, Tensor) or logits.ndim == 0 or not logits.is_floating_point():
            kind = f"a tensor {tuple(logits.shape)} of {logits.dtype}" if isinstance(logits, Tensor) else repr(logits)
            raise TypeError(f"logits is {kind}; expected a floating-point tensor (..., n)")
        if logits.shape[-1] == 0:
            raise ValueError(f"logits has shape {tuple(logits.shape)}; expected at least one item")
        checked = self._validate_args if validate_args is None else validate_args
        if checked and bool((logits == torch.inf).any()):
            raise ValueError("logits has inf; worths must be finite (-inf is the worth 0)")
        self.logits, self.missing = logits, missing
        super().__init__(logits.shape[:-1], logits.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PlackettLuce":
        """The same distribution with another batch shape, sharing memory."""
        new = self._get_checked_instance(PlackettLuce, _instance)
        return self._expanded(new, torch.Size(batch_shape), "logits", same=("missing",))

    @property
    def support(self) -> constraints.Constraint:
        """Rankings without ties, of all items or, unless ``missing="raise"``, of some."""
        return ranking if self.missing == "raise" else partial_ranking

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of the rankings ``value`` (..., n): scores, larger = preferred; differentiable in the logits.

        Rankings of no item, and of one item out of those on offer, have probability 1.
        """
        ranks = self.ranks_of(value, REMEDY if self.missing == "raise" else "allow", UNTIED)
        logs = log_prob(choices_of(ranks, Meaning(self.missing)), self.logits)
        return without_gradient(logs, value, what="probabilities of rankings are")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Exact samples, the order of logits to which Gumbel noise was added: ``(..., n)`` scores 1 to n."""
        with torch.no_grad():
            shape = self._extended_shape(torch.Size(sample_shape))
            logits = self.logits.to(torch.float64)
            # Large logits would swallow the noise; differences of those of narrow dtypes are exact in float64.
            logits = logits - logits.amax(-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
            noise = torch.empty(shape, dtype=torch.float64, device=logits.device).exponential_().log_().neg_()
            return total_scores(logits + noise, self._score_dtype())

    @property
    def mode(self) -> Tensor:
        """The most probable ranking, by falling logits and for equal ones by index: ``(..., n)`` scores 1 to n."""
        return total_scores(self.logits, self._score_dtype())

    @property
    def worths(self) -> Tensor:
        """The probabilities of being chosen first, ``(..., n)``, which add up to 1."""
        return self.logits.softmax(dim=-1)

    def _score_dtype(self) -> torch.dtype:
        return torch.promote_types(self.logits.dtype, torch.float32)
