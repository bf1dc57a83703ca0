"""What the distributions of this package have in common: their values are rankings, given as scores."""

import functools
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.ties import sortable
from torchrank.rankings.validate import place_of, refuse_ties


class _Ranking(constraints.Constraint):
    """Scores of a ranking of all items, at most ``tied`` of them equal; ``partial`` allows unranked items (NaN)."""

    is_discrete = True
    event_dim = 1

    def __init__(self, tied: int = 1, *, partial: bool = False) -> None:
        self.tied, self.partial = tied, partial
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """Whether each row is such a ranking, ``(...)`` bool."""
        in_order = sortable(as_tensor(value, "value", "scores that are real numbers")[0]).sort(dim=-1).values
        rising = in_order[..., self.tied :] > in_order[..., : -self.tied]
        if self.partial and value.is_floating_point():
            rising = rising | in_order[..., self.tied :].isnan()
        complete = self.partial or not value.is_floating_point()
        return rising.all(dim=-1) & (complete or ~value.isnan().any(dim=-1))


tied_ranking = _Ranking
ranking = _Ranking()
partial_ranking = _Ranking(partial=True)


class RankingDistribution(Distribution):
    """A distribution of rankings of n items.

    Rankings are scores, as everywhere in this package: larger = preferred. Samples have the scores 1 to n, n for the
    most preferred item. With ``validate_args`` values are checked as those of ``torch.distributions`` are, and messages
    name row and item.
    """

    def __init__(self, batch_shape: torch.Size, event_shape: torch.Size, validate_args: bool | None = None) -> None:
        """As torch's, whose own checks of parameters ``torch.func.vmap`` cannot go through."""
        checked = self._validate_args if validate_args is None else validate_args
        if checked:
            for name, constraint in self.arg_constraints.items():
                on_values(functools.partial(self._satisfying, name, constraint), getattr(self, name))
        super().__init__(batch_shape, event_shape, validate_args=False)
        self._validate_args = checked

    def _satisfying(self, name: str, constraint: constraints.Constraint, values: Tensor) -> Tensor:
        if values.numel() and not bool(constraint.check(values).all()):  # torch's checks fail without values
            raise ValueError(
                f"Expected parameter {name} ({type(values).__name__} of shape {tuple(values.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{values}"
            )
        return values

    @property
    def mean(self) -> Tensor:
        """Expected scores, ``(..., n)``, where they are known."""
        raise self._without("mean", "take that of samples")

    @property
    def mode(self) -> Tensor:
        """The most probable ranking, ``(..., n)``, where it is known."""
        raise self._without("mode", "rank by the parameters, or take PlackettLuce(logits).mode")

    @property
    def variance(self) -> Tensor:
        """Not known in a short form; raises ``NotImplementedError``."""
        raise self._without("variance", "take that of samples")

    def entropy(self) -> Tensor:
        """Entropy in nats, ``(...)``, where it is known."""
        raise self._without("entropy", "take the mean of -log_prob over samples of Mallows or PlackettLuce")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples through which gradients flow, of the laws that have them."""
        raise self._without(
            "rsample",
            "samples are rankings, which no gradient flows through; take RelaxedPlackettLuce(window, logits), or "
            "(reward - baseline) * log_prob(sample)",
        )

    def cdf(self, value: Tensor) -> Tensor:
        """Not there, since rankings are in no order; raises ``NotImplementedError``."""
        raise self._without("cdf", "rankings are in no order; take log_prob")

    def icdf(self, value: Tensor) -> Tensor:
        """Not there, since rankings are in no order; raises ``NotImplementedError``."""
        raise self._without("icdf", "rankings are in no order; take sample")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Not there; raises ``NotImplementedError``."""
        raise self._without("enumerate_support", "itertools.permutations(range(n)) goes through rankings of few items")

    def _without(self, what: str, instead: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}: {instead}")

    def ranks_of(self, value: Tensor, remedy: str, ties_remedy: str, tied: int = 1) -> Tensor:
        """Dense ranks ``(..., n)`` of ``value``, checked: at most ``tied`` items are equal.

        ``remedy`` is that for unranked items, or "allow".
        """
        value = value.as_scores() if isinstance(value, Rankings) else value
        if not isinstance(value, Tensor):
            raise TypeError(f"value is {type(value).__name__}; expected a tensor of scores, torch.as_tensor(value)")
        value, _ = as_tensor(value, "value", "scores that are real numbers")
        n = self.event_shape[0]
        if value.ndim == 0 or value.shape[-1] != n:
            raise ValueError(f"value has shape {tuple(value.shape)}; expected (..., {n}), one score for each item")
        try:
            torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        except RuntimeError:
            raise ValueError(
                f"value has shape {tuple(value.shape)}, which does not broadcast with the batch shape "
                f"{tuple(self.batch_shape)}"
            ) from None
        rows = value if value.ndim > 1 else value[None]  # messages name rows
        ranks, _ = dense_ranks(rows, remedy if self._validate_args else "allow", "value")
        if self._validate_args:
            on_values(lambda ranks: _with_ties_of(ranks, tied, ties_remedy), ranks)
        return ranks.reshape(value.shape)

    def _expanded(
        self,
        new: Any,
        batch_shape: torch.Size,
        *per_item: str,
        per_batch: tuple[str, ...] = (),
        same: tuple[str, ...] = (),
    ) -> Any:
        """``new`` with the named tensors expanded to another batch shape, and what stays the same."""
        for name in per_item:
            setattr(new, name, getattr(self, name).expand(batch_shape + self.event_shape))
        for name in per_batch:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        for name in same:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new


def _with_ties_of(ranks: Tensor, tied: int, remedy: str) -> Tensor:
    if tied == 1:
        refuse_ties(ranks, "value", remedy)
        return ranks
    in_order = ranks.sort(dim=-1).values
    wrong = (in_order[..., tied:] == in_order[..., :-tied]) & (in_order[..., tied:] >= 0)
    if bool(wrong.any()):
        row = [int(i) for i in wrong.nonzero()[0][:-1]]
        raise ValueError(
            f"value ties more than {tied} items in row {place_of(row)}, for which log_ties has no parameter; break the "
            "tie, or pass more of them"
        )
    return ranks
