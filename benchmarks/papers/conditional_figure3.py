"""Error by iteration: Figure 3 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 6.2.

``TORCHRANK_DATA=folder python -m benchmarks.papers.conditional_figure3``. 1000 training and 500 test posts of the
four groups of set 1, no regularisation; regression and ranking loss, ordinary and symmetric kernel, CG on the
symmetric system and BiCGSTAB on the reduced one. On a complete graph the iterations run in the eigenbasis of the node
kernel.
"""

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.papers.conditional_data import data_folder, newsgroups
from benchmarks.papers.conditional_newsgroups import sample
from benchmarks.registry import RESULTS, Recorder
from torchrank.conditional import FitState, kron_iterative_rls, symmetrize
from torchrank.metrics import conditional_ranking_error

ITERATIONS = 200
MEASURED = sorted({*range(1, 21), *range(25, ITERATIONS + 1, 5)})
QUERIES = 100


def main() -> None:
    """Run, record and draw."""
    rng = np.random.default_rng(0)
    posts = sample(rng, newsgroups(data_folder())[0], 1500)
    order = rng.permutation(1500)
    train, test = posts.take(order[:1000]), posts.take(order[1000:])
    queries = test.take(np.arange(QUERIES))
    K = train.kernel(train)
    scale = K.diagonal().mean()
    start, end = (torch.from_numpy(part.kernel(train) / scale) for part in (queries, test))
    truth = torch.from_numpy(queries.relevance(test))
    recorder, curves = Recorder("conditional_figure3"), {}
    for method in ("cg", "bicgstab"):
        for loss in ("regression", "ranking"):
            for relation in ("ordinary", "symmetric"):
                errors: list[float] = []

                kron_iterative_rls(
                    K / scale,
                    None,
                    train.relevance(train),
                    0.0,
                    loss=loss,
                    relation=relation,
                    method=method,
                    tol=0,
                    max_iter=ITERATIONS,
                    callback=_measure(errors, start, end, truth, relation),
                )
                curves[method, loss, relation] = errors
                recorder.append(method=method, loss=loss, relation=relation, iterations=MEASURED, errors=errors)
                best = int(np.argmin(errors))
                print(
                    f"{method:<9} {loss:<10} {relation:<9} best {errors[best]:.4f} at {MEASURED[best]:>3}, "
                    f"at {MEASURED[-1]} {errors[-1]:.4f}"
                )
    _draw(curves)


def _measure(
    errors: list[float], start: torch.Tensor, end: torch.Tensor, truth: torch.Tensor, relation: str
) -> Callable[[FitState], None]:
    def measure(state: FitState) -> None:
        if state.n_iter in MEASURED:
            duals = state.duals()
            weights = duals if relation == "ordinary" else symmetrize(duals)
            errors.append(conditional_ranking_error(truth, start @ weights @ end.mT).pooled)

    return measure


def _draw(curves: dict[tuple[str, str, str], list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.5, 3.6), sharey=True, layout="constrained")
    for (method, loss, relation), errors in curves.items():
        axis = axes[0 if method == "cg" else 1]
        colour, style = {"regression": "#0072b2", "ranking": "#d55e00"}[loss], "-" if relation == "ordinary" else "--"
        axis.plot(MEASURED[: len(errors)], errors, style, color=colour, label=f"{loss}, {relation}")
        axis.set_title({"cg": "CG", "bicgstab": "BiCGSTAB"}[method], fontsize=11)
        axis.set_xlabel("iterations")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("ranking error")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS / "conditional_figure3.png", dpi=150)


if __name__ == "__main__":
    main()
