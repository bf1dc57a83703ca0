"""How the cost of a pair of rankings grows with the number of items, measured against what operation counts predict."""

import numpy as np
import torch

from benchmarks.ops.kendall_gram import PEAK_COMPARISONS, make_scores, popcount_peak
from benchmarks.registry import RESULTS, Recorder, alternate, benchmark, median
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.pair_counts import WORKSPACE, pair_counts

_ITEMS = {
    "signs": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384),
    "inversions": (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144),
}
_REFERENCE_ITEMS = 8192  # where an item's look-up is timed for the prediction of inversions


@benchmark("cost")
def run(recorder: Recorder) -> None:
    """Time both engines over n, predict them, and draw both."""
    popcount_peak()
    peak = PEAK_COMPARISONS / median(alternate({"peak": popcount_peak}, 5)["peak"])
    measured = {method: [_us_per_pair(method, n) for n in items] for method, items in _ITEMS.items()}
    look_up = measured["inversions"][_ITEMS["inversions"].index(_REFERENCE_ITEMS)] / _REFERENCE_ITEMS
    predicted = {
        "signs": [1e6 * n * (n - 1) / 2 / peak for n in _ITEMS["signs"]],  # m^2 n^2 / 64 words at the popcount rate
        "inversions": [n * look_up for n in _ITEMS["inversions"]],  # m^2 n look-ups
    }
    for method, items in _ITEMS.items():
        for n, us, expected in zip(items, measured[method], predicted[method], strict=True):
            recorder.append(method=method, n=n, us_per_pair=us, predicted_us_per_pair=expected)
            print(f"{method:<11} n={n:>7} measured {us:>10.3f} us a pair, predicted {expected:>10.3f}")
    _draw(measured, predicted)


def _us_per_pair(method: str, n: int) -> float:
    work = 2e11 / n**2 if method == "signs" else 1e8 / n  # a tenth of a second or two
    m = int(np.clip(work**0.5, 16, 1000))
    ranks = dense_ranks(torch.from_numpy(make_scores(m, n, None)), "allow", "scores")[0][None]

    def count() -> None:
        pair_counts(ranks, None, False, method, WORKSPACE, False)

    count()  # compiles
    return 1e6 * median(alternate({method: count}, 5)[method]) / (m * (m + 1) // 2)


def _draw(measured: dict[str, list[float]], predicted: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    for method, color, marker in (("signs", "#0072b2", "o"), ("inversions", "#d55e00", "s")):
        axes.loglog(_ITEMS[method], measured[method], marker, color=color, label=f"{method}, measured")
        axes.loglog(_ITEMS[method], predicted[method], "-", color=color, linewidth=1, label=f"{method}, predicted")
    axes.set_xlabel("items in a ranking")
    axes.set_ylabel("microseconds a pair of rankings")
    axes.set_title(f"pair_counts on {torch.get_num_threads()} CPU threads", fontsize=11)
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(RESULTS / "cost.png", dpi=150)
