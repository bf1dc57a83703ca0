"""Class labels as the learners take them, and the decision among several classes."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.validate import check_count


def class_numbers(y: Any, m: int, n_classes: int | None, device: torch.device) -> tuple[Tensor, int]:
    """Check class labels.

    Args:
        y: ``(m,)`` integers or bools 0 to ``n_classes - 1``.
        m: samples that have to be labeled.
        n_classes: None means one more than the largest label.
        device: where the result goes.

    Returns:
        ``(m,)`` int64 and the number of classes.

    Raises:
        TypeError: labels, or a number of classes, that are no integers; strings among them.
        ValueError: another length, a label out of range, fewer than two classes, or a class without samples.
    """
    if n_classes is not None:
        check_count(n_classes, "n_classes", least=2)
    expected = "class numbers 0, 1, ... (for labels of another kind np.unique(y, return_inverse=True)[1])"
    labels = as_tensor(y, "y", expected)[0]
    if labels.is_floating_point() or labels.is_complex():
        raise TypeError(f"y has dtype {labels.dtype}; expected {expected}")
    if labels.shape != (m,):
        raise ValueError(f"y has shape {tuple(labels.shape)}; expected {(m,)}, one label for every sample")
    labels = labels.to(device=device, dtype=torch.int64)
    most = int(labels.max()) if m else -1
    n_classes = most + 1 if n_classes is None else n_classes
    if m and (int(labels.min()) < 0 or most >= n_classes):
        wrong = int(((labels < 0) | (labels >= n_classes)).nonzero()[0, 0])
        raise ValueError(f"y[{wrong}] is {int(labels[wrong])}; expected class numbers 0 to {n_classes - 1}")
    if n_classes < 2:
        raise ValueError(f"y has {n_classes} class(es); a classifier needs samples of at least 2")
    empty = (torch.bincount(labels, minlength=n_classes) == 0).nonzero()
    if len(empty):
        raise ValueError(f"class {int(empty[0, 0])} of {n_classes} has no sample in y; at least one is needed")
    return labels, n_classes


def class_pairs(n_classes: int) -> Iterator[tuple[int, int]]:
    """All pairs of classes, the lower number first: (0, 1), (0, 2), ..., (1, 2), ..."""
    return combinations(range(n_classes), 2)


def one_against_one(margins: Tensor, n_classes: int) -> Tensor:
    """Decide among several classes by the margins of every pair of them.

    Args:
        margins: ``(pairs, m)`` in the order of :func:`class_pairs`, positive for the second class of the pair.
        n_classes: number of classes.

    Returns:
        ``(m,)`` the only margin of two classes; else ``(m, n_classes)``, for each class the number of pairs that it
        wins, an even pair counting one half, plus its summed margins squeezed into (-1/3, 1/3) to decide among equals.
    """
    if n_classes == 2:
        return margins[0]
    wins = margins.new_zeros((margins.shape[1], n_classes))
    sums = torch.zeros_like(wins)
    for margin, (first, second) in zip(margins, class_pairs(n_classes), strict=True):
        won = margin.sign()
        wins[:, first] += (1 - won) / 2
        wins[:, second] += (1 + won) / 2
        sums[:, first] -= margin
        sums[:, second] += margin
    return wins + sums / (3 * (sums.abs() + 1))


def decided_class(decision: Tensor) -> Tensor:
    """The class with the largest value of :func:`one_against_one`, the lowest number among equals; ``(m,)`` int64."""
    return (decision > 0).to(torch.int64) if decision.ndim == 1 else decision.argmax(dim=1)
