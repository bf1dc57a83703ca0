"""What a reader of a picture needs: texts that are whole, and apart from each other."""

from itertools import combinations
from unittest.mock import patch

from matplotlib.text import Annotation, Text

DRAW = Text.draw


def drawn_texts(figure):
    """All texts that are seen, with their boxes in pixels."""
    drawn = []

    def draw(text, renderer):
        drawn.append(text)
        DRAW(text, renderer)

    with patch.object(Text, "draw", draw):
        figure.canvas.draw()
    drawn = [text for text in drawn if text.get_visible() and text.get_text().strip()]
    return [(text, Text.get_window_extent(text)) for text in drawn]


def draw_if_stale(figure):
    """Places of texts are those of the last time that they were drawn, which takes most of these tests' time."""
    if figure.stale:
        figure.canvas.draw()


def cut_off(figure):
    """Texts that are not whole inside the figure."""
    whole = figure.bbox
    return [
        text.get_text()
        for text, box in drawn_texts(figure)
        if box.x0 < whole.x0 - 0.5 or box.y0 < whole.y0 - 0.5 or box.x1 > whole.x1 + 0.5 or box.y1 > whole.y1 + 0.5
    ]


def overlapping(texts):
    """Pairs of texts of which one covers some of the other; lines between them may touch."""
    texts = list(texts)
    if texts:
        draw_if_stale(texts[0].figure)
    boxes = [Text.get_window_extent(text) for text in texts]
    return [
        (a.get_text(), b.get_text())
        for (a, one), (b, other) in combinations(zip(texts, boxes, strict=True), 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 1.5
    ]


def annotations(ax):
    """Names that were written beside points."""
    return [text for text in ax.texts if isinstance(text, Annotation)]


def ticks_that_overlap(ax):
    """Pairs of names of ticks, along either axis."""
    draw_if_stale(ax.figure)
    return [pair for labels in (ax.get_xticklabels(), ax.get_yticklabels()) for pair in overlapping(labels)]
