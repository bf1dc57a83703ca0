"""Time against size: Figure 5 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 6.5.

``TORCHRANK_DATA=folder python -m benchmarks.papers.conditional_figure5``. Ranking loss, lam = 1, at most 200 CG
iterations, newsgroups. Left: complete graphs of more and more nodes. Middle: 1000 nodes and more and more edges.
Right: complete graphs of 100 nodes with more and more features, random instead of the paper's images of digits. The
baseline is RankRLS on the edges themselves with an explicit kernel (left, middle) or explicit product features
(right). The paper's RankSVM programs are not run.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.conditional import plain_cg
from benchmarks.papers.conditional_data import data_folder, newsgroups
from benchmarks.papers.conditional_newsgroups import sample
from benchmarks.papers.conditional_rps import edge_features, weights
from benchmarks.registry import RESULTS, Recorder
from torchrank.conditional import kron_edge_rls, kron_iterative_rls, kron_rank_rls

ITERATIONS = 200
LIMIT = 2.0  # seconds after which a method is not tried on a larger case
LOOKS = {  # one for each method in all pictures, apart in gray and for the color-blind
    "closed form": ("#0072b2", "o-"),
    "CG in the eigenbasis": ("#56b4e9", "s--"),
    "CG with dense products": ("#009e73", "^-."),
    "CG on the edges": ("#cc79a7", "D-"),
    "RankRLS on the edges": ("#d55e00", "v:"),
    "RankRLS on product features": ("#000000", "x--"),
}


def explicit_rank_rls(K: Tensor, edges: Tensor, y: Tensor) -> Tensor:
    """RankRLS with lam = 1 on the explicit kernel between edges: the baseline."""
    start, end = edges.T
    G = K[start][:, start] * K[end][:, end]
    same = (start[:, None] == start[None]).double()
    identity = torch.eye(len(y), dtype=torch.float64)
    L = identity - same / same.sum(1)
    return torch.linalg.solve(L @ G + identity, L @ y)


def edges_of(p: int) -> Tensor:
    """All pairs of nodes."""
    return torch.cartesian_prod(torch.arange(p), torch.arange(p))


Method = Callable[[int], object]


def sweep(
    recorder: Recorder, part: str, sizes: list[int], methods: dict[str, Method]
) -> dict[str, list[tuple[int, float]]]:
    """Time each method on growing sizes until it takes longer than :data:`LIMIT`."""
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in methods}
    for name, method in methods.items():
        for size in sizes:
            start = time.process_time()
            method(size)
            seconds = time.process_time() - start
            curves[name].append((size, seconds))
            recorder.append(part=part, method=name, size=size, seconds=seconds)
            print(f"{part:<9} {name:<28} {size:>8} {seconds:9.3f} s")
            if seconds > LIMIT:
                break
    return curves


def complete_graphs(K: Tensor, F: Tensor) -> dict[str, Method]:
    """The methods of the left picture."""

    def part(p: int) -> tuple[Tensor, Tensor]:
        return K[:p, :p].contiguous(), F[:p, :p].contiguous()

    def iterate(p: int) -> object:
        kernel, labels = part(p)
        return kron_iterative_rls(kernel, None, labels, 1.0, loss="ranking", tol=0, max_iter=ITERATIONS)

    return {
        "closed form": lambda p: kron_rank_rls(part(p)[0], None, part(p)[1], 1.0),
        "CG in the eigenbasis": iterate,
        "CG with dense products": lambda p: plain_cg(*part(p), 1.0, ITERATIONS),
        "RankRLS on the edges": lambda p: explicit_rank_rls(part(p)[0], edges_of(p), part(p)[1].reshape(-1)),
    }


def sparse_graphs(K: Tensor, F: Tensor) -> dict[str, Method]:
    """The methods of the middle picture."""
    order = torch.randperm(F.numel(), generator=torch.Generator().manual_seed(0))

    def part(q: int) -> tuple[Tensor, Tensor]:
        places = order[:q]
        return torch.stack([places // len(K), places % len(K)], dim=1), F.reshape(-1)[places]

    def iterate(q: int) -> object:
        edges, y = part(q)
        return kron_edge_rls(K, None, edges, y, 1.0, loss="ranking", tol=0, max_iter=ITERATIONS)

    return {"CG on the edges": iterate, "RankRLS on the edges": lambda q: explicit_rank_rls(K, *part(q))}


def few_features(rng: np.random.Generator) -> dict[str, Method]:
    """The methods of the right picture, whose size is the number of features."""
    X, group = rng.normal(size=(100, 64)), rng.integers(10, size=100)
    F = (group[:, None] == group[None]).astype(float)
    edges = edges_of(100).numpy()

    def explicit(d: int) -> object:
        features = edge_features(X[edges[:, 0], :d], X[edges[:, 1], :d], reciprocal=False)
        return weights(features, F.reshape(-1), edges[:, 0], np.array([1.0]))

    return {
        "closed form": lambda d: kron_rank_rls(X[:, :d] @ X[:, :d].T, None, F, 1.0),
        "RankRLS on product features": explicit,
    }


def main() -> None:
    """Run, record and draw."""
    rng = np.random.default_rng(0)
    posts = sample(rng, newsgroups(data_folder())[0], 2000)
    posts = posts.take(rng.permutation(2000))  # they come sorted by group
    K = posts.kernel(posts)
    kernel, labels = torch.from_numpy(K / K.diagonal().mean()), torch.from_numpy(posts.relevance(posts))
    torch.set_num_threads(1)  # as in the paper; so processor time is what a free machine would take
    recorder = Recorder("conditional_figure5")
    small = edges_of(10)
    explicit = explicit_rank_rls(kernel[:10, :10], small, labels[:10, :10].reshape(-1)).reshape(10, 10)
    assert torch.allclose(explicit, kron_rank_rls(kernel[:10, :10], None, labels[:10, :10], 1.0), atol=1e-9)
    middle = kernel[:1000, :1000].contiguous(), labels[:1000, :1000].contiguous()
    pictures = {
        "nodes": sweep(recorder, "nodes", [10, 20, 40, 60, 125, 250, 500, 1000, 2000], complete_graphs(kernel, labels)),
        "edges": sweep(recorder, "edges", [1000, 2000, 4000, 32_000, 250_000, 1_000_000], sparse_graphs(*middle)),
        "features": sweep(recorder, "features", [2, 4, 8, 16, 32, 48], few_features(np.random.default_rng(0))),
    }
    _draw(pictures)


def _draw(pictures: dict[str, dict[str, list[tuple[int, float]]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    lines = {}
    for axis, (part, curves) in zip(axes, pictures.items(), strict=True):
        for name, points in curves.items():
            color, style = LOOKS[name]
            lines[name] = axis.loglog(*zip(*points, strict=True), style, color=color, markersize=5, label=name)[0]
        axis.set_xlabel(part)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(which="major", alpha=0.3)
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    axes[0].set_ylabel("processor seconds, one thread")
    figure.savefig(RESULTS / "conditional_figure5.png", dpi=150)


if __name__ == "__main__":
    main()
