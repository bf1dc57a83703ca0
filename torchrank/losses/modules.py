"""The Kendall loss as a module, and a window that shrinks while it is trained with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch import nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.kernels.windows import LogWindow, log_window
from torchrank.linalg.precision import KeepsPrecision
from torchrank.losses.kendall import kendall_loss
from torchrank.losses.rows import ARGUMENTS, REDUCTIONS
from torchrank.losses.weights import ARGUMENTS as OF_WEIGHTS
from torchrank.losses.weights import SCHEMES
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES
from torchrank.rankings.validate import Scores, as_float, check_choice, check_count, check_positive
from torchrank.typing import Array, LossScheme, Noise, Reduction, Values, Variant


@isolated
@shares_arguments(ARGUMENTS, OF_WEIGHTS)
class KendallLoss(LogWindow, KeepsPrecision):
    """Smoothed Kendall loss as a module, with a window that is fixed, learnable or annealed.

    :func:`torchrank.kendall_loss` says what it computes. The window is kept as ``log_window``, float64, and is part of
    ``state_dict``. Assign ``loss.window = 0.3`` to set it, or let a :class:`torchrank.WindowSchedule` do so.

    Args:
        window: scale of the jitter, greater than 0, in the unit of the predicted scores.
        learnable: whether ``log_window`` is a parameter. It goes where the loss is least, which for a model that fits
            its targets is toward 0; the scale of the model's scores can do the same.
        noise: "uniform" or "gaussian".
        variant: "a" or "b".
        scheme: {scheme}
        reduction: {reduction}

    Raises:
        ValueError: ``window`` not positive and finite, unknown words.

    Example:
        >>> loss = KendallLoss(window=0.5)
        >>> float(loss(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[3, 2, 1]])))
        0.0
    """

    def __init__(
        self,
        window: float = 1.0,
        *,
        learnable: bool = False,
        noise: Noise = "uniform",
        variant: Variant = "b",
        scheme: LossScheme = "sum",
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_choice(noise, "noise", tuple(NOISES))
        check_choice(variant, "variant", VARIANTS)
        check_choice(scheme, "scheme", SCHEMES)
        check_choice(reduction, "reduction", REDUCTIONS)
        if not isinstance(learnable, bool):
            raise TypeError(f"learnable={learnable!r} is {type(learnable).__name__}; expected bool")
        self.noise: Noise = noise
        self.variant: Variant = variant
        self.scheme: LossScheme = scheme
        self.reduction: Reduction = reduction
        if learnable:
            self.log_window = nn.Parameter(log_window(window))
        else:
            self.register_buffer("log_window", log_window(window))

    @property
    def learnable(self) -> bool:
        """Whether the window is a parameter."""
        return isinstance(self.log_window, nn.Parameter)

    def forward(
        self,
        prediction: Scores[Array],
        target: Scores,
        *,
        weights: Any = None,
        pairs: Values | None = None,
        mask: Any = None,
    ) -> Array:
        """The loss.

        Args:
            prediction: {prediction}
            target: {target}
            weights: {weights}
            pairs: {pairs}
            mask: {mask}

        Returns:
            As :func:`torchrank.kendall_loss`.
        """
        return kendall_loss(
            prediction,
            target,
            window=self._window(),
            noise=self.noise,
            variant=self.variant,
            weights=weights,
            pairs=pairs,
            scheme=self.scheme,
            mask=mask,
            reduction=self.reduction,
        )

    if TYPE_CHECKING:

        @override
        def __call__(
            self,
            prediction: Scores[Array],
            target: Scores,
            *,
            weights: Any = None,
            pairs: Values | None = None,
            mask: Any = None,
        ) -> Array: ...

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        words = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("noise", "variant", "scheme", "reduction"))
        return f"window={self.window:g}, learnable={self.learnable}, {words}"


class WindowSchedule:
    """Moves the window of a loss by equal factors to its end, a step at a time.

    A wide window has gradients for items far apart, a narrow one judges as the hard ranking does: start wide.

    Args:
        loss: whose ``window`` is set, a :class:`torchrank.KendallLoss` that is not learnable.
        end: the window after ``n_steps`` steps, at which it stays.
        n_steps: steps from the present window to the end.

    Raises:
        ValueError: ``end`` not positive and finite, ``n_steps`` below 1, a loss whose window is learnable.
        TypeError: no number for ``end``, no integer for ``n_steps``, another module than
            :class:`torchrank.KendallLoss`.

    Example:
        >>> loss = KendallLoss(window=1.0)
        >>> schedule = WindowSchedule(loss, end=0.01, n_steps=2)
        >>> schedule.step()
        >>> round(loss.window, 6)
        0.1
    """

    def __init__(self, loss: KendallLoss, end: float, n_steps: int) -> None:
        check_positive(end, "end")
        check_count(n_steps, "n_steps", least=1, unit="step")
        if not isinstance(loss, KendallLoss):
            raise TypeError(f"loss is {type(loss).__name__}; expected a KendallLoss, whose window is moved")
        if loss.learnable:
            raise ValueError("the window of loss is learnable, and an optimizer moves it; pass KendallLoss(window=...)")
        self.loss = loss
        self.start, self.end, self.n_steps, self.done = loss.window, as_float(end), int(n_steps), 0

    def step(self) -> None:
        """Move the window once, after an epoch or an update."""
        self.done += 1
        share = min(1.0, self.done / self.n_steps)
        between = (1 - share) * math.log(self.start) + share * math.log(self.end)
        self.loss.window = self.end if share == 1 else math.exp(between)

    def state_dict(self) -> dict[str, float]:
        """What a training that goes on needs, beside the ``state_dict`` of the loss."""
        return {"start": self.start, "end": self.end, "n_steps": self.n_steps, "done": self.done}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from :meth:`state_dict`."""
        self.start, self.end = float(state["start"]), float(state["end"])
        self.n_steps, self.done = int(state["n_steps"]), int(state["done"])
