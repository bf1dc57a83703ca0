"""The op that refuses unranked items on both sides of a Gram matrix at once, and tells what else it saw."""

from typing import Any

import torch
from torch import Tensor

from torchrank.ops.registration import implement
from torchrank.rankings import validate

torch.library.define(
    "torchrank::refuse_unranked",
    "(Tensor x, Tensor strict_x, Tensor? y, Tensor? strict_y, str remedy, str name='X') -> Tensor",
)


def refuse_unranked(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor | None, remedy: str, name: str = "X"
) -> Tensor:
    """Raise ``ValueError`` naming the first unranked item of X or Y and the remedy.

    The check looks at values, so it lives in an op: graphs that torch.compile makes keep it. A CUDA device is waited
    for once, and since waiting costs more than looking, the answer also says what the pair-count engine would ask next.

    Args:
        x: ``(..., m, n)`` int32 dense ranks, -1 = unranked.
        strict_x: ``(..., m)`` int64, the number of pairs that each row orders strictly.
        y: ``(..., m2, n)``, or None.
        strict_y: ``(..., m2)``, or None.
        remedy: what to do about unranked items.
        name: of x in messages.

    Returns:
        On CUDA a bool tensor of two elements in host memory: whether all rows of x, and of y (of x again if it is
        None), are free of ties. No elements on other devices, whose engines look for themselves.
    """
    return torch.ops.torchrank.refuse_unranked(x, strict_x, y, strict_y, remedy, name)


@torch.library.register_fake("torchrank::refuse_unranked")
def _fake(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor | None, remedy: str, name: str = "X"
) -> Tensor:
    return torch.empty(2 if x.device.type == "cuda" else 0, dtype=torch.bool, device="cpu")


def _on_any_device(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor | None, remedy: str, name: str = "X"
) -> Tensor:
    validate.refuse_unranked(x, name, remedy)
    if y is not None:
        validate.refuse_unranked(y, "Y", remedy)
    return torch.empty(0, dtype=torch.bool)


def look_at_both(
    x: Tensor, strict_x: Tensor, y: Tensor | None, strict_y: Tensor | None, remedy: str, name: str = "X"
) -> Tensor:
    """See :func:`refuse_unranked`; all answers come in one transfer."""
    other, strict_other = (x, strict_x) if y is None or strict_y is None else (y, strict_y)
    n = x.shape[-1]
    facts = []
    for ranks, strict in ((x, strict_x), (other, strict_other)):
        facts += [(ranks >= 0).all(), (strict == n * (n - 1) // 2).all()]
    answers = torch.stack(facts).cpu()
    for ranks, called, complete in ((x, name, answers[0]), (other, "Y", answers[2])):
        if not complete:
            validate.refuse_unranked(ranks, called, remedy)
    return answers[1::2].clone()


implement("refuse_unranked", "default", _on_any_device)
implement("refuse_unranked", "cuda", look_at_both)


def _vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, None]:
    """The rows of all calls at once: what holds for all of them holds for each."""
    moved = (arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, in_dims, strict=True))
    return refuse_unranked(*moved), None


torch.library.register_vmap("torchrank::refuse_unranked", _vmap)
