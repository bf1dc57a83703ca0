"""How often public functions make the host wait for the device: never where nothing has to be asked."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

import torchrank
from benchmarks.gpu.parts import Context, Verdict, part

Move = Callable[[Tensor], Tensor]


class Call(NamedTuple):
    """A public function of one or two sets of rankings, and the most waits that a call may cost."""

    name: str
    function: Callable[..., Any]
    most: int
    dtype: torch.dtype = torch.float32
    one_side: bool = False

    def prepared(self, move: Move, *, two: bool) -> Callable[[], Any]:
        """A call with everything it needs on the device."""
        X, Y = (move(torch.arange(m * 64).reshape(m, 64).to(self.dtype)) for m in (9, 5))
        window = move(torch.tensor(0.5))
        return lambda: self.function(X, Y if two and not self.one_side else None, window)


def _gram(**settings: Any) -> Callable[..., Any]:
    return lambda X, Y, window: torchrank.kendall_gram(X, Y, **settings)


def _of_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda X, Y, window: function(X)


def _with_gradient(X: Tensor, Y: Tensor | None, window: Tensor) -> None:
    """Forward and backward, a window that is learned too."""
    width = window.detach().requires_grad_()
    torchrank.smoothed_kendall_gram(X.detach().requires_grad_(), Y, window=width).sum().backward()


# Unranked items and ties are asked for together; integers have no NaN, signs need no ties. A window on the device is
# checked together with the scores, and then asked for by every pass.
CALLS = (
    Call("signs", _gram(method="signs"), 1),
    Call("inversions", _gram(method="inversions"), 1),
    Call("auto, float64", _gram(), 1, torch.float64),
    Call("inversions, integers", _gram(method="inversions"), 1, torch.int32),
    Call("signs, integers", _gram(method="signs"), 0, torch.int32),
    Call("pairwise", _gram(method="signs", missing="pairwise"), 0),
    Call("topk", _gram(method="signs", missing="topk"), 0),
    Call("kendall_distance", lambda X, Y, _: torchrank.kendall_distance(X, Y), 1),
    Call("pair_counts", lambda X, Y, _: torchrank.pair_counts(X, Y), 1),
    Call("mallows_gram", lambda X, Y, _: torchrank.mallows_gram(X, Y, lam=0.1), 2),  # one sends lam there
    Call("mallows_gram, lam there", lambda X, Y, window: torchrank.mallows_gram(X, Y, lam=window), 2),
    Call("smoothed", lambda X, Y, _: torchrank.smoothed_kendall_gram(X, Y, window=0.5), 1),
    Call("smoothed, window there", lambda X, Y, window: torchrank.smoothed_kendall_gram(X, Y, window=window), 2),
    Call("smoothed, gradient", _with_gradient, 3),
    Call("smoothed_features", lambda X, Y, window: torchrank.smoothed_features(X, window=window), 2, one_side=True),
    Call("kendall_features", _of_rows(torchrank.kendall_features), 1, one_side=True),
    Call("spearman_gram", lambda X, Y, _: torchrank.spearman_gram(X, Y), 2),
    Call("kendall_loss", lambda X, Y, _: torchrank.kendall_loss(X, X.flip(-1), window=0.5), 1, one_side=True),
    Call("borda", _of_rows(torchrank.borda), 1, one_side=True),
    Call("copeland", _of_rows(torchrank.copeland), 1, one_side=True),
    Call("center_gram", lambda X, Y, _: torchrank.center_gram(X @ X.mT), 1, one_side=True),
    Call("normalize_gram", lambda X, Y, _: torchrank.normalize_gram(X @ X.mT), 0, one_side=True),
)


@part("waits", seconds=15)
def waits(context: Context) -> Verdict:
    """Count synchronizations of public functions, with and without a second set of rankings."""
    too_many: list[str] = []
    for call in CALLS:
        for two in (False,) if call.one_side else (False, True):
            count = _synchronizations(call.prepared(lambda tensor: tensor.to(context.device), two=two))
            context.record(call=call.name, two_sets=two, dtype=str(call.dtype), waits=count, most=call.most)
            too_many += [f"{count} for {call.name} of {1 + two} sets"] if count > call.most else []
    counted = f"{len(CALLS)} functions wait as often as they may, integers with signs never"
    return Verdict(not too_many, f"TOO OFTEN: {'; '.join(too_many)}" if too_many else counted)


def _synchronizations(call: Callable[[], Any]) -> int:
    """Warnings of torch's synchronization debug mode; 0 where there is no device to wait for."""
    call()  # compiles, and loads modules, which may wait
    if not torch.cuda.is_available():
        return 0
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return sum("synchroniz" in str(warning.message) for warning in caught)
