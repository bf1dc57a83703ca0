"""The penalized log-likelihood of Plackett-Luce logits, with its derivatives."""

import torch
from torch import Tensor

from torchrank.distributions.choice_lists import ChoiceLists, Engine, TorchEngine
from torchrank.distributions.priors import LogPrior
from torchrank.ops.engines import why_missing


def engine(lists: ChoiceLists) -> Engine:
    """The fastest engine on the lists' device."""
    if lists.items.device.type == "cpu" and not why_missing("cpu"):
        from torchrank.distributions.compiled_lists import CompiledEngine  # numba takes half a second to import

        return CompiledEngine(lists)
    return TorchEngine(lists)


class PlackettLuceObjective:
    """Log-likelihood of lists of choices, plus a prior's logarithm; see :class:`torchrank.distributions.ascent`."""

    def __init__(self, lists: ChoiceLists, prior: LogPrior | None) -> None:
        self.engine: Engine = engine(lists)
        self.wins, self.prior = lists.wins, prior
        self.level = None if prior is not None and prior.fixes_level else torch.ones_like(self.wins)

    def at(self, parameters: Tensor) -> "PlackettLucePoint":
        """Evaluate it at logits."""
        return PlackettLucePoint(self, parameters)


class PlackettLucePoint:
    """The objective at some logits."""

    def __init__(self, objective: PlackettLuceObjective, logits: Tensor) -> None:
        self.engine, self.prior, self.parameters = objective.engine, objective.prior, logits
        self.worths = (logits - logits.max()).exp()
        self.sums = self.engine.sums(self.worths)
        self.log_likelihood = float(self.sums.log_likelihood)
        self.gradient = objective.wins - self.worths * self.sums.rates
        self.value = self.log_likelihood
        if self.prior is not None:
            self.value += float(self.prior.value(logits))
            self.gradient = self.gradient + self.prior.gradient(logits)

    def product(self, x: Tensor) -> Tensor:
        """The information, minus the second derivatives, times ``x``."""
        found = self.engine.product(self.worths, x)
        return found if self.prior is None else found + self.prior.product(self.parameters, x[:, None])[:, 0]

    def diagonal(self) -> Tensor:
        """Of the information."""
        own = self.worths * (self.sums.rates - self.worths * self.sums.squares)
        return own if self.prior is None else own + self.prior.diagonal(self.parameters)

    def information(self) -> Tensor:
        """Minus the second derivatives, ``(q, q)``."""
        v, sums = self.worths, self.sums
        information = self.engine.offered_together(v).mul_(v).mul_(v[:, None]).neg_()
        information.diagonal().copy_(v * (sums.rates - v * sums.squares))
        if self.prior is not None:
            information += self.prior.product(self.parameters, torch.eye(len(v), dtype=v.dtype, device=v.device))
        return information
