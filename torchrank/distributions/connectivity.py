"""Whether Plackett-Luce has a maximum of the likelihood: chains of preferences between all items."""

import numpy as np
import torch

from torchrank.distributions.choices import Choices

_MOST_SHOWN = 10  # groups, and items of a group, that a message lists


def connected_groups(
    choices: Choices,  # (m, n)
) -> list[list[int]]:
    """Groups of items with a chain of preferences from each of a group to each other, by their first items."""
    from scipy.sparse import csr_array  # SciPy is slow to load
    from scipy.sparse.csgraph import connected_components

    n = choices.order.shape[-1]
    # From each item an edge to the next is enough, and from the last one that won a choice to all that are left.
    last_made = choices.made.sum(dim=-1, keepdim=True) - 1
    before = torch.arange(n, device=choices.order.device).sub(1).expand_as(choices.order).minimum(last_made)
    winner = choices.order.gather(-1, before.clamp(min=0))
    edges = (winner * n + choices.order)[choices.offered & (before >= 0)].unique().cpu().numpy()
    # SciPy 1.11 takes no 64-bit indices here: it says so where nobody can catch it, and returns labels all the same.
    start, end = (part.astype(np.int32) for part in np.divmod(edges, n))
    graph = csr_array((np.ones(len(edges), bool), (start, end)), shape=(n, n))
    labels = connected_components(graph, directed=True, connection="strong")[1]
    groups: dict[int, list[int]] = {}
    for item, label in enumerate(labels.tolist()):
        groups.setdefault(label, []).append(item)
    return list(groups.values())


def refuse_no_maximum(choices: Choices) -> None:
    """Raise ``ValueError`` naming the groups unless the likelihood has one maximum."""
    groups = connected_groups(choices)
    if len(groups) > 1:
        names = ", ".join("{" + _shortened([str(item) for item in group]) + "}" for group in groups[:_MOST_SHOWN])
        more = f" and {len(groups) - _MOST_SHOWN} more" if len(groups) > _MOST_SHOWN else ""
        raise ValueError(
            f"Plackett-Luce has no maximum of the likelihood for these rankings: the items fall into {len(groups)} "
            f"groups, {names}{more}, and of two groups at most one was ever preferred to the other. Pass prior > 0, "
            "or fit the columns of one group, X[:, group], alone"
        )


def _shortened(words: list[str]) -> str:
    return ", ".join(words if len(words) <= _MOST_SHOWN else [*words[:_MOST_SHOWN], "..."])
