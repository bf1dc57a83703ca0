"""What users say of unranked items: one word for all rankings, or one for each."""

from typing import Any, TypeAlias

import torch

from torchrank.ops.expected_signs import RowKinds

KINDS = ("interleaving", "topk")
Kind: TypeAlias = Any  # one of KINDS, or nested sequences or an array of them, (..., m); None for the default


def kinds_of_rows(kind: Kind, default: str, rows: int, name: str, device: torch.device) -> RowKinds:
    """The kind of each of ``rows`` rows, from one word for all or one for each, with any batch dimensions before.

    Raises:
        ValueError: an unknown word, or numbers of words that do not fit.
    """
    flags, shape = _flags(default if kind is None else kind, name, ())
    if not shape:
        return RowKinds(torch.full((rows,), flags[0], device=device), not flags[0])
    if shape[-1] != rows:
        raise ValueError(f"{name} has {shape[-1]} words; expected one for each of {rows} rankings")
    return RowKinds(torch.tensor(flags, dtype=torch.bool, device=device).reshape(shape), not all(flags))


def _flags(words: Any, name: str, place: tuple[int, ...]) -> tuple[list[bool], tuple[int, ...]]:
    """Whether each word is "topk", in one list, and the shape that the words came in."""
    words = words.tolist() if hasattr(words, "tolist") else words
    if not isinstance(words, (list, tuple)):
        if words not in KINDS:
            where = "" if not place else f" for row {place[0] if len(place) == 1 else place}"
            raise ValueError(f"{name} has {words!r}{where}; choose one of {', '.join(map(repr, KINDS))}")
        return [words == "topk"], ()
    parts = [_flags(part, name, (*place, k)) for k, part in enumerate(words)]
    shapes = [shape for _, shape in parts] or [()]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"{name} has rows of different lengths; expected one word for each ranking of every batch")
    return [flag for flags, _ in parts for flag in flags], (len(parts), *shapes[0])
