"""What unranked items mean: one word for all rankings, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from torchrank.typing import MissingWord, PartialWord, VoteWord

MISSING = get_args(MissingWord)
PARTIAL = get_args(PartialWord)  # a ranking stands for all total rankings that agree with it


@dataclass(frozen=True)
class Meaning:
    """What unranked items mean, checked."""

    word: str  # one of MISSING; of several it is "interleaving"
    topk: Tensor | None = None  # (..., m) bool where there is a word for each ranking: whether it is "topk"

    @property
    def partial(self) -> bool:
        """Whether rankings stand for the total rankings that agree with them."""
        return self.word in PARTIAL

    def topk_rows(self, rows: int, device: torch.device) -> Tensor:
        """``(..., m)`` bool: which rankings are "topk", also where one word says it for all."""
        if self.topk is not None:
            return self.topk
        return torch.full((rows,), self.word != "interleaving", device=device)  # complete ones are either

    def of_rows(self, rows: Any, shape: tuple[int, ...]) -> Meaning:
        """What it means in some rows of the first dimension of ``shape`` ``(..., m)``."""
        return self if self.topk is None else Meaning(self.word, self.topk.expand(shape)[rows])

    def to(self, device: torch.device | str) -> Meaning:
        """The same on another device."""
        return self if self.topk is None else Meaning(self.word, self.topk.to(device))


# One word; or nested sequences or an array of a word for each ranking, (..., m).
WordOfEach: TypeAlias = Sequence[PartialWord | Sequence[PartialWord]] | np.ndarray
Missing: TypeAlias = MissingWord | WordOfEach | Meaning | None
MissingVotes: TypeAlias = VoteWord | WordOfEach | Meaning | None  # where pairwise deletion has no meaning


def meaning_of(
    missing: Any,
    rows: int,
    name: str,
    device: torch.device,
    legal: tuple[str, ...] = MISSING,
) -> Meaning:
    """``missing`` as users say it, or as it was checked before, for ``rows`` rankings.

    Raises:
        ValueError: an unknown word, or numbers of words that do not fit.
    """
    if isinstance(missing, Meaning):
        if missing.topk is not None:
            _check_number(missing.topk.shape[-1], rows, name)
            return missing.to(device)
        missing = missing.word
    missing = missing.item() if getattr(missing, "shape", None) == () else missing
    if isinstance(missing, str):
        if missing not in legal:
            raise ValueError(f"{name}={missing!r} is unknown; choose one of {', '.join(map(repr, legal))}")
        return Meaning(missing)
    flags, shape = _flags(missing, name, ())
    if not shape:
        raise ValueError(f"{name}={missing!r} is unknown; choose one of {', '.join(map(repr, legal))}")
    _check_number(shape[-1], rows, name)
    topk = torch.tensor(flags, dtype=torch.bool, device=device).reshape(shape)
    return Meaning("topk" if all(flags) else "interleaving", topk)


def refuse_batches(meaning: Meaning, name: str) -> None:
    """Raise ``ValueError`` for words with batch dimensions, where there is one set of rankings."""
    if meaning.topk is not None and meaning.topk.ndim != 1:
        raise ValueError(f"{name} has shape {tuple(meaning.topk.shape)}; expected one word, or one for each ranking")


def _check_number(words: int, rows: int, name: str) -> None:
    if words != rows:
        raise ValueError(f"{name} has {words} words; expected one word, or one for each of {rows} rankings")


def _flags(words: Any, name: str, place: tuple[int, ...]) -> tuple[list[bool], tuple[int, ...]]:
    """Whether each word is "topk", in one list, and the shape that the words came in."""
    words = words.tolist() if hasattr(words, "tolist") else words
    if isinstance(words, (list, tuple)):
        parts = [_flags(part, name, (*place, k)) for k, part in enumerate(words)]
        shapes = [shape for _, shape in parts] or [()]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError(f"{name} has rows of different lengths; expected one word for each ranking of every batch")
        return [flag for flags, _ in parts for flag in flags], (len(parts), *shapes[0])
    if words not in PARTIAL and place:
        where = place[0] if len(place) == 1 else place
        raise ValueError(
            f"{name} has {words!r} for row {where}; a word for each ranking is one of {', '.join(map(repr, PARTIAL))}"
        )
    return [words == "topk"], ()
