"""What the arguments that streams share mean; beside those of :mod:`torchrank.kernels.arguments`."""

ARGUMENTS = {
    "matrix": """\
``(m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared or sparse rankings,
as for :func:`torchrank.kendall_gram`.""",
    "other_matrix": """\
``(m2, n)`` likewise; None means ``X``, of which each pair of rows is looked at once.""",
    "block": """\
rows and columns of a block; None takes as many as fit in ``workspace``. Results do not depend on it.""",
    "checkpoint": """\
for rows in batches, the name of a file that the state of the fit is kept in after every pass. If it is there the fit
goes on from it, and ends as one that was not ended: bit for bit where batches come in the same order, and up to the
rounding of sums where a DataLoader shuffles. The file stays; it is refused for other rows, settings, or another seed of
the generator, and where it was changed; fits that depend on the order of rows refuse batches that come in another one
in every pass; a larger ``max_iter`` goes on, from the start that the smaller one found. One fit at a time writes.""",
    "group": """\
for rows in batches, a process group of ``torch.distributed``, each process of which reads the same rows and works on
every so many-th batch; None is this process alone.""",
}
