"""CPU engine of stochastic expectation-maximisation for MM-PL: one row after the other, compiled."""

import numpy as np

from torchrank.cpu.compiled import njit

_NEGLIGIBLE = 36.0  # exp(-36) is the rounding of a float64


@njit(nogil=True, cache=True)
def sweep(
    X,  # (N, d)
    orders,  # (N, L)
    stages,  # (N,)
    pool,  # (N,)
    rows,  # (n,) which rows, in which order
    sigma,  # (n,) width at each update
    rate,  # (n,) step of prototypes
    score_rate,  # (n,) step of scores; zeros leave them
    largest_step,  # bound on the share of the way that a prototype goes
    largest_logit,  # bound on |logits|
    prototypes,  # (d, M), changed
    membership,  # (M,)
    logits,  # (K, L), changed
    choices,  # (K, L), added to: expected choices of each label
    exposure,  # (K, L), added to: expected denominators that each label stood in
):
    """One pass of updates (M-step v.1); returns the sum of the log-likelihoods of the rows, each before its update.

    With ``h`` and ``g`` the probabilities of a cluster after and before the ranking is known, and ``t`` those of its
    prototypes among themselves, w (h/g - 1) = t (h - g): the corrected step of equation 30 without a quotient of small
    numbers.
    """
    (d, M), (K, L) = prototypes.shape, logits.shape
    worths, distance, share = np.exp(logits), np.empty(M), np.empty(M)
    nearest, mass = np.empty(K), np.empty(K)
    gate, posterior, suffix = np.empty(K), np.empty(K), np.empty(L)
    total = 0.0
    for u in range(rows.size):
        n, scale = rows[u], 0.5 / (sigma[u] * sigma[u])
        _gates(X[n], prototypes, membership, scale, distance, share, nearest, mass, gate)
        total += _posterior(orders[n], stages[n], pool[n], worths, gate, posterior)
        for p in range(M):
            k = membership[p]
            step = rate[u] * share[p] / mass[k] * (posterior[k] - gate[k])
            if abs(step) > 1e-12:
                step = max(-largest_step, min(largest_step, step))
                for j in range(d):
                    prototypes[j, p] += step * (X[n, j] - prototypes[j, p])
        for k in range(K):
            if posterior[k] > 1e-12 and stages[n] > 0:
                _scores(orders[n], stages[n], pool[n], posterior[k], worths[k], suffix, choices[k], exposure[k])
                if score_rate[u] > 0:
                    step = score_rate[u] * posterior[k]
                    _climb(orders[n], stages[n], pool[n], step, largest_logit, suffix, logits[k], worths[k])
    return total


@njit(nogil=True, cache=True)
def _gates(x, prototypes, membership, scale, distance, share, nearest, mass, gate):
    """``gate`` (K,), and ``share[p] / mass[k]``, the probability of prototype p within its cluster k."""
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
def _posterior(order, stages, pool, worths, gate, posterior):
    """Turn logarithms of gates into gates, fill ``posterior``, and return the log-likelihood."""
    K = gate.size
    for k in range(K):
        posterior[k] = gate[k]
        below, product = 0.0, 1.0
        for i in range(pool - 1, -1, -1):
            worth = worths[k, order[i]]
            below += worth
            if i < stages:
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
def _scores(order, stages, pool, weight, worths, suffix, choices, exposure):
    """Leave the sums of inverse denominators up to each place in ``suffix``, and add to what the MM step needs."""
    below = 0.0
    for i in range(pool - 1, -1, -1):
        below += worths[order[i]]
        suffix[i] = 1 / below if i < stages else 0.0
    for i in range(1, pool):
        suffix[i] += suffix[i - 1]
    for i in range(pool):
        exposure[order[i]] += weight * suffix[i]
        if i < stages:
            choices[order[i]] += weight


@njit(nogil=True, cache=True)
def _climb(order, stages, pool, step, largest_logit, suffix, logits, worths):
    """Move the logits of one cluster up the gradient of a ranking's log-probability."""
    for i in range(pool):
        c = order[i]
        slope = (1.0 if i < stages else 0.0) - worths[c] * suffix[i]
        logits[c] = max(-largest_logit, min(largest_logit, logits[c] + step * slope))
        worths[c] = np.exp(logits[c])


@njit(nogil=True, cache=True)
def nearest_prototype(X, prototypes):
    """The nearest of ``prototypes`` (d, M) for each row, int64."""
    d, M = prototypes.shape
    nearest, distance = np.empty(len(X), np.int64), np.empty(M)
    for n in range(len(X)):
        distance[:] = 0.0
        for j in range(d):
            for p in range(M):
                difference = X[n, j] - prototypes[j, p]
                distance[p] += difference * difference
        nearest[n] = distance.argmin()
    return nearest
