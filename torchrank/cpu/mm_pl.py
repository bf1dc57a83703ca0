"""CPU engine of stochastic expectation-maximization for MM-PL: one row after the other, compiled."""

import numpy as np

from torchrank.cpu.compiled import njit

_NEGLIGIBLE = 36.0  # exp(-36) is the rounding of a float64


@njit(nogil=True, cache=True)
def sweep(
    table,  # SweepRows
    updates,  # Updates of single rows
    bounds,  # Bounds
    mixture,  # SweepMixture, changed
    sums,  # SweepSums, added to
):
    """One pass of updates (M-step v.1); returns the sum of the log-likelihoods of the rows, each before its update.

    With ``h`` and ``g`` the probabilities of a cluster after and before the ranking is known, and ``t`` those of its
    prototypes among themselves, w (h/g - 1) = t (h - g): the corrected step of equation 30 without a quotient of small
    numbers.
    """
    prototypes, membership, logits = mixture
    (d, M), (K, L) = prototypes.shape, logits.shape
    worths, distance, share = np.exp(logits), np.empty(M), np.empty(M)
    nearest, mass = np.empty(K), np.empty(K)
    gate, posterior, suffix = np.empty(K), np.empty(K), np.empty(L)
    total = 0.0
    for u in range(updates.rows.size):
        n, scale = updates.rows[u], 0.5 / (updates.sigma[u] * updates.sigma[u])
        x, order, n_made, n_offered = table.X[n], table.order[n], table.n_made[n], table.n_offered[n]
        _gates(x, mixture, scale, distance, share, nearest, mass, gate)
        total += _posterior(order, n_made, n_offered, worths, gate, posterior)
        for p in range(M):
            k = membership[p]
            step = updates.rate[u] * share[p] / mass[k] * (posterior[k] - gate[k])
            if abs(step) > 1e-12:
                step = max(-bounds.step, min(bounds.step, step))
                for j in range(d):
                    prototypes[j, p] += step * (x[j] - prototypes[j, p])
        for k in range(K):
            if posterior[k] > 1e-12 and n_made > 0:
                _denominators(order, n_made, n_offered, worths[k], suffix)
                _count(order, n_made, n_offered, posterior[k], suffix, sums.wins[k], sums.rates[k])
                if updates.score_rate[u] > 0:
                    step = updates.score_rate[u] * posterior[k]
                    _climb(order, n_made, n_offered, step, bounds.logit, suffix, logits[k], worths[k])
    return total


@njit(nogil=True, cache=True)
def _gates(x, mixture, scale, distance, share, nearest, mass, gate):
    """Logarithms of ``gate`` (K,), and ``share[p] / mass[k]``, the probability of prototype p within its cluster k."""
    prototypes, membership, _ = mixture
    d, M = prototypes.shape
    distance[:] = 0.0
    for j in range(d):
        xj = x[j]
        for p in range(M):
            difference = xj - prototypes[j, p]
            distance[p] += difference * difference
    nearest[:] = np.inf
    mass[:] = 0.0
    for p in range(M):
        nearest[membership[p]] = min(nearest[membership[p]], distance[p])
    for p in range(M):
        behind = (distance[p] - nearest[membership[p]]) * scale
        share[p] = np.exp(-behind) if behind < _NEGLIGIBLE else 0.0
        mass[membership[p]] += share[p]
    closest, total = nearest.min(), 0.0
    for k in range(gate.size):  # in logarithms: an improbable cluster may be the only one that explains the ranking
        gate[k] = np.log(mass[k]) - (nearest[k] - closest) * scale if mass[k] > 0 else -np.inf
        total += np.exp(gate[k])
    gate -= np.log(total)


@njit(nogil=True, cache=True)
def _posterior(order, n_made, n_offered, worths, gate, posterior):
    """Turn logarithms of gates into gates, fill ``posterior``, and return the log-likelihood."""
    K = gate.size
    for k in range(K):
        posterior[k] = gate[k]
        below, product = 0.0, 1.0
        for i in range(n_offered - 1, -1, -1):
            worth = worths[k, order[i]]
            below += worth
            if i < n_made:
                product *= worth / below
                if product < 1e-200:
                    posterior[k] += np.log(product)
                    product = 1.0
        posterior[k] += np.log(product)
        gate[k] = np.exp(gate[k])
    top, total = posterior.max(), 0.0
    for k in range(K):
        posterior[k] = np.exp(posterior[k] - top)
        total += posterior[k]
    posterior /= total
    return top + np.log(total)


@njit(nogil=True, cache=True)
def _denominators(order, n_made, n_offered, worths, suffix):
    """Leave the sums of inverse denominators up to each place in ``suffix``."""
    below = 0.0
    for i in range(n_offered - 1, -1, -1):
        below += worths[order[i]]
        suffix[i] = 1 / below if i < n_made else 0.0
    for i in range(1, n_offered):
        suffix[i] += suffix[i - 1]


@njit(nogil=True, cache=True)
def _count(order, n_made, n_offered, weight, suffix, wins, rates):
    """Add a ranking to what the MM step needs."""
    for i in range(n_offered):
        rates[order[i]] += weight * suffix[i]
        if i < n_made:
            wins[order[i]] += weight


@njit(nogil=True, cache=True)
def _climb(order, n_made, n_offered, step, largest_logit, suffix, logits, worths):
    """Move the logits of one cluster up the gradient of a ranking's log-probability."""
    for i in range(n_offered):
        c = order[i]
        slope = (1.0 if i < n_made else 0.0) - worths[c] * suffix[i]
        logits[c] = max(-largest_logit, min(largest_logit, logits[c] + step * slope))
        worths[c] = np.exp(logits[c])
