"""The Plackett-Luce distribution of rankings."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints

from torchrank.distributions.choices import MISSING, REMEDY, TIES_OR, choices_of, log_prob
from torchrank.distributions.support import RankingDistribution, partial_ranking, ranking, tied_ranking
from torchrank.distributions.ties import log_prob as tied_log_prob
from torchrank.distributions.ties import sample as tied_sample
from torchrank.distributions.ties import tied_choices
from torchrank.rankings.derivatives import on_values, without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Meaning
from torchrank.rankings.orders import best_first, total_scores
from torchrank.rankings.unmapped import refuse_mapped
from torchrank.rankings.validate import check_choice
from torchrank.typing import MissingWord

WORTHLESS = 2.0**1021
_DRAWN = "with ties it looks at the sets that it has drawn"
_BATCHES = "sample from one law of a batch of logits, or in a loop"
_LONGEST = 64.0  # no exponential number of float64 is larger


@isolated
class PlackettLuce(RankingDistribution):
    r"""Plackett-Luce distribution: the best item is chosen among all, the next among the rest, and so on.

    .. math:: P(\sigma) = \prod_i \frac{e^{\theta_{\sigma_i}}}{\sum_{j \ge i} e^{\theta_{\sigma_j}}}

    with :math:`\sigma_1, \sigma_2, \ldots` the items from the most preferred one on (Plackett, Appl. Statist. 24(2),
    1975). A constant added to all logits changes nothing.

    With ``log_ties`` sets of items are chosen together: at each choice among the items A that are left

    .. math:: P(S \mid A) = \frac{f(S)}{\sum_{T \subseteq A} f(T)}, \qquad
              f(S) = \delta_{|S|} \Bigl(\prod_{i \in S} e^{\theta_i}\Bigr)^{1 / |S|}, \qquad \delta_1 = 1

    (Davidson, J. Am. Stat. Assoc. 65, 1970, for two items; Turner, van Etten, Firth and Kosmidis, Comput. Stat. 35,
    2020). Of two items of equal worth a tie has the odds :math:`\delta_2 / 2`.

    Args:
        logits: ``(..., n)`` logarithms :math:`\theta` of the items' worths, larger = preferred; may require a gradient.
            -inf is the worth 0: such items come after all others, in any order with the same probability, and their
            gradient is 0.
        missing: what unranked items (NaN) of values mean.

            * "raise": an error.
            * "interleaving": anything. The items were ranked among themselves, and unranked ones were not on offer;
              which is the sum of the probabilities of all total rankings that agree with the value. Items of padding
              leak nothing: whatever their logits, probability and gradients stay the same, and their own are 0. With
              ties this is the law of the ranked items alone.
            * "topk": less preferred than all ranked items: the first choices out of all.
        log_ties: ``(t,)`` logarithms of :math:`\delta_2, \delta_3, \ldots`, the parameters of ties of 2, 3, ... items,
            -inf for sizes that do not occur; may require a gradient. None for no ties.
        validate_args: whether to check arguments and values; torch's default for None.

    Raises:
        ValueError: logits that are NaN or infinitely large, no items, an unknown word, tie parameters that are NaN or
            infinitely large or more than ties of n items need.
        TypeError: logits or tie parameters that are not a floating-point tensor.

    Example:
        >>> worths = torch.tensor([3.0, 1.0, 5.0])
        >>> PlackettLuce(worths.log()).log_prob(torch.tensor([2.0, 1.0, 3.0])).exp()
        tensor(0.4167)
    """

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What the parameters have to satisfy."""
        return {"logits": constraints.real_vector}

    def __init__(
        self,
        logits: Tensor,
        *,
        missing: MissingWord = "raise",
        log_ties: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_choice(missing, "missing", MISSING)
        if not isinstance(logits, Tensor) or logits.ndim == 0 or not logits.is_floating_point():
            kind = f"a tensor {tuple(logits.shape)} of {logits.dtype}" if isinstance(logits, Tensor) else repr(logits)
            raise TypeError(f"logits is {kind}; expected a floating-point tensor (..., n)")
        if logits.shape[-1] == 0:
            raise ValueError(f"logits has shape {tuple(logits.shape)}; expected at least one item")
        checked = self._validate_args if validate_args is None else validate_args
        if checked:
            on_values(_without_infinity, logits)
        if log_ties is not None:
            _check_log_ties(log_ties, logits.shape[-1])
        self.logits, self.log_ties = logits, log_ties
        self.missing: MissingWord = missing
        super().__init__(logits.shape[:-1], logits.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PlackettLuce":
        """The same distribution with another batch shape, sharing memory."""
        new = self._get_checked_instance(PlackettLuce, _instance)
        return self._expanded(new, torch.Size(batch_shape), "logits", same=("missing", "log_ties"))

    @property
    def support(self) -> constraints.Constraint:
        """Rankings of all items or, unless ``missing="raise"``, of some; with ties where they have parameters."""
        if self.log_ties is not None:
            return tied_ranking(1 + len(self.log_ties), partial=self.missing != "raise")
        return ranking if self.missing == "raise" else partial_ranking

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of the rankings ``value`` (..., n): scores, larger = preferred; differentiable in the logits.

        Rankings of no item, and of one item out of those on offer, have probability 1. In the dtype of the logits, at
        least float32; gradients come back in the dtype of the logits.
        """
        most = 1 if self.log_ties is None else 1 + len(self.log_ties)
        ranks = self.ranks_of(value, REMEDY if self.missing == "raise" else "allow", TIES_OR + "log_ties", most)
        if self.log_ties is None:
            logs = log_prob(choices_of(ranks, Meaning(self.missing)), self.logits)
        else:
            order = best_first(ranks)
            ranks = ranks.gather(-1, order)
            choices = tied_choices(order, ranks, ranks >= (-1 if self.missing == "topk" else 0))
            logs = tied_log_prob(choices, self.logits.double(), self._sizes, self.log_ties.double())
            logs = logs.to(self._result_dtype())
        return without_gradient(logs, value, what="probabilities of rankings are")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Exact samples: ``(..., n)`` scores 1 to n, or with ties n for the best items, n - 1 for the next, and so on.

        Without ties they are the order of logits to which Gumbel noise was added; with ties the sets are drawn one
        after the other, in time that grows with the square of n.
        """
        with torch.no_grad():
            shape = self._extended_shape(torch.Size(sample_shape))
            if self.log_ties is not None:
                refuse_mapped("PlackettLuce.sample", _DRAWN, self.logits, self.log_ties, instead=_BATCHES)
                logits = self.logits.to(torch.float64).expand(shape)
                return tied_sample(logits, self._sizes, self.log_ties.double()).to(self._result_dtype())
            return total_scores(with_gumbel_noise(self.logits, shape), self._result_dtype())

    @property
    def mode(self) -> Tensor:
        """The most probable ranking, by falling logits and for equal ones by index: ``(..., n)`` scores 1 to n.

        Raises:
            NotImplementedError: with ties, where no short way to it is known.
        """
        if self.log_ties is not None:
            raise NotImplementedError("the most probable ranking with ties is not known; sample, or rank by the logits")
        return total_scores(self.logits, self._result_dtype())

    @property
    def mean(self) -> Tensor:
        r"""Expected scores of a sample, ``(..., n)`` from 1 to n: the expected votes of Borda's count.

        .. math:: 1 + \sum_{j \ne i} \frac{e^{\theta_i}}{e^{\theta_i} + e^{\theta_j}}

        Differentiable in the logits. Takes O(n^2) time and memory: 3 GiB with the gradient for 10,000 items.

        Raises:
            NotImplementedError: with ties, where no short way to it is known.
        """
        if self.log_ties is not None:
            raise NotImplementedError("the expected scores with ties are not known; take the mean of samples")
        logits = self.logits.to(torch.float64)
        n = logits.shape[-1]
        over = logits[..., :, None] - logits[..., None, :]
        chances = torch.where(over.isnan(), 0, over).sigmoid()  # two items of worth 0 are ranked either way
        chances = chances * (1 - torch.eye(n, dtype=over.dtype, device=over.device))
        return (1 + chances.sum(-1)).to(self._result_dtype())

    @property
    def worths(self) -> Tensor:
        """The probabilities of being chosen first, ``(..., n)``, which add up to 1."""
        worthless = (self.logits == -torch.inf).all(-1, keepdim=True)
        return self.logits.masked_fill(worthless, 0).softmax(dim=-1)

    @property
    def _sizes(self) -> Tensor:
        """Sizes of ties that have a parameter."""
        assert self.log_ties is not None
        return torch.arange(2, 2 + len(self.log_ties), device=self.logits.device)

    def _result_dtype(self) -> torch.dtype:
        return torch.promote_types(self.logits.dtype, torch.float32)


def with_gumbel_noise(logits: Tensor, shape: torch.Size) -> Tensor:
    """Logits with independent Gumbel noise, float64, whose order is a sample of the distribution (Yellott, 1977).

    Those of worth 0 become numbers from -2 ``WORTHLESS`` to -``WORTHLESS``, in random order and below all others.
    """
    logits = logits.to(torch.float64)
    # Large logits would swallow the noise; differences of those of narrow dtypes are exact in float64.
    logits = logits - logits.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
    # Not by exponential_, which vmap cannot draw differently for each. Uniform numbers are multiples of 2^-53.
    waits = -(-torch.rand(shape, dtype=torch.float64, device=logits.device)).log1p().clamp(max=-(2.0**-54))
    worthless = logits == -torch.inf
    noisy = logits.masked_fill(worthless, 0).clamp(min=-WORTHLESS) - waits.log()
    return torch.where(worthless, -WORTHLESS * (1 + waits / _LONGEST), noisy)


def _check_log_ties(log_ties: Tensor, n: int) -> None:
    if not isinstance(log_ties, Tensor) or log_ties.ndim != 1 or not log_ties.is_floating_point():
        kind = f"a tensor {tuple(log_ties.shape)} of {log_ties.dtype}" if isinstance(log_ties, Tensor) else log_ties
        raise TypeError(f"log_ties is {kind!r}; expected a floating-point tensor (t,), one for ties of 2, 3, ... items")
    if len(log_ties) >= n > 1:
        raise ValueError(f"log_ties has {len(log_ties)} parameters, of ties of 2 items and more; there are {n} items")
    on_values(_no_ties_or_finite, log_ties)


def _no_ties_or_finite(log_ties: Tensor) -> Tensor:
    if not bool((log_ties < torch.inf).all()):
        raise ValueError(f"log_ties has {log_ties.tolist()}; expected finite numbers, or -inf for no such ties")
    return log_ties


def _without_infinity(logits: Tensor) -> Tensor:
    if bool((logits == torch.inf).any()):
        raise ValueError("logits has inf; worths must be finite (-inf is the worth 0)")
    return logits
