"""Pictures without a screen, in colors and markers that are told apart with any kind of color vision."""

from typing import Any

from torchrank.plots.axes import MARKERS, PALETTE


def pyplot_for_files() -> Any:
    """``matplotlib.pyplot`` that draws into files and cycles through the library's palette and markers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.rcsetup import cycler

    pyplot.rcParams["axes.prop_cycle"] = cycler(color=PALETTE, marker=MARKERS)
    return pyplot
