r"""Exact Kemeny rankings of more items: the linear-ordering program, its constraints added as they are violated.

With x_ij = 1 for i above j, orders are the 0-1 points in which no three items form a cycle,

.. math:: x_{ij} + x_{ji} = 1, \qquad x_{ij} + x_{jk} + x_{ki} \le 2

(Grötschel, Jünger and Reinelt, Operations Research 32(6), 1984). Few of the cycles matter, so they are added in rounds,
first to the linear relaxation, which is often whole already, then to the program in integers.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array, vstack

from torchrank.aggregation.local_search import has_equal_neighbor, improved_order, local_order, order_cost

_VIOLATED = 1e-6
_CUTS_PER_ITEM = 20  # in one round; all violated ones would be thousands at first
_SOLVED = 1e-6  # costs as shares of the greatest excess: what the solver calls equal


class Solution(NamedTuple):
    """An order, and what is proven of it."""

    order: np.ndarray  # (n,) items, most preferred first
    bound: float  # no order costs less
    unique: bool  # whether it is proven that no other order costs as little


def best_order(
    excess: np.ndarray,  # (n, n) cost of placing i above j, at least 0
    seconds: float,
    tolerance: float = 0.0,  # costs that differ by no more are equal
) -> Solution:
    """The least costly order, or the best one found in about so many seconds."""
    deadline = time.monotonic() + seconds
    program = Program(excess, tolerance)
    order = local_order(excess)
    bound = 0.0
    for integral in (False, True):
        solution, proven = program.solve(deadline, integral=integral)
        bound = max(bound, proven)
        if solution is not None:
            candidate = improved_order(excess, np.argsort(-solution.sum(axis=1), kind="stable"))
            order = min(order, candidate, key=lambda o: order_cost(excess, o))
        if order_cost(excess, order) - bound <= program.tolerance:
            break
    cost = order_cost(excess, order)
    if cost - bound > program.tolerance:
        return Solution(order, bound, unique=False)
    return Solution(order, cost, unique=_is_unique(program, order, deadline))


def _is_unique(program: "Program", order: np.ndarray, deadline: float) -> bool:
    if has_equal_neighbor(program.excess, order, program.tolerance):
        return False
    program.exclude(order)
    _, bound = program.solve(deadline, integral=False)
    if bound <= order_cost(program.excess, order) + program.tolerance:
        _, bound = program.solve(deadline, integral=True)
    return bound > order_cost(program.excess, order) + program.tolerance


class Program:
    """The linear-ordering program with the constraints met so far."""

    def __init__(self, excess: np.ndarray, tolerance: float = 0.0) -> None:
        n = len(excess)
        self.excess = excess
        self.scale = float(excess.max())  # the solver's tolerances are absolute
        self.tolerance = max(_SOLVED * self.scale, tolerance)
        self.i, self.j = np.triu_indices(n, 1)
        self.variable = np.zeros((n, n), np.int64)
        self.variable[self.i, self.j] = np.arange(len(self.i))
        self.unit = _common_unit(excess)  # every cost is a whole number of these
        below = excess[self.j, self.i]
        self.constant = float(below.sum())
        self.objective = (excess[self.i, self.j] - below) / self.scale
        self.rows = csr_array((0, len(self.i)))
        self.most = np.zeros(0)

    def solve(self, deadline: float, *, integral: bool) -> tuple[np.ndarray | None, float]:
        """Minimize, adding cycles until none is violated or the time is over.

        Returns:
            The last point that was found as an ``(n, n)`` matrix of x, and a lower bound of the cost of every order.
        """
        x, bound = self._matrix((self.objective < 0).astype(np.float64)), 0.0
        self._add(self._violated(x))
        while True:
            result = self._minimize(deadline - time.monotonic(), integral)
            bound = max(bound, self._bound(result, integral))
            if result.x is None:
                return (x if bound else None), bound
            x = self._matrix(result.x)
            cuts = self._violated(x)
            if len(cuts) == 0 or result.status != 0:
                return x, bound
            self._add(cuts)

    def exclude(self, order: np.ndarray) -> None:
        """Demand that at least one pair is not ordered as in ``order``."""
        place = np.argsort(order)
        above = place[self.i] < place[self.j]
        self._append(csr_array(np.where(above, 1.0, -1.0)[None]), np.array([above.sum() - 1.0]))

    def _minimize(self, seconds: float, integral: bool) -> OptimizeResult:
        return milp(
            self.objective,
            integrality=np.full(len(self.objective), int(integral)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(self.rows, ub=self.most),  # pyright: ignore[reportArgumentType] - arrays are fine
            options={"time_limit": max(seconds, 1e-3), "mip_rel_gap": 0.0},
        )

    def _bound(self, result: OptimizeResult, integral: bool) -> float:
        if result.status == 2:  # no other order at all
            return np.inf
        proven = result.mip_dual_bound if integral else result.fun if result.status == 0 else None
        if proven is None or not np.isfinite(proven):
            return 0.0
        bound = self.constant + self.scale * proven
        if self.unit <= 2 * self.tolerance:  # too fine to round up to
            return bound
        return float(np.ceil((bound - self.tolerance) / self.unit) * self.unit)

    def _matrix(self, x: np.ndarray) -> np.ndarray:
        matrix = np.zeros_like(self.excess)
        matrix[self.i, self.j] = x
        matrix[self.j, self.i] = 1 - x
        return matrix

    def _violated(self, x: np.ndarray) -> np.ndarray:
        """The cycles i, j, k with i the least item that x violates most, ``(c, 3)``."""
        found, by = [], []
        for i in range(len(x) - 2):
            over = x[i, i + 1 :, None] + x[i + 1 :, i + 1 :] + x[None, i + 1 :, i] - 2
            np.fill_diagonal(over, 0)
            j, k = (over > _VIOLATED).nonzero()
            found.append(np.stack([np.full_like(j, i), j + i + 1, k + i + 1], axis=1))
            by.append(over[j, k])
        cycles, violation = np.concatenate(found), np.concatenate(by)
        return cycles[np.argsort(-violation, kind="stable")[: _CUTS_PER_ITEM * len(x)]]

    def _add(self, cycles: np.ndarray) -> None:
        i, j, k = cycles.T
        row = np.arange(len(cycles))
        turned = (j > k).astype(np.float64)  # x_jk = 1 - x_kj
        columns = [self.variable[i, j], self.variable[i, k], self.variable[np.minimum(j, k), np.maximum(j, k)]]
        values = [np.ones(len(row)), -np.ones(len(row)), 1 - 2 * turned]
        entries = (np.concatenate(values), (np.tile(row, 3), np.concatenate(columns)))
        self._append(csr_array(entries, shape=(len(row), len(self.i))), 1 - turned)

    def _append(self, rows: csr_array, most: np.ndarray) -> None:
        self.rows = vstack([self.rows, rows], format="csr")
        self.most = np.concatenate([self.most, most])


def _common_unit(values: np.ndarray) -> float:
    """The largest power of two of which all values are whole multiples."""
    exponents = np.frexp(values[values > 0])[1]
    if len(exponents) == 0:
        return 1.0
    unit = int(exponents.min()) - 1
    while not (np.ldexp(values, -unit) == np.round(np.ldexp(values, -unit))).all():
        unit -= 1
    return float(np.ldexp(1.0, unit))
