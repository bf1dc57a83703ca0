"""Maximum-likelihood and penalized fits of Plackett-Luce worths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.distributions.batched_fit import fit_in_batches
from torchrank.distributions.choice_lists import ChoiceLists, choice_lists, one_set
from torchrank.distributions.choices import TIES_OR
from torchrank.distributions.connectivity import refuse_no_maximum
from torchrank.distributions.likelihood import PlackettLuceObjective
from torchrank.distributions.maximum import maximum, method_for
from torchrank.distributions.plackett_luce_fit import PlackettLuceFit, with_origin
from torchrank.distributions.priors import Gamma, LogPrior, Prior, log_prior
from torchrank.distributions.tied_likelihood import TiedObjective
from torchrank.processes import Group
from torchrank.rankings.arrays import as_array
from torchrank.rankings.batches import Batched, as_batches, refuse_weights, refuse_without_batches
from torchrank.rankings.derivatives import not_followed, on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.sparse_forms import from_rankings
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, as_weights, check_choice, check_count, check_finite
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.typing import Array, Covariance, Values, WorthMethod, WorthTies

METHODS = get_args(WorthMethod)
TIES = get_args(WorthTies)
COVARIANCES = get_args(Covariance)


@isolated
@unmapped(SEARCHES)
@shares_arguments(OF_BATCHES)
def fit_plackett_luce(
    X: Scores[Array] | Batched,
    weights: Values | None = None,
    *,
    missing: Missing = None,
    ties: WorthTies = "raise",
    prior: Prior = 0.0,
    method: WorthMethod = "auto",
    covariance: str | Sequence[Any] = "auto",
    tol: float = 1e-10,
    max_iter: int = 1000,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    group: Group = None,
) -> PlackettLuceFit[Array]:
    r"""Fit Plackett-Luce worths :math:`v = e^{\theta}` to rankings; of comparisons, Bradley-Terry strengths.

    With the items of ranking r in order :math:`r_1, r_2, \ldots` what is maximized is

    .. math:: \sum_r w_r \sum_i \Bigl(\theta_{r_i} - \log \sum_{j \ge i} e^{\theta_{r_j}}\Bigr)
              + \alpha \sum_c \Bigl(\theta_c - \log \sum_b e^{\theta_b}\Bigr)

    which is concave in the logits (Plackett, Appl. Statist. 24(2), 1975). The second sum is the prior: every item was
    chosen :math:`\alpha` more times, out of all n. It is the Gamma prior of shape :math:`\alpha + 1` on worths
    (Caron and Doucet, J. Comput. Graph. Stat. 21(1), 2012), whose rate only sets their scale, and with it there is
    always one maximum, unless ties are fitted too and every choice is one.

    Without it there is one only if the items can't be split in two groups of which one was never preferred to the
    other: where a chain of preferences leads from every item to every other (Hunter, Ann. Statist. 32(1), 2004).

    With ``ties="davidson"`` sets of tied items are chosen together, and a parameter for each size of a tie is fitted
    too; see :class:`torchrank.PlackettLuce`. The fit is concave in the logits and in the logarithms of the parameters.

    Equal rankings are merged, and then the cost of a step is that of the items ranked, not of rankings times items.
    Many comparisons of many players come as ``SparseRankings.from_orders(pairs)``, which holds what was ranked only.

    Args:
        X: ``(m, n)`` scores, one ranking a row: larger = preferred, NaN = unranked; or sparse rankings,
            or a :class:`torchrank.datasets.RankingData`. Or rows in batches, :class:`torchrank.Batches` or a
            DataLoader: each step reads all of them once, or for "cg" once for every product; the batches may be sparse.
        weights: ``(m,)`` at least 0; None means those of a data set, or 1 each. Weighing a row is the same as
            repeating it. Those of batches come with them.
        missing: what unranked items mean; None leaves it to prepared rankings, and is "raise" for scores.

            * "raise": an error.
            * "interleaving": anything. The items of a row were ranked among themselves (a sub-ranking).
            * "topk": less preferred than all ranked items: every choice was among all items not yet placed.

            Or one of the last two for each ranking, ``(m,)``.
        ties: "raise", an error; or "davidson" as above.
        prior: :math:`\alpha`, at least 0, in the unit of the weights: multiply both to change the unit; or
            :class:`torchrank.distributions.GhostItem`, :class:`torchrank.distributions.NormalPrior`.
        method: how to go uphill.

            * "newton": Newton's method; steps take the n x n matrix of second derivatives.
            * "cg": Newton's method whose steps are found by conjugate gradients, from products with that matrix.
            * "mm": Hunter's minorization-maximization, whose steps cost least, but are many more. It takes no ties, no
              rows in batches, and a number as the prior.
            * "auto": "newton" for up to 500 items, "cg" beyond.
        covariance: "full"; "diagonal" for standard errors alone; "none"; or the indices of k items, or
            their names where they have some, of which there are to be covariances, found by conjugate gradients. "full"
            and "diagonal" invert an n x n matrix, for which they take 16 n^2 bytes and n^3 steps. "auto": "full" for up
            to 2,000 items, "none" beyond.
        tol: stop when no derivative in a parameter exceeds ``tol`` times the sum of weights.
        max_iter: steps at most.
        progress: for rows in batches, show a progress bar of the rows that were read.
        checkpoint: {checkpoint}
        group: {group}

    Returns:
        :class:`PlackettLuceFit`, arrays for NumPy, tensors for torch, series and frames with names for data frames;
        float64. Covariances are the inverse of the
        information, that of the prior included, for logits that add up to 0: a difference i - j has the variance
        ``C[i, i] + C[j, j] - 2 C[i, j]``. Like the log-likelihood they count a weight as so many rankings.

    Raises:
        ValueError: tied items with ``ties="raise"``, unranked items with ``missing="raise"``, weights that are
            negative, not finite or all 0, and, without a prior, data for which there is no maximum; the message lists
            the groups of items within which there is one.
        TypeError: scores or weights that are not real numbers, ``covariance`` that is neither a word nor indices.

    Warns:
        ConvergenceWarning: the fit stopped before the derivatives were small enough.

    Example:
        >>> fit = fit_plackett_luce(np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0]]))
        >>> np.exp(fit.logits[0] - fit.logits[1]).round(6).item()
        3.0
    """
    check_choice(method, "method", METHODS)
    check_choice(ties, "ties", TIES)
    check_finite(tol, "tol", 0)
    check_count(max_iter, "max_iter", least=0)
    batches = as_batches(X)
    if batches is not None:
        refuse_weights(weights)
        return fit_in_batches(
            batches,
            missing=missing,
            ties=ties,
            prior=prior,
            method=method,
            covariance=lambda n, names: _checked_covariance(covariance, n, names),
            tol=tol,
            max_iter=max_iter,
            progress=progress,
            checkpoint=checkpoint,
            group=group,
        )
    refuse_without_batches(checkpoint=checkpoint, group=group)
    rankings = one_set(X, missing)
    covariance = _checked_covariance(covariance, rankings.shape[1], rankings.origin.items)
    weight = as_weights(weights, rankings).detach()
    if weight.ndim != 1:
        raise ValueError(f"weights has shape {tuple(weight.shape)}; expected one weight for each ranking")
    log_prior_ = log_prior(prior, rankings.shape[1], rankings.ranks.device)
    if method == "mm" and (ties != "raise" or not (log_prior_ is None or isinstance(log_prior_, Gamma))):
        raise ValueError('method="mm" takes no ties, and a number as the prior; pass method="auto"')
    found: list[PlackettLuceFit] = []

    def search(ranks: Tensor, weight: Tensor) -> Tensor:
        held = replace(rankings, ranks=ranks)
        sparse = held if isinstance(held, SparseRankings) else from_rankings(held, "X")
        if ties == "raise":
            sparse.refuse_ties("X", TIES_OR + 'ties="davidson"')
        options = {"covariance": covariance, "tol": tol, "max_iter": max_iter, "total": float(weight.sum())}
        found.append(_fit(choice_lists(sparse, weight), log_prior_, ties=ties != "raise", method=method, **options))
        return found[0].logits

    logits = on_values(search, rankings.ranks, weight)
    fit = found[0]._replace(logits=not_followed(logits, X, weights, by="fit_plackett_luce"))
    return with_origin(fit, rankings.origin, covariance)


def _checked_covariance(covariance: str | Sequence[Any], n: int, names: Any) -> str | list[int]:
    """A word, or indices of items, which may be names where items have some; an error for anything else."""
    if isinstance(covariance, str):
        check_choice(covariance, "covariance", COVARIANCES)
        return covariance
    items = as_array(covariance, "covariance")
    if names is not None and items.ndim == 1 and items.dtype.kind in "OU" and set(items.tolist()) <= set(names):
        items = np.array([list(names).index(name) for name in items.tolist()], dtype=np.int64)
    expected = f"a word, one of {', '.join(map(repr, COVARIANCES))}, or a list of different item indices, 0 to {n - 1}"
    if items.ndim != 1 or (len(items) and items.dtype.kind not in "iu"):
        raise TypeError(f"covariance is {covariance!r}; expected {expected}")
    chosen = items.tolist()
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(n)):
        raise ValueError(f"covariance is {covariance!r}; expected {expected}")
    return chosen


def _fit(lists: ChoiceLists, prior: LogPrior | None, *, ties: bool, method: str, **options: Any) -> PlackettLuceFit:
    if prior is None:
        refuse_no_maximum(lists, ties=ties)
    if ties:
        objective = TiedObjective(lists, prior)
        sizes = objective.sizes
    else:
        objective = PlackettLuceObjective(lists, prior)
        sizes = lists.items.new_zeros(0)
    n = lists.n_items
    return maximum(objective, n, sizes, ties=ties, method=method_for(method, n), **options)
