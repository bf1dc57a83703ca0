"""Distributions of rankings in the manner of ``torch.distributions``, and their fits."""

from torchrank.distributions.fit_mallows import MallowsFit, fit_mallows
from torchrank.distributions.fit_plackett_luce import fit_plackett_luce
from torchrank.distributions.mallows import Mallows
from torchrank.distributions.plackett_luce import PlackettLuce
from torchrank.distributions.plackett_luce_fit import PlackettLuceFit
from torchrank.distributions.plackett_luce_regression import PlackettLuceRegression, RegressionFit
from torchrank.distributions.priors import GhostItem, NormalPrior
from torchrank.distributions.relaxed import RelaxedPlackettLuce

__all__ = [
    "GhostItem",
    "Mallows",
    "MallowsFit",
    "NormalPrior",
    "PlackettLuce",
    "PlackettLuceFit",
    "PlackettLuceRegression",
    "RegressionFit",
    "RelaxedPlackettLuce",
    "fit_mallows",
    "fit_plackett_luce",
]
