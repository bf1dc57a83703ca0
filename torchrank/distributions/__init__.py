"""Distributions of rankings in the manner of ``torch.distributions``, and their fits."""

from torchrank.distributions.fit_plackett_luce import PlackettLuceFit, fit_plackett_luce

__all__ = ["PlackettLuceFit", "fit_plackett_luce"]
