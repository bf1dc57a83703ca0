"""The op that takes scores over the border: dense ranks, checked for unranked items where they are not allowed."""

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.rankings import ties, validate

torch.library.define("torchrank::dense_ranks", "(Tensor scores, str unranked, str name) -> (Tensor, Tensor)")


def dense_ranks(scores: Tensor, unranked: str, name: str) -> tuple[Tensor, Tensor]:
    """Dense ranks and strict pairs of each row; see :func:`torchrank.rankings.ties.dense_ranks`.

    ``unranked`` is "allow", or the remedy to name in the ``ValueError`` that the first unranked item of ``name``
    raises. The check looks at values, so it lives in an op: graphs that torch.compile makes keep it.
    """
    return torch.ops.torchrank.dense_ranks(scores.detach(), unranked, name)


@torch.library.register_fake("torchrank::dense_ranks")
def _fake(scores: Tensor, unranked: str, name: str) -> tuple[Tensor, Tensor]:
    ranks = torch.empty(scores.shape, dtype=torch.int32, device=scores.device)
    return ranks, torch.empty(scores.shape[:-1], dtype=torch.int64, device=scores.device)


def _on_any_device(scores: Tensor, unranked: str, name: str) -> tuple[Tensor, Tensor]:
    return _checked(scores, ties.dense_ranks(ties.sortable(scores)), unranked, name)


def _on_cpu(scores: Tensor, unranked: str, name: str) -> tuple[Tensor, Tensor]:
    if why_missing("cpu"):
        return _checked(scores, ties.dense_ranks(ties.sortable(scores)), unranked, name)
    from torchrank.cpu.dense_ranks import dense_ranks as engine  # numba takes half a second to import

    return _checked(scores, engine(scores), unranked, name)


def _checked(scores: Tensor, ranked: tuple[Tensor, Tensor], unranked: str, name: str) -> tuple[Tensor, Tensor]:
    if unranked != "allow" and scores.is_floating_point():
        validate.refuse_unranked(ranked[0], name, unranked)
    return ranked


implement("dense_ranks", "default", _on_any_device)
implement("dense_ranks", "cpu", _on_cpu)
vmap_as_batch("dense_ranks")
