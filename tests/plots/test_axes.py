"""What all pictures share."""

import subprocess
import sys

import numpy as np
import pytest

from tests.plots.scenes import ALL, LABELS, SCENES, new_axes
from torchrank import plots
from torchrank.plots.axes import style


@pytest.mark.parametrize("name", SCENES)
def test_axes_are_used_and_returned(name):
    from matplotlib import pyplot

    ax = new_axes()
    assert SCENES[name](ax) is ax
    assert pyplot.get_fignums() == []
    other = SCENES[name](None)
    assert other is not ax
    assert len(pyplot.get_fignums()) == 1


def test_what_is_given_stays_as_it_was():
    given = ALL, LABELS, np.arange(1.0, 25)
    X, labels, weights = (array.copy() for array in given)
    plots.plot_permutohedron(X, labels, weights=weights)
    plots.plot_cluster_positions(X, labels, weights=weights)
    for array, before in zip((X, labels, weights), given, strict=True):
        np.testing.assert_array_equal(array, before)
        array.flags.writeable = False  # writing and restoring would be refused
    plots.plot_permutohedron(X, labels, weights=weights)
    plots.plot_cluster_positions(X, labels, weights=weights)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_legends_hide_nothing_where_the_figure_makes_room(layout):
    from matplotlib import pyplot

    ax = pyplot.subplots(layout=layout)[1]
    plots.plot_curves([1, 2], {"one": [1, 2], "two": [2, 1]}, log=False, ax=ax)
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert (legend.x0 > ax.bbox.x1) == (layout is not None)
    assert legend.x1 <= ax.figure.bbox.x1


def test_many_series_differ():
    assert len({style(number) for number in range(64)}) == 64


@pytest.mark.slow
def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, torchrank.plots; print(sorted({'matplotlib', 'sklearn', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_to_do_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        plots.plot_gram(np.eye(2))
