"""Label rankings as the Plackett-Luce mixture reads them: untied, each of its rows partial or top-k."""

import torch
from torch import Tensor

from torchrank.aggregation.borda import expected_sign_sums
from torchrank.distributions.choices import Choices, choices_of
from torchrank.ops.untied_ranks import untied_ranks
from torchrank.rankings.missing import PARTIAL, Meaning, Missing, meaning_of, refuse_batches
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.validate import refuse_ties

_BLOCK = 2**18  # entries of a table of label pairs; it stays in a processor's cache
_REMEDY = (
    "Plackett-Luce has no ties: break them, for example by a small random number added to every score, or make all "
    "but one of the tied labels NaN; RankTree and Borda take ties as they are"
)


def untied_label_ranks(Y: Tensor | Rankings, name: str = "Y") -> Tensor:
    """Dense ranks of scores, -1 where unranked; ``ValueError`` naming row and labels where two of them are tied."""
    if isinstance(Y, Rankings):
        refuse_ties(Y.ranks, name, _REMEDY)
        return Y.ranks
    return untied_ranks(Y, _REMEDY, name)


def label_meaning(ranks: Tensor, missing: Missing) -> Meaning:
    """What unranked labels mean: "interleaving", nothing, or "topk", less preferred than all ranked ones.

    Raises:
        ValueError: unknown words, or numbers of words that do not fit.
    """
    meaning = meaning_of(missing, len(ranks), "missing", ranks.device, PARTIAL)
    refuse_batches(meaning, "missing")
    return meaning


def label_choices(ranks: Tensor, missing: Missing) -> Choices:
    """The choices that rankings of labels tell of, ``(N, L)``."""
    return choices_of(ranks, label_meaning(ranks, missing))


def label_votes(ranks: Tensor, missing: Missing) -> Tensor:
    """Expected Borda votes ``(N, L)`` float64, from 1 to L."""
    return (ranks.shape[-1] + 1 + expected_sign_sums(ranks, label_meaning(ranks, missing))) / 2


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
