"""Methods of label ranking over all data sets: averages, average ranks, wins, and paired tests, on equal terms.

Equal terms are those of "K chosen inside": the same folds, the same candidates for K, the same rule of choice. Rivals
that have no K choose among as many settings of their own. A method is compared where it ran on all sets, by the mean
over the repeats that all of them have.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from torchrank.plots import plot_average_ranks
from torchrank.plots.average_ranks import critical_difference

Row = dict[str, Any]
EQUAL_TERMS = (
    "1-Rank",
    "Km-Mal, K chosen inside",
    "Naive-Km, K chosen inside",
    "RT-prune, K chosen inside",
    "RT-iter, K chosen inside",
    "MM-PL, K chosen inside",
    "MM-PL of ten members",
    "neighbors",
    "forest of positions",
    "forest of pairs",
    "logistic pairs",
)
OURS = "MM-PL, K chosen inside"
BEST = "MM-PL of ten members"  # past the paper


class Losses(NamedTuple):
    """Losses of methods on sets: the mean over the repeats that all methods have."""

    methods: tuple[str, ...]
    sets: tuple[str, ...]
    values: np.ndarray  # (methods, sets)

    @property
    def ranks(self) -> np.ndarray:
        """Ranks of methods on every set, 1 for the least loss, ``(methods, sets)``."""
        return rankdata(self.values, axis=0)


def losses_of(rows: Sequence[Row], sets: Sequence[str], reading: str, missing: float) -> Losses:
    """Methods of equal terms that ran on all sets."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if (row["reading"], row["missing"]) == (reading, missing):
            found.setdefault((row["method"], row["set"]), {})[row["repeat"]] = row["loss"]
    methods = tuple(m for m in EQUAL_TERMS if all((m, name) in found for name in sets))
    values = np.empty((len(methods), len(sets)))
    for column, name in enumerate(sets):
        common = set.intersection(*(set(found[m, name]) for m in methods)) if methods else set()
        for line, method in enumerate(methods):
            values[line, column] = np.mean([found[method, name][repeat] for repeat in sorted(common)])
    return Losses(methods, tuple(sets), values)


def comparison(losses: Losses) -> str:
    """A table as Markdown: averages, average ranks, and MM-PL beside each, with Wilcoxon's p-values."""
    ours = BEST if BEST in losses.methods else OURS
    if ours not in losses.methods or len(losses.methods) < 2:
        return ""
    mine = losses.values[losses.methods.index(ours)]
    places = losses.ranks.mean(1)
    lines = [
        f"| method | average | average rank | {ours}: won, lost | p (Wilcoxon) |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for line in np.argsort(losses.values.mean(1), kind="stable"):
        values, name = losses.values[line], losses.methods[line]
        entries = [f"{values.mean():.4f}", f"{places[line]:.2f}"]
        if name == ours:
            entries += ["", ""]
        else:
            test: Any = wilcoxon(mine, values)
            entries += [f"{(mine < values).sum()}, {(mine > values).sum()}", f"{test.pvalue:.3g}"]
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    k, n = losses.values.shape
    lines += ["", f"Critical difference of average ranks (Nemenyi, 5 %): {critical_difference(k, n, 0.05):.2f}."]
    return "\n".join(lines) + "\n"


def draw(losses: Losses, path: Path) -> None:
    """Average ranks with Nemenyi's critical difference, as a picture."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    plot_average_ranks(-losses.values.T, items=[m.removesuffix(", K chosen inside") for m in losses.methods], ax=ax)
    figure.savefig(path, dpi=110)
    plt.close(figure)
