"""Where Lloyd's algorithm starts: k-means++ seeds, random labels, or given ones."""

import math
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from torchrank.clustering.lloyd import BATCH_ELEMENTS, Geometry
from torchrank.kernels.block_stream import digest
from torchrank.kernels.points import Groups
from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.validate import check_choice, check_count, check_generator
from torchrank.typing import Init

INITS = get_args(Init)


def check_clustering(
    n_clusters: int, init: str | Matrix, n_init: int, max_iter: int, *, name: str = "n_clusters"
) -> None:
    """Raise unless the settings that clusterings from several starts share make sense."""
    check_count(n_clusters, name, 1)
    check_count(n_init, "n_init", 1)
    check_count(max_iter, "max_iter", 1)
    if isinstance(init, str):
        check_choice(init, "init", INITS)
    elif not isinstance(init, (Tensor, np.ndarray, list, tuple)):
        words = " or ".join(map(repr, INITS))
        raise TypeError(f"init is {type(init).__name__}; expected {words}, or a tensor, an array or a list of labels")


def start_labels(
    geometry: Geometry,
    groups: Groups,
    n_clusters: int,
    init: str | Matrix,
    n_init: int,
    generator: torch.Generator | None,
) -> Tensor:
    """Labels ``(s, u)`` of the points to start from.

    "random" draws every label by itself (Algorithm 1 of Jiao and Vert, 2018); "k-means++" draws points as seeds, each
    with probability proportional to its weight times its cost at the nearest seed so far (Arthur and Vassilvitskii,
    SODA 2007), and gives every point to its nearest seed. It is greedy, which the same authors suggest and scikit-learn
    does: for every seed but the first it draws 2 + floor(log c) candidates, and keeps the one with which all points
    together cost least at their nearest seeds. Of labels ``(m,)`` or ``(s, m)`` of all rows a point gets that of the
    first row of its group.
    """
    check_generator(generator)
    weights, m = geometry.weights, len(geometry.weights)
    if not isinstance(init, str):
        return _given_labels(init, len(groups.counted), n_clusters).to(weights.device)[:, groups.first]
    source = weights.device if generator is None else generator.device
    if init == "random":
        return torch.randint(n_clusters, (n_init, m), generator=generator, device=source).to(weights.device)

    def draw(chances: Tensor, count: int) -> Tensor:
        drawn = torch.multinomial(chances.to(source), count, replacement=True, generator=generator)
        return drawn.to(weights.device)

    candidates = 2 + int(math.log(n_clusters))
    step = max(1, BATCH_ELEMENTS // max(1, candidates * m))
    nearest = geometry.costs_at(draw(weights.expand(n_init, -1), 1))[:, 0]
    labels = torch.zeros((n_init, m), dtype=torch.int64, device=weights.device)
    for j in range(1, n_clusters):
        chances = weights * torch.where(nearest > geometry.tolerance, nearest, 0)
        exhausted = (chances <= 0).all(dim=1, keepdim=True)  # every point is a seed or equals one
        rows = draw(torch.where(exhausted, weights, chances), candidates)
        parts = zip(rows.split(step), nearest.split(step), strict=True)
        cost = torch.cat([_at_the_best(geometry, some, before) for some, before in parts])
        labels = torch.where(cost < nearest - geometry.tolerance, j, labels)
        nearest = torch.minimum(cost, nearest)
    return labels


def _at_the_best(geometry: Geometry, rows: Tensor, nearest: Tensor) -> Tensor:
    """What the points cost ``(s, m)`` at that of the candidates ``(s, k)`` which lowers the sum of costs most."""
    costs = geometry.costs_at(rows)
    sums = torch.minimum(costs, nearest[:, None]) @ geometry.weights
    equal = sums <= sums.amin(1, keepdim=True) + geometry.tolerance * geometry.weights.sum()
    best = equal.to(torch.uint8).argmax(1)  # the first of them, so that rounding does not choose
    return costs[torch.arange(len(rows), device=rows.device), best]


def _given_labels(init: Matrix, m: int, n_clusters: int) -> Tensor:
    """Labels ``(m,)`` or ``(s, m)`` of all rows, checked, as ``(s, m)`` int64."""
    given = as_tensor(init, "init", "integer labels")[0]
    whole = not (given.is_floating_point() or given.is_complex())
    if given.ndim not in (1, 2) or given.shape[-1] != m or not whole or given.numel() == 0:
        raise ValueError(
            f"init has shape {tuple(given.shape)} and dtype {given.dtype}; "
            f"expected integer labels ({m},) or (starts, {m}), one for every row"
        )
    labels = given.reshape(-1, m).to(torch.int64)
    lowest, highest = int(labels.min()), int(labels.max())
    if lowest < 0 or highest >= n_clusters:
        raise ValueError(f"init has labels from {lowest} to {highest}; expected 0 to {n_clusters - 1}")
    return labels


def init_in_plan(init: str | Matrix) -> str:
    """What a checkpoint says of where a fit started: the word, or a digest of the labels."""
    return init if isinstance(init, str) else digest(as_tensor(init, "init")[:1])


def one_set_of_labels(init: Matrix, m: int, n_clusters: int) -> Tensor:
    """Labels ``(m,)`` int64 of all rows of batches, checked.

    Raises:
        ValueError: another number of labels, or of sets of them; labels out of range.
    """
    labels = _given_labels(init, m, n_clusters)
    if len(labels) != 1:
        raise ValueError(f"init has {len(labels)} sets of labels; fits to batches take one, ({m},)")
    return labels[0]
