"""Central rankings of many rankings: Borda, Copeland, Kemeny."""

from torchrank.aggregation.borda import borda

__all__ = ["borda"]
