"""MM-PL of several members: mixtures of bootstrap samples, which are one mixture together."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from torchrank._warnings import quietly
from torchrank.label_ranking.evidence import MMPLFit
from torchrank.label_ranking.fit import fit_mixture, training_rows
from torchrank.label_ranking.gates import PrototypeMixture
from torchrank.label_ranking.rankings import label_meaning, untied_label_ranks
from torchrank.label_ranking.settings import EMSettings
from torchrank.rankings.draws import numpy_generator
from torchrank.rankings.missing import Missing


def fit_members(
    X: Tensor,
    Y: Any,
    n_clusters: int,
    n_prototypes: int,
    n_members: int,
    settings: EMSettings,
    *,
    missing: Missing,
    generator: torch.Generator | None,
    **options: Any,
) -> tuple[PrototypeMixture, MMPLFit]:
    """Fit each member, of ``n_clusters`` and ``n_prototypes`` altogether, to rows drawn with replacement.

    Rows are drawn among those that rank two labels, so that each sample has something to teach.
    """
    ranks = untied_label_ranks(Y)
    taught = training_rows(X, Y, n_prototypes, missing).taught
    meaning = label_meaning(ranks, missing)
    parts, fits = [], []
    for _ in range(n_members):
        drawn = torch.from_numpy(numpy_generator(generator).choice(taught, len(taught))).to(X.device)
        with quietly():  # samples have fewer different rows; of all of them a warning was given above
            words = meaning.of_rows(drawn, ranks.shape[:1])
            part, evidence = fit_mixture(
                X[drawn], Y[drawn], n_clusters, n_prototypes, settings, missing=words, generator=generator, **options
            )
        parts.append(part)
        fits.append(evidence)
    return _together(parts), _of_all(fits)


def _together(parts: list[PrototypeMixture]) -> PrototypeMixture:
    """Members one after another."""
    shifts = range(0, len(parts) * len(parts[0].logits), len(parts[0].logits))
    return PrototypeMixture(
        torch.cat([part.prototypes for part in parts]),
        torch.cat([part.membership + shift for part, shift in zip(parts, shifts, strict=True)]),
        torch.cat([part.logits for part in parts]),
        torch.stack([part.sigma.reshape(()) for part in parts]),
    )


def _of_all(fits: list[MMPLFit]) -> MMPLFit:
    """How all went: means over the members that were still trained, and the losses of all starts."""
    longest = max(fit.n_iter for fit in fits)
    passes = [[fit.objective[k] for fit in fits if k < fit.n_iter] for k in range(longest)]
    worst = min(fits, key=lambda fit: fit.converged)
    return dataclasses.replace(
        worst,
        objective=tuple(sum(values) / len(values) for values in passes),
        losses=tuple(loss for fit in fits for loss in fit.losses),
        n_iter=longest,
        n_updates=sum(fit.n_updates for fit in fits),
    )
