"""Rock, paper, scissors: Table 1 and Figure 2 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 6.1.

``python -m benchmarks.papers.conditional_rps [--repeats 100]``. :mod:`torchrank.datasets.games` has the generator and
our reading of it. 1000 games between distinct pairs of 100 players; each is two edges, labeled +1 from the winner and
-1 from the loser. Another 100 players test: the error is pooled over the edges leaving each of them. As in the paper,
the models are trained on the nine product features of an edge: at lam = 2^-30 the dual system is too ill-conditioned
to be iterated.
"""

import argparse

import numpy as np

from benchmarks.registry import RESULTS, Recorder
from torchrank.datasets.games import advantage, play, strategies
from torchrank.metrics import conditional_ranking_error

PAPER = {
    1: (0.4875, 0.4868, 0.4876, 0.4880),
    10: (0.04172, 0.04145, 0.04519, 0.04291),
    100: (0.001380, 0.001366, 0.001424, 0.001354),
}
MODELS = (("regression", False), ("regression", True), ("ranking", False), ("ranking", True))
PLAYERS, GAMES = 100, 1000
TABLE_POWER, FIGURE_POWERS = -30, range(-30, 31, 5)


def edge_features(start: np.ndarray, end: np.ndarray, reciprocal: bool) -> np.ndarray:
    """Products of features ``(..., 9)`` or their antisymmetric part, whose inner products are the kernels (7), (9)."""
    products = start[..., :, None] * end[..., None, :]
    if reciprocal:
        products = (products - products.swapaxes(-1, -2)) / 2
    return products.reshape(*products.shape[:-2], -1)


def weights(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None, lams: np.ndarray) -> np.ndarray:
    """Ridge regression ``(lams, features)``, on features and labels centered over each group for the ranking loss."""
    if groups is not None:
        sizes = np.bincount(groups)
        means = np.stack([np.bincount(groups, column) for column in (*X.T, y)], axis=1) / np.maximum(sizes, 1)[:, None]
        X, y = X - means[groups, :-1], y - means[groups, -1]
    values, vectors = np.linalg.eigh(X.T @ X)
    return (vectors.T @ (X.T @ y) / (values + lams[:, None])) @ vectors.T


def errors(rng: np.random.Generator, w: float, lams: np.ndarray) -> np.ndarray:
    """Test errors ``(models, lams)`` on one training and one test set."""
    moves, new = strategies(rng, w, PLAYERS), strategies(rng, w, PLAYERS)
    edges, y = play(rng, moves, GAMES)
    truth = advantage(new)
    result = np.empty((len(MODELS), len(lams)))
    for i, (loss, reciprocal) in enumerate(MODELS):
        X = edge_features(moves[edges[:, 0]], moves[edges[:, 1]], reciprocal)
        models = weights(X, y, edges[:, 0] if loss == "ranking" else None, lams)
        scores = edge_features(new[:, None], new[None], reciprocal) @ models.T
        result[i] = [conditional_ranking_error(truth, scores[..., k]).pooled for k in range(len(lams))]
    return result


def table(recorder: Recorder, repeats: int) -> None:
    """Table 1 with standard errors."""
    for w, paper in PAPER.items():
        runs = np.stack(
            [errors(np.random.default_rng(seed), w, np.array([2.0**TABLE_POWER])) for seed in range(repeats)]
        )
        means, deviations = runs[..., 0].mean(0), runs[..., 0].std(0, ddof=1) / repeats**0.5
        for (loss, reciprocal), mean, error, published in zip(MODELS, means, deviations, paper, strict=True):
            recorder.append(w=w, loss=loss, reciprocal=reciprocal, error=mean, standard_error=error, paper=published)
            model = f"w{w:<4} {loss:<10} reciprocal={reciprocal!s:<5}"
            print(
                f"{model} {mean:.6f} +- {error:.6f}  paper {published}, {abs(mean - published) / error:.1f} s.e. away"
            )


def figure(recorder: Recorder, repeats: int) -> None:
    """Figure 2: error against lam."""
    lams = 2.0 ** np.array(FIGURE_POWERS)
    curves: dict[tuple[int, str, bool], list[float]] = {}
    for w in PAPER:
        means = np.mean([errors(np.random.default_rng(seed), w, lams) for seed in range(repeats)], axis=0)
        for (loss, reciprocal), curve in zip(MODELS, means, strict=True):
            curves[w, loss, reciprocal] = curve.tolist()
            recorder.append(w=w, loss=loss, reciprocal=reciprocal, powers=list(FIGURE_POWERS), curve=curve.tolist())
    _draw(curves)


def _draw(curves: dict[tuple[int, str, bool], list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    looks = {"regression": ("#0072b2", "o-"), "ranking": ("#d55e00", "s--")}  # apart in gray and for the color-blind
    drawing, axes = pyplot.subplots(3, 2, figsize=(7, 8), sharex=True, sharey="row", layout="constrained")
    for (w, loss, reciprocal), curve in curves.items():
        axis, (color, style) = axes[list(PAPER).index(w), int(reciprocal)], looks[loss]
        axis.plot(FIGURE_POWERS, curve, style, color=color, markersize=4, label=loss)
        axis.set_title(f"w{w}, {'reciprocal' if reciprocal else 'ordinary'} kernel", fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("ranking error")
    for axis in axes[-1]:
        axis.set_xlabel("log2 lam")
    axes[0, 0].legend(frameon=False)
    drawing.savefig(RESULTS / "conditional_rps.png", dpi=150)


def main() -> None:
    """Run both and record the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    recorder = Recorder("conditional_rps")
    table(recorder, repeats)
    figure(recorder, max(2, repeats // 5))


if __name__ == "__main__":
    main()
