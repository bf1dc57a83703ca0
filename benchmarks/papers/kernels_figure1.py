"""The smoothed sign: Figure 1 of Jiao and Vert, IEEE TPAMI 40(7), 2018, doi:10.1109/TPAMI.2017.2719680, Section 5.

``python -m benchmarks.papers.kernels_figure1``. The sign of a difference t of two scores, and its expectation g_a(t)
when each score has a uniform jitter of width a = 1, from ``smoothed_features`` of two items; beside it the mean sign
over drawn jitters, and the expectation under Gaussian jitter, which the paper leaves out.
"""

import numpy as np

from benchmarks.registry import RESULTS, Recorder
from torchrank import kendall_features, smoothed_features

WINDOW = 1.0
DRAWS = 20_000
DIFFERENCES = np.linspace(-2, 2, 161)


def main() -> None:
    """Compute, compare with the printed formula and with drawn jitters, record and draw."""
    curves, drawn = expected_signs(), mean_signs(np.random.default_rng(0))
    from_formula = float(np.abs(curves["uniform"] - printed(DIFFERENCES, WINDOW)).max())
    standard_error = np.sqrt((1 - curves["uniform"] ** 2) / DRAWS)
    from_draws = float((np.abs(drawn - curves["uniform"]) / np.where(standard_error > 0, standard_error, 1)).max())
    print(
        f"g_a against the printed formula: {from_formula:.1e}; against {DRAWS} jitters: {from_draws:.1f} s.e. at most"
    )
    if from_formula > 1e-12:
        raise AssertionError(f"expected signs differ from the printed formula by {from_formula}")
    Recorder("kernels_figure1").append(
        window=WINDOW,
        differences=DIFFERENCES.tolist(),
        curves={name: values.tolist() for name, values in curves.items()},
        largest_difference_from_printed_formula=from_formula,
        largest_difference_from_drawn_jitters_in_standard_errors=from_draws,
        note="agrees with the figure: odd, 0 at 0, quadratic within the window and the sign beyond it",
    )
    _draw(curves, drawn)


def expected_signs() -> dict[str, np.ndarray]:
    """Expected signs of two items at each difference, without jitter and with both kinds of it."""
    X = np.stack([DIFFERENCES, np.zeros_like(DIFFERENCES)], axis=1)
    curves = {noise: smoothed_features(X, window=WINDOW, noise=noise)[:, 0] for noise in ("uniform", "gaussian")}
    return {"sign": kendall_features(X)[:, 0], **curves}


def mean_signs(rng: np.random.Generator) -> np.ndarray:
    """The mean sign over drawn jitters at each difference."""
    jitter = rng.uniform(-WINDOW / 2, WINDOW / 2, (2, DRAWS))
    return np.sign(DIFFERENCES[:, None] + jitter[0] - jitter[1]).mean(axis=1)


def printed(t: np.ndarray, a: float) -> np.ndarray:
    """g_a as the paper prints it below equation 13."""
    inside = np.where(t >= 0, 2 * (t / a) - (t / a) ** 2, 2 * (t / a) + (t / a) ** 2)
    return np.where(t >= a, 1, np.where(t <= -a, -1, inside))


def _draw(curves: dict[str, np.ndarray], drawn: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(5.2, 3.6), layout="constrained")
    for side in (DIFFERENCES < 0, DIFFERENCES > 0):
        axis.plot(DIFFERENCES[side], curves["sign"][side], color="black", label="sign" if side[0] else None)
    axis.plot(DIFFERENCES, curves["uniform"], color="#d55e00", label="uniform jitter, width 1")
    axis.plot(DIFFERENCES, curves["gaussian"], "--", color="#0072b2", label="Gaussian jitter, s.d. 1")
    every = slice(4, None, 8)
    axis.plot(DIFFERENCES[every], drawn[every], ".", color="#d55e00", label=f"mean of {DRAWS:,} uniform jitters")
    axis.set_xlabel("difference of two scores")
    axis.set_ylabel("expected sign")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(RESULTS / "kernels_figure1.png", dpi=150)


if __name__ == "__main__":
    main()
