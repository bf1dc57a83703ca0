"""Kemeny rankings by local search: items are moved while that makes the ranking cheaper."""

import numpy as np


def improved_order(
    excess: np.ndarray,  # (n, n) cost of placing i above j
    order: np.ndarray,  # (n,) items, most preferred first
) -> np.ndarray:
    """The order after moving single items to their best places until no such move makes it cheaper."""
    order = order.copy()
    against = excess - excess.T  # what placing i above j costs more than below
    least_gain = 1e-12 * excess.max(initial=0)
    improving = True
    while improving:
        improving = False
        for item in order.copy():
            others = order[order != item]
            cost_of_place = np.concatenate([[0.0], np.cumsum(-against[item, others])])  # beside that of the first place
            place, best = int((order == item).argmax()), int(cost_of_place.argmin())
            if cost_of_place[place] - cost_of_place[best] > least_gain:
                order = np.insert(others, best, item)
                improving = True
    return order


def local_order(excess: np.ndarray) -> np.ndarray:
    """The cheapest order that local search reaches from those by margins and by majorities won."""
    against = excess - excess.T
    starts = (np.argsort(total, kind="stable") for total in (against.sum(axis=1), np.sign(against).sum(axis=1)))
    orders = [improved_order(excess, start) for start in starts]
    return min(orders, key=lambda order: order_cost(excess, order))


def order_cost(excess: np.ndarray, order: np.ndarray) -> float:
    """The cost of all pairs of an order."""
    return float(np.triu(excess[np.ix_(order, order)], 1).sum())


def has_equal_neighbor(excess: np.ndarray, order: np.ndarray, tolerance: float) -> bool:
    """Whether moving one item gives another order that costs the same."""
    against = (excess - excess.T)[np.ix_(order, order)]
    for place in range(len(order)):
        upwards = np.cumsum(against[place, :place][::-1])
        downwards = np.cumsum(-against[place, place + 1 :])
        if np.abs(np.concatenate([upwards, downwards])).min(initial=np.inf) <= tolerance:
            return True
    return False
