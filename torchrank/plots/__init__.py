"""Pictures of rankings, clusters and fits, with matplotlib (``pip install "torchrank[plots]"``).

Every function draws into ``ax``, or into new axes, and returns them; colours are told apart by colour-blind readers.
"""

from torchrank.plots.clusters import plot_gram, plot_map, plot_silhouette
from torchrank.plots.fits import plot_curves, plot_parameters
from torchrank.plots.positions import plot_positions

__all__ = ["plot_curves", "plot_gram", "plot_map", "plot_parameters", "plot_positions", "plot_silhouette"]
