"""Error by iteration: Figure 3 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 6.2.

``TORCHRANK_DATA=folder python -m benchmarks.papers.conditional_figure3 [--repeats 3]``. 1000 training and 500 test
posts of the four groups of set 1, no regularization; regression and ranking loss, ordinary and symmetric kernel, mean
of some draws. On a complete graph the iterations run in the eigenbasis of the node kernel.

What an early iterate is depends on the system. The library iterates on the well conditioned ones, by CG on
``L G L a = L y`` and by BiCGSTAB on ``L G a = L y``; the paper's CG is on ``G L G a = G L y`` (Section 4.4), which is
built here for comparison. Only there, where errors fall slowly, does the symmetric kernel help the ranking loss
throughout; on the other two systems it is ahead in the first ten iterations at most, and the best iterates are alike.
"""

import argparse
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from benchmarks.papers.conditional_data import Posts, data_folder, newsgroups
from benchmarks.papers.conditional_newsgroups import sample
from benchmarks.registry import RESULTS, Recorder
from torchrank.conditional import kron_iterative_rls, symmetrize
from torchrank.linalg import cg, psd_eigh
from torchrank.metrics import conditional_ranking_error
from torchrank.typing import KrylovMethod, Loss, Relation

Method: TypeAlias = KrylovMethod | Literal["paper"]
MEASURED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200)
TRAIN, TEST, QUERIES = 1000, 500, 100
TITLES: dict[Any, str] = {"cg": "CG", "bicgstab": "BiCGSTAB", "paper": "CG on the paper's system"}
Duals = Callable[[], Tensor]
Visit = Callable[[int, Duals], None]


def iterate(K: Tensor, F: Tensor, method: Method, loss: Loss, relation: Relation, visit: Visit) -> None:
    """Show ``visit`` every iterate: its number and what computes its duals."""
    if method == "paper":
        normal_equations(K, F, loss, relation, visit)
        return
    kron_iterative_rls(
        K,
        None,
        F,
        0.0,
        loss=loss,
        relation=relation,
        method=method,
        tol=0,
        max_iter=MEASURED[-1],
        callback=lambda state: visit(state.n_iter, state.duals),
    )


def normal_equations(K: Tensor, F: Tensor, loss: str, relation: str, visit: Visit) -> None:
    """CG on ``G L G a = G L y`` in the eigenbasis, where ``G`` is diagonal but for the swap of nodes."""
    values, V = psd_eigh(K)
    products = torch.outer(values, values)
    constant = V.sum(0) / len(V) ** 0.5

    def gram(v: Tensor) -> Tensor:
        return symmetrize(v * products) if relation == "symmetric" else v * products

    def center(v: Tensor) -> Tensor:
        return v - torch.outer(v @ constant, constant) if loss == "ranking" else v

    cg(
        lambda v: gram(center(gram(v))),
        gram(center(V.mT @ F @ V)),
        tol=0,
        max_iter=MEASURED[-1],
        callback=lambda state: visit(state.n_iter, lambda: V @ state.x @ V.mT),
    )


def curves(train: Posts, test: Posts) -> dict[tuple[str, str, str], list[float]]:
    """Test errors at the iterations :data:`MEASURED` by method, loss and relation."""
    queries = test.take(np.arange(QUERIES))
    K, F = train.kernel(train), torch.from_numpy(train.relevance(train))
    scale = K.diagonal().mean()
    kernel = torch.from_numpy(K / scale)
    start, end = (torch.from_numpy(part.kernel(train) / scale) for part in (queries, test))
    truth = torch.from_numpy(queries.relevance(test))
    results = {}
    for method in TITLES:
        for loss in ("regression", "ranking"):
            for relation in ("ordinary", "symmetric"):
                errors = results[method, loss, relation] = []

                def visit(n_iter: int, duals: Duals, errors: list[float] = errors, relation: str = relation) -> None:
                    if n_iter in MEASURED:
                        weights = duals() if relation == "ordinary" else symmetrize(duals())
                        errors.append(conditional_ranking_error(truth, start @ weights @ end.mT).pooled)

                iterate(kernel, F, method, loss, relation, visit)
    return results


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    recorder, posts = Recorder("conditional_figure3"), newsgroups(data_folder())[0]
    runs: list[dict[tuple[str, str, str], list[float]]] = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        drawn = sample(rng, posts, TRAIN + TEST)
        order = rng.permutation(TRAIN + TEST)
        runs.append(curves(drawn.take(order[:TRAIN]), drawn.take(order[TRAIN:])))
        for (method, loss, relation), errors in runs[-1].items():
            recorder.append(seed=seed, method=method, loss=loss, relation=relation, iterations=MEASURED, errors=errors)
    means = {key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]}
    for method in TITLES:
        for loss in ("regression", "ranking"):
            ordinary, symmetric = (means[method, loss, relation] for relation in ("ordinary", "symmetric"))
            print(f"{TITLES[method]}, {loss}: best ordinary {ordinary.min():.4f}, symmetric {symmetric.min():.4f}")
    _draw(means)


def _draw(means: dict[tuple[str, str, str], np.ndarray]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4.1), sharey=True, layout="constrained")
    by_method = dict(zip(TITLES, axes, strict=True))
    for (method, loss, relation), errors in means.items():
        axis, color = by_method[method], {"regression": "#0072b2", "ranking": "#d55e00"}[loss]
        style = "o-" if relation == "ordinary" else "x--"
        axis.semilogx(MEASURED, errors, style, color=color, markersize=4, label=f"{loss}, {relation}")
        axis.set_title(TITLES[method], fontsize=11)
        axis.set_xlabel("iterations")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("ranking error")
    lines, names = axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(RESULTS / "conditional_figure3.png", dpi=150)


if __name__ == "__main__":
    main()
