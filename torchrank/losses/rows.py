"""What losses are given, over the border: rows of predicted scores, and the hard ranks that they are compared with."""

import math
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn.functional import pad

from torchrank._warnings import warn
from torchrank.kernels.smoothed import one_window
from torchrank.ops.checks import exact_differences, is_plain, positive_window
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix, Origin, as_tensor
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.missing import PARTIAL
from torchrank.rankings.validate import Scores, as_scores, count_dtype
from torchrank.typing import Reduction

REDUCTIONS = get_args(Reduction)
LEAST = 2  # items that ops want; what is added to shorter rows does not count

ARGUMENTS = {
    "prediction": """\
``(..., n)`` scores, one list a row, larger = preferred, of any real dtype. Their differences count. A NaN that counts
makes the loss NaN, as in torch's losses; infinite scores are ordinary, equal ones tied.""",
    "target": """\
the rankings to be predicted, of the same shape: scores of which the order alone counts, larger = preferred, equal =
tied, NaN = not ranked, so that no pair with the item counts. Or prepared or sparse rankings, but for "topk" and
"interleaving", whose unranked items would count.""",
    "mask": """\
bool, broadcast to that shape: which items count, False for padding; None for all.""",
    "reduction": """\
"mean" over the rows in which a pair counts, "sum", or "none" for each row's loss. Other rows have loss 0, gradient 0
and no part in the mean, which is 0 where no row is left.""",
}


class Rows(NamedTuple):
    """Rows of scores and hard ranks in the form of the ops."""

    x: Tensor  # (r, n) float64; on other devices than the CPU float32 for scores of up to 32 bits
    ranks: Tensor  # (r, n) int32, -1 = does not count
    shape: torch.Size  # of the scores that came
    dtype: torch.dtype  # of the loss
    origin: Origin
    given: Tensor | None  # scores of the target, where a derivative in them may be asked for

    def counted(self) -> Tensor | None:
        """Which items count; None where all do, as far as a look tells that takes no time beside the loss."""
        at_hand = self.ranks.numel() > 0 and self.ranks.device.type == "cpu" and is_plain(self.ranks)
        return None if at_hand and int(self.ranks.min()) >= 0 else self.ranks >= 0

    def reduce(self, loss: Tensor, counted: Tensor, reduction: str) -> Matrix:
        """Each row's loss ``(r,)``, or their sum or mean over those that are ``counted``, as the caller's array."""
        loss = torch.where(counted, loss, 0)
        if reduction == "mean":
            result = loss.sum() / counted.sum().clamp(min=1)
        else:
            result = loss.sum() if reduction == "sum" else loss.reshape(self.shape[:-1])
        result = without_gradient(result.to(self.dtype), self.given, what="ranks of the target are")
        return self.origin.named(result, "rows")


def as_rows(prediction: Scores, target: Scores, mask: Any) -> Rows:
    """Check a prediction against its target.

    Raises:
        TypeError: what is no real number; a mask that is not bool.
        ValueError: shapes, devices or names of items that differ.
    """
    scores, origin = as_scores(prediction, "prediction", least_dims=1, least_items=0, apart=True)
    word = getattr(getattr(target, "meaning", None), "word", None)
    if word in PARTIAL:
        raise ValueError(
            f"target was ranked with missing={word!r}, and a loss looks at pairs of ranked items alone; pass the "
            "scores, or rank(..., missing='pairwise')"
        )
    rankings = as_rankings(target, "target", missing="pairwise", least_dims=1, least_items=0, check=False)
    if rankings.shape != scores.shape:
        raise ValueError(
            f"target has shape {tuple(rankings.shape)} and prediction {tuple(scores.shape)}; expected one shape, with "
            "a score and a target for each item of each list: pad lists and pass mask="
        )
    rankings = rankings.to(scores.device) if rankings.origin.numpy else rankings
    if rankings.ranks.device != scores.device:
        raise ValueError(
            f"prediction is on {scores.device} and target on {rankings.ranks.device}; move one of them, for example "
            "target.to(prediction.device)"
        )
    if scores.shape[-1] == 1 and scores.numel() > 0 and not torch.compiler.is_compiling():
        warn(
            f"prediction has shape {tuple(scores.shape)}: lists of one item each, which have no order and loss 0; of a "
            "model with one output an item pass prediction[..., 0], and one list as prediction[None]"
        )
    counted = None if mask is None else as_mask(mask, scores)
    ranks = rankings.ranks if counted is None else torch.where(counted, rankings.ranks, -1)
    dtype, origin = count_dtype(scores, origin), origin.joint(rankings.origin, "prediction", "target")
    exact = scores if scores.is_floating_point() else exact_differences(scores, "prediction", ranks >= 0)
    return Rows(flat(exact), flat_ranks(ranks), scores.shape, dtype, origin, rankings.scores)


def as_mask(mask: Any, scores: Tensor) -> Tensor:
    """A mask, broadcast to the shape of the scores; ``TypeError`` unless bool, ``ValueError`` if it does not fit."""
    values, origin = as_tensor(mask, "mask", "bool, True for items that count")
    if values.dtype != torch.bool:
        raise TypeError(f"mask has dtype {values.dtype}; expected bool, True for items that count")
    return fitted(values.to(scores.device) if origin.numpy else values, "mask", scores, scores.shape)


def fitted(values: Tensor, name: str, scores: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``values`` broadcast to a shape; ``ValueError`` where they do not fit, or are on another device."""
    if values.device != scores.device:
        raise ValueError(f"{name} is on {values.device} and prediction on {scores.device}; move one of them")
    try:
        return values.expand(shape)
    except RuntimeError:
        raise ValueError(
            f"{name} has shape {tuple(values.shape)}, which does not broadcast to {tuple(shape)}, for a prediction of "
            f"shape {tuple(scores.shape)}"
        ) from None


def flat(scores: Tensor) -> Tensor:
    """Scores as rows ``(r, n)`` of the dtype to compute in."""
    wide = scores.device.type == "cpu" or not scores.is_floating_point() or scores.dtype == torch.float64
    rows = scores.reshape(math.prod(scores.shape[:-1]), scores.shape[-1])
    return _padded(rows.to(torch.float64 if wide else torch.float32), 0)


def flat_ranks(ranks: Tensor) -> Tensor:
    """Ranks as rows."""
    return _padded(ranks.reshape(math.prod(ranks.shape[:-1]), ranks.shape[-1]), -1)


def flat_mask(counted: Tensor, rows: Tensor) -> Tensor:
    """Which of the items of :func:`flat` rows count; none of those that were added."""
    mask = counted.reshape(len(rows), counted.shape[-1])
    return pad(mask, (0, rows.shape[-1] - counted.shape[-1]), value=False)


def row_windows(window: Any, x: Tensor) -> Tensor:
    """The window for each row ``(r,)``, float64; its value is looked at on the CPU only, where nothing waits for it."""
    width = one_window(window, check=False)
    width = positive_window(width) if width.device.type == "cpu" else width
    return width.to(device=x.device, dtype=torch.float64).expand(len(x))


def _padded(rows: Tensor, value: int) -> Tensor:
    short = LEAST - rows.shape[-1]
    return pad(rows, (0, short), value=value) if short > 0 else rows
