"""Sparse matrices as other libraries take them."""

import numpy as np
from scipy import sparse


def narrow(matrix: sparse.csr_array) -> sparse.csr_array:
    """The matrix with indices of 32 bits where they fit, which some of scikit-learn's learners insist on."""
    rows, columns = matrix.shape  # type: ignore[misc]
    if max(matrix.nnz, rows, columns) <= np.iinfo(np.int32).max:
        matrix.indices, matrix.indptr = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return matrix
