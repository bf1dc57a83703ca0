"""Kendall kernels over common items by a SciPy sparse product of pair signs."""

import numpy as np
import scipy.sparse


def by_pair_signs(ratings: scipy.sparse.csr_array) -> np.ndarray:
    """Tau-b over co-rated items: a column for each pair of items that somebody rated both, and two products."""
    m, n = ratings.indptr.size - 1, int(ratings.indices.max()) + 1
    rows, pairs, signs = [], [], []
    for row in range(m):
        stored = slice(ratings.indptr[row], ratings.indptr[row + 1])
        order = np.argsort(ratings.indices[stored])
        items, scores = ratings.indices[stored][order].astype(np.int64), ratings.data[stored][order]
        i, j = np.triu_indices(len(items), 1)
        rows.append(np.full(len(i), row))
        pairs.append(items[i] * n + items[j])
        signs.append(np.sign(scores[i] - scores[j]))
    columns = np.unique(np.concatenate(pairs), return_inverse=True)[1]
    where = (np.concatenate(rows), columns)
    sign = scipy.sparse.csr_array((np.concatenate(signs), where), shape=(m, int(columns.max()) + 1))
    ranked = scipy.sparse.csr_array((np.ones(len(columns)), where), shape=sign.shape)
    strict = (abs(sign) @ ranked.T).toarray()  # pairs that the row orders, of those that the column ranks
    return (sign @ sign.T).toarray() / np.sqrt(np.maximum(strict * strict.T, 1))
