"""Labels of groups: integers, or names, which are numbered in their order."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import as_tensor, refuse_masks

LABELS = "integers, or names as strings"


def as_labels(labels: Any, name: str, *, named: bool = True) -> Tensor:
    """Labels as int64 of their shape: integers as they are, strings by their places in order, from 0 on.

    Raises:
        TypeError: other numbers, bools among them, objects that are not all strings, or not ``named`` and strings.
    """
    if not isinstance(labels, Tensor):
        refuse_masks(labels, name)
        array = np.asarray(labels)
        if array.dtype.kind == "U" or (array.size and array.dtype.kind in "OT" and _all_strings(array)):
            # NumPy makes strings of a list of strings and numbers; what was not a string is not one here.
            if not named:
                raise TypeError(f"{name} are strings; expected integers")
            words = np.asarray(labels, dtype=object)
            if not _all_strings(words):
                other = next(word for word in words.ravel().tolist() if not isinstance(word, str))
                raise TypeError(f"{name} have strings and {other!r} among them; expected {LABELS}")
            _, numbers = np.unique(words.astype(str), return_inverse=True)
            return torch.from_numpy(np.asarray(numbers, np.int64).reshape(array.shape))
    given = as_tensor(labels, name, LABELS)[0].detach()
    if given.numel() and (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool):
        raise TypeError(f"{name} have dtype {given.dtype}; expected {LABELS}")
    return given.to(torch.int64)


def _all_strings(array: np.ndarray) -> bool:
    return all(isinstance(word, str) for word in array.ravel().tolist())
