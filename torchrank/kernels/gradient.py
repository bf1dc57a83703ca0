"""Hard counts have no gradient, and say so when one is asked for."""

from typing import Any

import torch
from torch import Tensor


class _PiecewiseConstant(torch.autograd.Function):
    """Hands the result through; going back through it to the scores is refused."""

    @staticmethod
    def forward(result: Tensor, *scores: Tensor) -> Tensor:
        return result.view_as(result)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps nothing: there is no way back."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError(
            "Kendall counts are piecewise constant in the scores, so their gradient is zero or undefined: detach the "
            "scores (X.detach()); lam and weights stay differentiable"
        )


def without_gradient(result: Tensor, *scores: Tensor | None) -> Tensor:
    """``result``, counted from ``scores``; backward raises ``RuntimeError`` where those require a gradient."""
    asking = [s for s in scores if s is not None and s.requires_grad]
    return _PiecewiseConstant.apply(result, *asking) if asking and torch.is_grad_enabled() else result
