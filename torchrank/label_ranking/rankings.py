"""Label rankings as the Plackett-Luce mixture reads them: untied, each of its rows partial or top-k."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from torchrank.aggregation.borda import expected_sign_sums
from torchrank.distributions.choices import Choices, choices_of
from torchrank.ops.untied_ranks import untied_ranks
from torchrank.rankings.validate import check_choice

_BLOCK = 2**18  # entries of a table of label pairs; it stays in a processor's cache
_REMEDY = (
    "Plackett-Luce has no ties: break them, for example by a small random number added to every score, or make all "
    "but one of the tied labels NaN; RankTree and Borda take ties as they are"
)

MISSING = ("interleaving", "topk")
# What an unranked label means, in one word for all rows or one word a row: "interleaving", nothing, so that only ranked
# labels are compared; "topk", less preferred than all ranked ones.
Missing: TypeAlias = str | Sequence[str] | np.ndarray


def untied_label_ranks(Y: Tensor, name: str = "Y") -> Tensor:
    """Dense ranks of scores, -1 where unranked; ``ValueError`` naming row and labels where two of them are tied."""
    return untied_ranks(Y, _REMEDY, name)


def label_choices(ranks: Tensor, missing: Missing) -> Choices:
    """The choices that rankings of labels tell of, ``(N, L)``."""
    top = _topk_rows(ranks, missing)
    if isinstance(top, str):
        return choices_of(ranks, top)
    topk, partial = choices_of(ranks, "topk"), choices_of(ranks, "interleaving")
    made, offered = (torch.where(top, a, b) for a, b in zip(topk[2:], partial[2:], strict=True))
    return Choices(topk.order, topk.place, made, offered)


def label_votes(ranks: Tensor, missing: Missing) -> Tensor:
    """Expected Borda votes ``(N, L)`` float64, from 1 to L."""
    top = _topk_rows(ranks, missing)
    if isinstance(top, str):
        sums = expected_sign_sums(ranks, top)
    else:
        sums = torch.where(top, expected_sign_sums(ranks, "topk"), expected_sign_sums(ranks, "interleaving"))
    return (ranks.shape[-1] + 1 + sums) / 2


def untied_scores(scores: Tensor) -> Tensor:
    """Scores L to 1 in the same order, ties going to the lower label."""
    L = scores.shape[-1]
    order = scores.argsort(dim=-1, descending=True, stable=True)
    points = torch.arange(L, 0, -1, dtype=torch.float64, device=scores.device).expand_as(order)
    return torch.empty(order.shape, dtype=torch.float64, device=scores.device).scatter_(-1, order, points)


def discordant_pairs(ranks: Tensor, centers: Tensor) -> Tensor:
    """Pairs of labels that a row and a central ranking order differently, ``(N, K)`` float64.

    Pairs that either ties or leaves out are not counted. Their numbers are exact up to 2^24.

    Args:
        ranks: ``(N, L)`` dense ranks, -1 = unranked.
        centers: ``(K, L)`` scores without NaN.
    """
    against = (centers[:, None, :] > centers[:, :, None]).flatten(1).to(torch.float32).T
    pairs = torch.empty(len(ranks), len(centers), dtype=torch.float64, device=ranks.device)
    rows = max(1, _BLOCK // max(1, ranks.shape[1] ** 2))
    for block, counts in zip(ranks.split(rows), pairs.split(rows), strict=True):
        below = block[:, None, :]
        prefers = (block[:, :, None] > below) & (below >= 0)
        counts.copy_(prefers.flatten(1).to(torch.float32) @ against)
    return pairs


def _topk_rows(ranks: Tensor, missing: Missing) -> str | Tensor:
    """The word of all rows, or which rows are top-k lists, ``(N, 1)``."""
    if isinstance(missing, str):
        check_choice(missing, "missing", MISSING)
        return missing
    legal = " or ".join(map(repr, MISSING))
    if not isinstance(missing, (Sequence, np.ndarray)) and not hasattr(missing, "__array__"):
        raise TypeError(f"missing is {type(missing).__name__}; expected {legal}, or a list of such words, one a row")
    words = list(missing)
    if len(words) != len(ranks):
        raise ValueError(
            f"missing has {len(words)} words; expected {legal}, or one of them for each of {len(ranks)} rows"
        )
    for row, word in enumerate(words):
        if not isinstance(word, str) or word not in MISSING:
            raise ValueError(f"missing[{row}] is {word!r}; expected {legal} for each row")
    return torch.tensor([word == "topk" for word in words], dtype=torch.bool, device=ranks.device)[:, None]
