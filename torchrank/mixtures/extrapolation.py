"""Memberships of EM extrapolated from the last three, and how much there is left to gain."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PLAIN = 20  # first iterations, in which EM is far from its limit and its steps are not yet proportional
_LEAST_SHARE = 0.1  # of the last membership that is left of it, so that no component dies of an extrapolation
_LONGEST = 1000.0  # extrapolation, in EM steps


class Extrapolation:
    """Memberships of the last E-steps of some starts that go on together.

    Near its limit EM takes steps of which each is the same matrix times the one before. Iterations come in threes: two
    plain EM steps, and one on trial from memberships that the squared extrapolation of Varadhan and Roland (Scand. J.
    Statist. 35(2), 2008) finds in the last three, with its third step length. As memberships they give an M-step with
    all that is asked of one, discrete centers and empty components included.
    """

    def __init__(
        self, starts: int, device: torch.device, lead: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
    ) -> None:
        self._lead = extrapolated if lead is None else lead
        self.shares: list[Tensor] = []  # (s, c, m) each, the last of all at the end
        self.on_trial = False
        self._plain = 0  # steps since the beginning or the last trial
        self._gain = torch.full((starts,), math.inf, dtype=torch.float64, device=device)
        self._slowest = torch.zeros_like(self._gain)  # largest share below 1 of a gain in the one before

    def left_to_gain(self, gain: Tensor, shares: Tensor) -> Tensor:
        """Take note of an E-step, and estimate how far the limit of the objective is; infinite where nothing tells.

        The limit is that of gains each of which is the same share of the one before (Aitken). Of the shares seen the
        largest counts, since the steps after an extrapolation are short at first in all but the slowest directions. No
        less than the last gain is left; nothing is where a plain step gains nothing.
        """
        self.shares = [*self.shares[-2:], shares] if not self.on_trial else [shares]
        self._plain = 0 if self.on_trial else self._plain + 1
        ratio, self._gain = gain / self._gain, gain
        if self.on_trial:
            return torch.full_like(gain, math.inf)
        if self._plain < 2:
            return torch.where(gain > 0, math.inf, 0)
        self._slowest = torch.where(ratio < 1, torch.maximum(ratio, self._slowest), self._slowest)
        left = torch.where(ratio < 1, gain * self._slowest / (1 - self._slowest), math.inf)
        return torch.where(gain > 0, torch.maximum(gain, left), 0)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self._gain.device

    def as_dict(self) -> dict[str, Any]:
        """All that it knows, for a checkpoint."""
        return {name: value for name, value in vars(self).items() if name != "_lead"}

    def set_back(self, known: dict[str, Any]) -> None:
        """Know what :meth:`as_dict` gave, on the device where this is."""
        device = self.device
        for name, value in known.items():
            parts = [part.to(device) for part in value] if isinstance(value, list) else value
            setattr(self, name, value.to(device) if isinstance(value, Tensor) else parts)

    def keep(self, going: Tensor) -> None:
        """Forget the other starts."""
        self.shares = [shares[going] for shares in self.shares]
        self._gain, self._slowest = self._gain[going], self._slowest[going]

    def proposal(self, n_iter: int) -> Tensor:
        """Memberships for the next M-step: the last ones, or after two plain steps extrapolated ones."""
        self.on_trial = n_iter >= _PLAIN and self._plain >= 2 and len(self.shares) == 3
        return self._lead(*self.shares) if self.on_trial else self.shares[-1]


def extrapolated(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """Where memberships ``(s, c, m)`` of three iterations lead; not negative, with the same sums over components."""
    far = torch.maximum(_far(first, second, third), _LEAST_SHARE * third)
    total = far.sum(1, keepdim=True)
    return far * (third.sum(1, keepdim=True) / torch.where(total > 0, total, 1))  # rows may have weight 0


def extrapolated_statistics(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """The same for the statistics ``(s, c, 1 + q)`` that memberships add up to, the weight of a component first.

    They are linear in the memberships, of whose floor they know the sum alone: as far as it goes is gone.
    """
    far = _far(first, second, third)
    low, now = far[..., 0], third[..., 0]
    room = (1 - _LEAST_SHARE) * now / (now - low).clamp(min=torch.finfo(now.dtype).tiny)
    way = torch.where(low < _LEAST_SHARE * now, room, 1).amin(-1).clamp(max=1)
    return third + way[:, None, None] * (far - third)


def _far(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """The squared extrapolation of three vectors ``(s, c, m)``."""
    step = second - first
    change = third - second - step
    length = _norm(step) / _norm(change).clamp(min=torch.finfo(step.dtype).tiny)
    length = length.clamp(1, _LONGEST)[:, None, None]
    return first + 2 * length * step + length.square() * change


def _norm(steps: Tensor) -> Tensor:
    return steps.square().sum((1, 2)).sqrt()
