"""The op that takes untied scores over the border: dense ranks, and a refusal of ties."""

import torch
from torch import Tensor

from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.rankings.validate import refuse_ties

torch.library.define("torchrank::untied_ranks", "(Tensor scores, str remedy, str name) -> Tensor")


def untied_ranks(scores: Tensor, remedy: str, name: str) -> Tensor:
    """Dense ranks ``(..., n)`` int32 of scores, -1 where unranked.

    Two tied items raise ``ValueError``, which names the row, the items and what to do, ``remedy``. The check looks at
    values, so it lives in an op: graphs that torch.compile makes keep it.
    """
    return torch.ops.torchrank.untied_ranks(scores.detach(), remedy, name)


@torch.library.register_fake("torchrank::untied_ranks")
def _fake(scores: Tensor, remedy: str, name: str) -> Tensor:
    return torch.empty(scores.shape, dtype=torch.int32, device=scores.device)


def _checked(scores: Tensor, remedy: str, name: str) -> Tensor:
    ranks, _ = dense_ranks(scores, "allow", name)
    refuse_ties(ranks, name, remedy)
    return ranks


implement("untied_ranks", "default", _checked)
vmap_as_batch("untied_ranks")
