"""Classification of rankings: top scoring pairs and the majority vote of all pairs, kernel Fisher discriminants."""

from torchrank.classification.fisher import FisherDiscriminant, KernelFisherDiscriminant, fisher_discriminant
from torchrank.classification.majority_votes import AllPairsMajorityVote, TopScoringPairs
from torchrank.classification.pair_scores import (
    ScoredPairs,
    all_pairs_margins,
    paired_items,
    top_scoring_pairs,
    vote_margins,
)

__all__ = [
    "AllPairsMajorityVote",
    "FisherDiscriminant",
    "KernelFisherDiscriminant",
    "ScoredPairs",
    "TopScoringPairs",
    "all_pairs_margins",
    "fisher_discriminant",
    "paired_items",
    "top_scoring_pairs",
    "vote_margins",
]
