"""Pictures without letters, made small: what a reader sees from afar, whatever the font.

``python -m tests.plots.scenes`` draws the references anew; look at them, enlarged, before they are committed.
"""

from itertools import permutations
from pathlib import Path

import matplotlib
import matplotlib.figure
import matplotlib.image
import numpy as np

import torchrank
from torchrank import plots
from torchrank.metrics import silhouette_samples

REFERENCES = Path(__file__).parent / "pictures"
BLOCK = 4  # pixels along each side that become one
ALL = np.array(list(permutations([1.0, 2, 3, 4])))
LABELS = ALL[:, :3].argmax(axis=1)
VOTES = 1 + np.arange(24) % 5
K = torchrank.kendall_gram(ALL)
WIDTHS = silhouette_samples(torchrank.kendall_distance(ALL), LABELS)
SETTINGS = np.logspace(-2, 2, 9)
CURVES = {"one": 1 - 0.4 / (1 + SETTINGS), "two": 0.6 + 0.1 * np.sin(np.arange(9)), "three": np.full((4, 9), 0.5)}
ESTIMATES = {"one": [0.0, 1, 2, 4], "two": [1.0, 0, 3, 2]}
ERRORS = {"one": [0.2, 0.4, 0.2, 0.3], "two": [0.1, 0.1, 0.5, 0.4]}
TEST = (np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(-1, 1, 12).reshape(3, 4) ** 8 * 0.9 + 1e-9)
GRAPH = np.where(np.abs(K[::3, ::3]) > 0.6, K[::3, ::3], 0)

SCENES = {
    "gram": lambda ax: plots.plot_gram(K[::4, ::4], LABELS[::4], ax=ax),
    "silhouette": lambda ax: plots.plot_silhouette(WIDTHS, LABELS, weights=VOTES, ax=ax),
    "map": lambda ax: plots.plot_map(K[:17, :17], LABELS[:17], weights=VOTES[:17], ax=ax),
    "permutohedron": lambda ax: plots.plot_permutohedron(ALL, LABELS, weights=VOTES, ax=ax),
    "positions": lambda ax: plots.plot_positions(ALL, weights=VOTES**2, center=[4, 3, 2, 1], ax=ax),
    "parameters": lambda ax: plots.plot_parameters(ESTIMATES, ERRORS, ax=ax),
    "test": lambda ax: plots.plot_test(TEST, ax=ax),
    "graph": lambda ax: plots.plot_graph(GRAPH, LABELS[::3], ax=ax),
    "average_ranks": lambda ax: plots.plot_average_ranks(ALL, weights=VOTES, ax=ax),
    "losses": lambda ax: plots.plot_losses(CURVES["two"], ax=ax),
    "curves": lambda ax: plots.plot_curves(SETTINGS, CURVES, {"one": np.full(9, 0.05)}, ax=ax),
}


def new_axes():
    """Axes at a place that no text decides."""
    return matplotlib.figure.Figure(figsize=(4, 3), dpi=60).add_axes((0.05, 0.05, 0.9, 0.9))


def thumbnail(ax):
    """``(45, 60, 3)`` colors from 0 to 1 of the axes' figure, without letters."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    for artist in [*ax.figure.findobj(Text), *ax.figure.findobj(Legend)]:
        artist.set_visible(False)
    for each in ax.figure.axes:
        each.tick_params(which="both", length=0)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3] / 255
    height, width, _ = pixels.shape
    return pixels.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean(axis=(1, 3))


def main():
    """Draw the references."""
    for name, draw in SCENES.items():
        picture = (255 * thumbnail(draw(new_axes()))).round().astype(np.uint8)
        matplotlib.image.imsave(REFERENCES / f"{name}.png", picture)


if __name__ == "__main__":
    main()
