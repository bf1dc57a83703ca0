"""Central rankings of many rankings: Borda, Copeland, Kemeny."""

from torchrank.aggregation.borda import borda
from torchrank.aggregation.copeland import copeland
from torchrank.aggregation.kemeny import KemenyRanking, kemeny, kemeny_of_preferences
from torchrank.aggregation.preferences import pair_preferences
from torchrank.aggregation.smoothed import smoothed_borda, smoothed_copeland

__all__ = [
    "KemenyRanking",
    "borda",
    "copeland",
    "kemeny",
    "kemeny_of_preferences",
    "pair_preferences",
    "smoothed_borda",
    "smoothed_copeland",
]
