"""What the arguments that streams share mean; beside those of :mod:`torchrank.kernels.arguments`."""

ARGUMENTS = {
    "matrix": """\
``(m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared or sparse rankings,
as for :func:`torchrank.kendall_gram`.""",
    "other_matrix": """\
``(m2, n)`` likewise; None means ``X``, of which each pair of rows is looked at once.""",
    "block": """\
rows and columns of a block; None takes as many as fit in ``workspace``. Results do not depend on it.""",
}
