"""Data sets: readers of files and tables, and generators, all of which give the same type.

What is read or generated is a :class:`RankingData`: scores (larger = preferred, NaN = not ranked), names, weights and
what else is known. Edges of graphs, for conditional ranking, are an :class:`EdgeData`.
"""

from torchrank.datasets.csv_files import read_comparisons, read_rankings
from torchrank.datasets.data import EdgeData, RankingData
from torchrank.datasets.games import rock_paper_scissors
from torchrank.datasets.generators import make_mallows_mixture, make_plackett_luce_mixture
from torchrank.datasets.label_ranking import checker, circles, drop_labels, from_ranking_strings, read_label_ranking
from torchrank.datasets.preflib import read_preflib
from torchrank.datasets.tables import from_comparisons, ranking_data

__all__ = [
    "EdgeData",
    "RankingData",
    "checker",
    "circles",
    "drop_labels",
    "from_comparisons",
    "from_ranking_strings",
    "make_mallows_mixture",
    "make_plackett_luce_mixture",
    "ranking_data",
    "read_comparisons",
    "read_label_ranking",
    "read_preflib",
    "read_rankings",
    "rock_paper_scissors",
]
