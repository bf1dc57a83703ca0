"""CPU engine of the smoothed features: one pass over a block, compiled to vector instructions.

Only for uniform noise and finite scores; the Gram matrix of the features is a matter of matrix products, as in the
reference.
"""

from torchrank.cpu.compiled import njit


# Scores are finite, so no difference is NaN; one that overflows, here or when divided by a tiny window, is cut like any
# other.
@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def features(circle, first, last, start, stop, window, out):
    """Expected signs of the pairs of a block: ``out`` (rows, pairs)."""
    one, inverse, width = circle.dtype.type(1), circle.dtype.type(1) / window, stop - start
    for row in range(circle.shape[0]):
        for d in range(first, last):
            left, right = circle[row, start:stop], circle[row, start + d : stop + d]
            signs = out[row, (d - first) * width : (d - first + 1) * width]
            for i in range(width):
                s = min(max((left[i] - right[i]) * inverse, -one), one)
                signs[i] = s * (one + one - abs(s))


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def pull_back(circle, first, last, start, stop, window, weights, gradient):
    """Add to ``gradient`` what ``weights`` (rows, pairs) make of the scores; returns the gradient for the window."""
    one, inverse, width = circle.dtype.type(1), circle.dtype.type(1) / window, stop - start
    for_window = 0.0
    for row in range(circle.shape[0]):
        for d in range(first, last):
            left, right = circle[row, start:stop], circle[row, start + d : stop + d]
            w = weights[row, (d - first) * width : (d - first + 1) * width]
            for_left, for_right = gradient[row, start:stop], gradient[row, start + d : stop + d]
            moment = one - one
            for i in range(width):
                s = min(max((left[i] - right[i]) * inverse, -one), one)
                by_difference = w[i] * (one + one) * (one - abs(s)) * inverse
                moment += by_difference * s
                for_left[i] += by_difference
            for i in range(width):
                s = min(max((left[i] - right[i]) * inverse, -one), one)
                for_right[i] -= w[i] * (one + one) * (one - abs(s)) * inverse
            for_window -= moment
    return for_window
