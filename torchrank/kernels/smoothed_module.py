"""The smoothed Kendall kernel as a module with a learnable window."""

import math

import torch
from torch import nn

from torchrank.kernels.modules import RankKernel
from torchrank.kernels.smoothed import smoothed_kendall_gram
from torchrank.ops.noises import NOISES
from torchrank.ops.smoothed import METHODS
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import Scores, check_choice, check_positive


@in_plain_surroundings
class SmoothedKendallKernel(RankKernel):
    """Smoothed Kendall kernel with a learnable window; see :func:`torchrank.smoothed_kendall_gram`.

    The parameter is ``log_window``, so that ``window`` stays positive whatever an optimiser does. It is kept in
    float64; a scalar does not change the dtype of the result.

    Args:
        window: scale of the jitter to start from, greater than 0, in the unit of the scores.
        noise: "uniform" or "gaussian".
        method: "exact", "sweep", "auto" or "reference".

    Raises:
        ValueError: ``window`` not positive and finite, unknown words.
    """

    _settings = ("window", "noise", "method")

    def __init__(self, *, window: float = 1.0, noise: str = "uniform", method: str = "exact") -> None:
        super().__init__()
        check_choice(noise, "noise", tuple(NOISES))
        check_choice(method, "method", METHODS)
        self.noise, self.method = noise, method
        self.log_window = nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.window = window

    @property
    def window(self) -> float:
        """The present window."""
        return float(self.log_window.detach().exp())

    @window.setter
    def window(self, value: float) -> None:
        check_positive(value, "window")
        with torch.no_grad():
            self.log_window.fill_(math.log(value))

    def gram(self, X: Scores, Y: Scores | None) -> Matrix:
        """See :func:`torchrank.smoothed_kendall_gram`; differentiable in ``log_window`` and in the scores."""
        return smoothed_kendall_gram(X, Y, window=self.log_window.exp(), noise=self.noise, method=self.method)
