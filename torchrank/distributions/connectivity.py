"""Whether Plackett-Luce has a maximum of the likelihood: chains of preferences between all items."""

import numpy as np

from torchrank.distributions.choice_lists import ChoiceLists

_MOST_SHOWN = 10  # groups, and items of a group, that a message lists


def connected_groups(lists: ChoiceLists, *, ties: bool = False) -> list[list[int]]:
    """Groups of items with a chain of preferences from each of a group to each other, by their first items.

    With ``ties`` items that were chosen together are preferred to one another.
    """
    return groups_of(*edges_of(lists, ties), lists.n_items)


def groups_of(start: np.ndarray, end: np.ndarray, nodes: int, n: int) -> list[list[int]]:
    """The same of edges between nodes, of which the first n are items."""
    from scipy.sparse import csr_array  # SciPy is slow to load
    from scipy.sparse.csgraph import connected_components

    # SciPy 1.11 takes no 64-bit indices here: it says so where nobody can catch it, and returns labels all the same.
    start, end = start.astype(np.int32), end.astype(np.int32)
    graph = csr_array((np.ones(len(start), bool), (start, end)), shape=(nodes, nodes))
    labels = connected_components(graph, directed=True, connection="strong")[1][:n]
    by_label = np.argsort(labels, kind="stable")
    groups = np.split(by_label, np.flatnonzero(np.diff(labels[by_label])) + 1) if n else []
    return sorted(group.tolist() for group in groups)


def edges_of(lists: ChoiceLists, ties: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Edges from items to items that they were preferred to, and the number of nodes, items and helpers."""
    items, ranks, starts = (part.cpu().numpy() for part in (lists.items, lists.ranks, lists.starts))
    follows = np.ones(len(items), bool)  # the place before is of the same list
    follows[starts[:-1][starts[:-1] < len(items)]] = False
    here = np.flatnonzero(follows)
    start, end = items[here - 1], items[here]  # from each item to the next is enough
    if ties:
        tied = ranks[here - 1] == ranks[here]
        start, end = np.concatenate([start, end[tied]]), np.concatenate([end, start[tied]])
    nodes = lists.n_items
    if bool(lists.open.any()):
        more_start, more_end, nodes = _edges_to_unlisted(lists, items, starts)
        start, end = np.concatenate([start, more_start]), np.concatenate([end, more_end])
    return start, end, nodes


def _edges_to_unlisted(lists: ChoiceLists, items: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Edges from the last item of each open list to the items that it does not list.

    These are intervals between those listed. Each is covered by two nodes that stand for 2^k items in a row and lead to
    the nodes of their halves; so there are as many edges as listed items, and n log n more.
    """
    n = lists.n_items
    of_open = lists.open.cpu().numpy()
    rows = np.repeat(np.arange(len(of_open)), np.diff(starts))
    row, item = rows[of_open[rows]], items[of_open[rows]]
    opens = np.flatnonzero(of_open)
    row = np.concatenate([row, opens, opens])  # with items -1 and n at the ends of each list
    item = np.concatenate([item, np.full(len(opens), -1), np.full(len(opens), n)])
    order = np.lexsort((item, row))
    row, item = row[order], item[order]
    same = row[1:] == row[:-1]
    low, high, row = item[:-1][same] + 1, item[1:][same], row[1:][same]
    wide = high > low
    low, high, row = low[wide], high[wide], row[wide]
    level = np.floor(np.log2(high - low)).astype(np.int64)
    last = items[starts[row + 1] - 1]
    start = [last, last]
    end = [level * n + low, level * n + high - 2**level]  # node k n + i stands for items i to i + 2^k - 1
    levels = int(level.max()) + 1
    for k in range(1, levels):
        first = np.arange(n - 2**k + 1)
        start += [k * n + first] * 2
        end += [(k - 1) * n + first, (k - 1) * n + first + 2 ** (k - 1)]
    return np.concatenate(start), np.concatenate(end), levels * n


def refuse_no_maximum(lists: ChoiceLists, *, ties: bool = False) -> None:
    """Raise ``ValueError`` naming the groups unless the likelihood has one maximum for each size of ties."""
    refuse_groups(connected_groups(lists, ties=ties))


def refuse_groups(groups: list[list[int]]) -> None:
    """Raise ``ValueError`` if there is more than one group."""
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
