"""How good a ranking is."""

from torchrank.metrics.conditional import ConditionalRankingError, concordance_index, conditional_ranking_error

__all__ = ["ConditionalRankingError", "concordance_index", "conditional_ranking_error"]
