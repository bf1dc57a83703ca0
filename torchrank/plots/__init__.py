"""Pictures of rankings, clusters and fits, with matplotlib (``pip install matplotlib``).

Every function draws into the axes it is given, or into those of a new figure, and returns them; it shows nothing and
leaves matplotlib's settings alone. NumPy arrays, tensors on any device and pandas are all taken. Colors are told apart
with any kind of color vision, and shapes or lightness tell the same once more.
"""

from torchrank.plots.association import plot_test
from torchrank.plots.average_ranks import plot_average_ranks
from torchrank.plots.clusters import plot_gram, plot_silhouette
from torchrank.plots.curves import plot_curves, plot_search
from torchrank.plots.graphs import plot_graph
from torchrank.plots.losses import plot_losses
from torchrank.plots.maps import plot_map
from torchrank.plots.parameters import plot_parameters
from torchrank.plots.permutohedron import plot_permutohedron
from torchrank.plots.positions import plot_cluster_positions, plot_positions

__all__ = [
    "plot_average_ranks",
    "plot_cluster_positions",
    "plot_curves",
    "plot_gram",
    "plot_graph",
    "plot_losses",
    "plot_map",
    "plot_parameters",
    "plot_permutohedron",
    "plot_positions",
    "plot_search",
    "plot_silhouette",
    "plot_test",
]
