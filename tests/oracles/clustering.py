"""Clustering by the letter: loops over points and clusters, no linear algebra."""

import itertools
import math

import numpy as np


def discordant(x, y) -> int:
    """Pairs of items that two score vectors order strictly and differently; a pair with NaN is not ordered."""
    pairs = itertools.combinations(range(len(x)), 2)
    return sum((x[i] - x[j]) * (y[i] - y[j]) < 0 for i, j in pairs)


def sign_features(x) -> np.ndarray:
    """Signs of all item pairs i < j, divided by the root of their number."""
    signs = [np.sign(x[i] - x[j]) for i, j in itertools.combinations(range(len(x)), 2)]
    return np.array(signs) / math.sqrt(len(signs))


def squared_distance(K, weights, labels, i, cluster) -> float:
    """The second form of d_ij in Algorithm 1 of Jiao and Vert (2018), with weighted members."""
    members = [row for row in range(len(K)) if labels[row] == cluster and weights[row] > 0]
    total = sum(weights[row] for row in members)
    if not members:
        return math.inf
    to_members = sum(weights[row] * K[i][row] for row in members)
    among = sum(weights[a] * weights[b] * K[a][b] for a in members for b in members)
    return K[i][i] - 2 * to_members / total + among / total**2


def kernel_kmeans(K, weights, labels, clusters, iterations):
    """Algorithm 1 from given labels: labels and objective of every iteration, empty clusters left empty."""
    history = []
    for _ in range(iterations):
        distances = [[squared_distance(K, weights, labels, i, j) for j in range(clusters)] for i in range(len(K))]
        new = [min(range(clusters), key=lambda j: (round(row[j], 11), j)) for row in distances]
        objective = sum(w * row[j] for w, row, j in zip(weights, distances, new, strict=True))
        history.append((new, objective))
        if new == list(labels):
            break
        labels = new
    return history


def best_partition(K, weights, clusters) -> float:
    """The lowest objective of all partitions."""
    rows = range(len(K))
    return min(
        sum(weights[i] * squared_distance(K, weights, labels, i, labels[i]) for i in rows)
        for labels in itertools.product(range(clusters), repeat=len(K))
    )


def best_centers(X, weights, clusters) -> float:
    """The lowest objective (17) over all choices of total rankings as centers."""
    total = list(itertools.permutations(range(X.shape[1])))
    costs = np.array([[discordant(x, center) for center in total] for x in X], dtype=float)
    return min(
        (weights * costs[:, chosen].min(axis=1)).sum() for chosen in itertools.combinations(range(len(total)), clusters)
    )
