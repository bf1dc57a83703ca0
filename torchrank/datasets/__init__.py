"""Data sets: readers of files and tables, published sets by name, and generators.

All of them give a :class:`RankingData`: scores (larger = preferred, NaN = not ranked), names, weights and what else is
known. For conditional ranking there are edges between nodes with features, :class:`EdgeData`, and labels of all pairs
of two kinds of nodes with kernels, :class:`NetworkData`.
"""

from torchrank.datasets.comparisons import from_comparisons
from torchrank.datasets.csv_files import read_comparisons, read_rankings
from torchrank.datasets.data import EdgeData, RankingData
from torchrank.datasets.fetch import (
    NetworkData,
    fetch_apa,
    fetch_davis,
    fetch_eurovision,
    fetch_gene_expression,
    fetch_label_ranking,
    fetch_sushi,
    fetch_yamanishi,
)
from torchrank.datasets.games import rock_paper_scissors
from torchrank.datasets.generators import make_mallows_mixture, make_plackett_luce_mixture
from torchrank.datasets.label_ranking import checker, circles, drop_labels, read_label_ranking
from torchrank.datasets.preflib import read_preflib
from torchrank.datasets.ranking_strings import from_ranking_strings, to_ranking_strings
from torchrank.datasets.tables import ranking_data

__all__ = [
    "EdgeData",
    "NetworkData",
    "RankingData",
    "checker",
    "circles",
    "drop_labels",
    "fetch_apa",
    "fetch_davis",
    "fetch_eurovision",
    "fetch_gene_expression",
    "fetch_label_ranking",
    "fetch_sushi",
    "fetch_yamanishi",
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
    "to_ranking_strings",
]
