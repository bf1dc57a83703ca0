"""Label rankings as the Plackett-Luce mixture reads them: untied, each of its rows partial or top-k."""

from typing import TypeAlias

import torch
from torch import Tensor

from torchrank.aggregation.borda import expected_sign_sums
from torchrank.distributions.choices import Choices, choices_of
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.missing import Meaning
from torchrank.rankings.validate import check_choice, refuse_ties

_BLOCK = 2**18  # entries of a table of label pairs; it stays in a processor's cache

MISSING = ("interleaving", "topk")
# What an unranked label means: "interleaving", nothing, so that only ranked labels are compared; "topk", less preferred
# than all ranked ones; or an (N,) bool tensor, True for top-k rows.
Missing: TypeAlias = str | Tensor

torch.library.define("torchrank::untied_ranks", "(Tensor scores, str name) -> Tensor")


def untied_ranks(Y: Tensor, name: str) -> Tensor:
    """Dense ranks of scores, -1 where unranked; ``ValueError`` naming row and labels where two of them are tied.

    An op, so that graphs that torch.compile makes keep the check.
    """
    return torch.ops.torchrank.untied_ranks(Y.detach(), name)


def label_choices(ranks: Tensor, missing: Missing) -> Choices:
    """The choices that rankings of labels tell of, ``(N, L)``."""
    top = _topk_rows(ranks, missing)
    if top is None:
        return choices_of(ranks, str(missing))
    topk, partial = choices_of(ranks, "topk"), choices_of(ranks, "interleaving")
    made, offered = (torch.where(top, a, b) for a, b in zip(topk[2:], partial[2:], strict=True))
    return Choices(topk.order, topk.place, made, offered)


def label_votes(ranks: Tensor, missing: Missing) -> Tensor:
    """Expected Borda votes ``(N, L)``, from 1 to L."""
    top = _topk_rows(ranks, missing)
    if top is None:
        sums = expected_sign_sums(ranks, Meaning(str(missing)))
    else:
        sums = torch.where(
            top, expected_sign_sums(ranks, Meaning("topk")), expected_sign_sums(ranks, Meaning("interleaving"))
        )
    return (ranks.shape[-1] + 1 + sums) / 2


def strict_scores(scores: Tensor) -> Tensor:
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


def _topk_rows(ranks: Tensor, missing: Missing) -> Tensor | None:
    """Which rows are top-k lists, ``(N, 1)``; None where a word says it for all."""
    if not isinstance(missing, Tensor):
        check_choice(missing, "missing", MISSING)
        return None
    if missing.dtype != torch.bool or missing.shape != ranks.shape[:1]:
        raise ValueError(
            f"missing is a {tuple(missing.shape)} tensor of {missing.dtype}; expected 'interleaving', 'topk' or a bool "
            f"tensor of shape ({len(ranks)},), True for top-k rows"
        )
    return missing.to(ranks.device)[:, None]


@torch.library.register_fake("torchrank::untied_ranks")
def _fake(scores: Tensor, name: str) -> Tensor:
    return torch.empty(scores.shape, dtype=torch.int32, device=scores.device)


@torch.library.impl("torchrank::untied_ranks", "default")
def _untied_ranks(scores: Tensor, name: str) -> Tensor:
    ranks, _ = dense_ranks(scores, "allow", name)
    refuse_ties(
        ranks,
        name,
        "Plackett-Luce has no ties: break them, for example by a small random number added to every score, or make all "
        "but one of the tied labels NaN; RankTree and Borda take ties as they are",
    )
    return ranks
