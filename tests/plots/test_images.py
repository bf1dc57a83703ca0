"""What pictures look like from afar: no font or version of matplotlib changes that, a wrong color or no data does."""

import importlib

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
from tests.plots.scenes import REFERENCES, SCENES, new_axes, thumbnail  # noqa: E402

MOST, MEAN = 0.3, 0.01  # one row of pixels of four may move by one, between black and white


def is_like(picture, name):
    reference = matplotlib.image.imread(REFERENCES / f"{name}.png")[..., :3]
    difference = np.abs(picture - reference)
    return bool(difference.max() <= MOST and difference.mean() <= MEAN)


@pytest.mark.parametrize("name", SCENES)
def test_pictures_look_as_they_did(name):
    assert is_like(thumbnail(SCENES[name](new_axes())), name)


@pytest.mark.parametrize("name", SCENES)
def test_fonts_make_no_difference(name):
    with matplotlib.rc_context({"font.family": "serif", "font.size": 17}):
        assert is_like(thumbnail(SCENES[name](new_axes())), name)


@pytest.mark.parametrize("name", SCENES)
def test_other_colours_are_seen(name, monkeypatch):
    axes = importlib.import_module("torchrank.plots.axes")
    monkeypatch.setattr(axes, "PALETTE", axes.PALETTE[1:3] + axes.PALETTE[:1] + axes.PALETTE[3:])
    ax = SCENES[name](new_axes())
    for image in ax.images:
        image.set_cmap(image.get_cmap().reversed())
    assert not is_like(thumbnail(ax), name)


@pytest.mark.parametrize("name", SCENES)
def test_an_empty_picture_is_seen(name):
    ax = SCENES[name](new_axes())
    for artist in [*ax.images, *ax.lines, *ax.collections, *ax.patches]:
        artist.remove()
    assert not is_like(thumbnail(ax), name)


@pytest.mark.parametrize("name", ["gram", "silhouette", "map", "permutohedron"])
def test_other_clusters_are_seen(name, monkeypatch):
    scenes = importlib.import_module("tests.plots.scenes")
    monkeypatch.setattr(scenes, "LABELS", np.roll(scenes.LABELS, 5))
    assert not is_like(thumbnail(SCENES[name](new_axes())), name)
