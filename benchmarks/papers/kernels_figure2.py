"""The Cayley graph of S_4: Figure 2 of Jiao and Vert, IEEE TPAMI 40(7), 2018, doi:10.1109/TPAMI.2017.2719680.

``python -m benchmarks.papers.kernels_figure2``. Vertices are the 24 total rankings of four items, written as the rank
of each item, edges exchange two adjacent ranks. Beside the graph, what Section 6 says of two kernels on it: the Mallows
kernel knows the shortest path between two rankings only, the diffusion kernel all paths.
"""

from itertools import combinations, permutations

import numpy as np
from scipy.sparse.csgraph import shortest_path

from benchmarks.registry import RESULTS, Recorder
from torchrank import diffusion_gram, kendall_distance, mallows_gram

RANKINGS = np.array(list(permutations(range(1, 5))), dtype=float)
BETA = 0.5
COLORS = {1: ("#0072b2", "(1 2)"), 2: ("#009e73", "(2 3)"), 3: ("#d55e00", "(3 4)")}


def main() -> None:
    """Check the graph against the distance, compare the kernels, record and draw."""
    edges = exchanges()
    adjacency = np.zeros((24, 24))
    for i, j, _ in edges:
        adjacency[i, j] = adjacency[j, i] = 1
    steps, distance = shortest_path(adjacency, unweighted=True), kendall_distance(RANKINGS)
    diffusion = diffusion_gram(RANKINGS, beta=BETA)
    relative = diffusion / diffusion[0, 0]
    lam = -float(np.log(relative[distance == 1].mean()))
    mallows = mallows_gram(RANKINGS, lam=lam)
    spread = {int(d): [float(relative[distance == d].min()), float(relative[distance == d].max())] for d in range(7)}
    if (len(edges), set(adjacency.sum(axis=0))) != (36, {3}) or not (steps == distance).all():
        raise AssertionError("the graph is not that of Figure 2, or its paths are not Kendall distances")
    print(f"{len(edges)} edges, diameter {int(steps.max())}; shortest paths are the Kendall distances of all pairs")
    for d, (low, high) in spread.items():
        print(f"  {d} exchanges: diffusion {low:.4f} to {high:.4f}, Mallows {np.exp(-lam * d):.4f}")
    Recorder("kernels_figure2").append(
        vertices=len(RANKINGS),
        edges=len(edges),
        diameter=int(steps.max()),
        shortest_paths_are_kendall_distances=True,
        beta=BETA,
        diffusion_by_distance=spread,
        mallows_lam=lam,
        note="agrees with the figure: three edges at every vertex, one of each transposition, 36 in all",
    )
    _draw(edges, distance, relative, mallows)


def exchanges() -> list[tuple[int, int, int]]:
    """Pairs of rankings that differ by an exchange of ranks r and r + 1, with r."""
    edges = []
    for i, j in combinations(range(len(RANKINGS)), 2):
        moved = RANKINGS[i] != RANKINGS[j]
        ranks = sorted(RANKINGS[i][moved])
        if len(ranks) == 2 and ranks[1] - ranks[0] == 1:
            edges.append((i, j, int(ranks[0])))
    return edges


def _draw(edges: list[tuple[int, int, int]], distance: np.ndarray, diffusion: np.ndarray, mallows: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (graph, kernels) = pyplot.subplots(1, 2, figsize=(10, 4.6), width_ratios=[1.25, 1], layout="constrained")
    places = _places()
    for i, j, rank in edges:
        color, name = COLORS[rank]
        graph.plot(*places[[i, j]].T, color=color, linewidth=2, label=name, zorder=1)
    names = dict(zip(*graph.get_legend_handles_labels()[::-1], strict=True))
    shown = sorted(names)
    graph.legend(
        [names[name] for name in shown],
        [f"exchange {name}" for name in shown],
        frameon=False,
        ncols=3,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
    )
    for place, ranking in zip(places, RANKINGS, strict=True):
        text = "".join(str(int(rank)) for rank in ranking)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        graph.text(*place, text, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    graph.set_axis_off()
    graph.set_aspect("equal")
    kernels.plot(distance.ravel(), diffusion.ravel(), "o", color="#0072b2", label="diffusion, over its diagonal")
    by_distance = np.unique(np.stack([distance.ravel(), mallows.ravel()]).round(12), axis=1)
    kernels.plot(*by_distance, "--", color="#d55e00", label="Mallows")
    kernels.set_yscale("log")
    kernels.set_xlabel("adjacent ranks to exchange (Kendall distance)")
    kernels.set_ylabel("kernel of two rankings")
    kernels.grid(alpha=0.3)
    kernels.legend(frameon=False)
    figure.savefig(RESULTS / "kernels_figure2.png", dpi=150)


def _places() -> np.ndarray:
    """Rank vectors in the plane: the corners of the permutohedron, seen from a side where no two hide each other."""
    centered = RANKINGS - RANKINGS.mean()
    basis = np.linalg.qr(np.array([[1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1], [1, 1, 1, 1.0]]).T)[0][:, :3]
    solid = centered @ basis
    turn, tilt = np.deg2rad(17), np.deg2rad(23)
    x, y, z = solid.T
    x, y = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
    return np.stack([x, z * np.cos(tilt) + y * np.sin(tilt)], axis=1)


if __name__ == "__main__":
    main()
