"""The window of a module, kept as its logarithm, so that it stays positive whatever an optimizer does."""

import math

import torch
from torch import Tensor, nn

from torchrank.linalg.precision import one_number
from torchrank.rankings.validate import as_float, check_positive


class LogWindow(nn.Module):
    """A module with ``log_window``, a float64 parameter or buffer of shape ``(1,)``."""

    log_window: Tensor

    def _window(self) -> Tensor:
        """The present window ``()``, with its gradient."""
        return self.log_window.reshape(()).exp()

    @property
    def window(self) -> float:
        """The present window."""
        return float(self.log_window.detach().exp())

    @window.setter
    def window(self, value: float) -> None:
        with torch.no_grad():
            self.log_window.copy_(log_window(value))


def log_window(window: float) -> Tensor:
    """The logarithm of a window, ``(1,)``; ``ValueError`` unless it is positive and finite."""
    check_positive(window, "window")
    return one_number(math.log(as_float(window)))
