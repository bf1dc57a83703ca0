"""What the arguments that many kernels share mean; their docstrings are filled in from here."""

ARGUMENTS = {
    "scores": """\
``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked. Any real dtype; or
prepared rankings, :func:`torchrank.rank`; or sparse ones, matrices of ``scipy.sparse`` among them.""",
    "others": """\
``(..., m2, n)`` likewise; None means ``X``, and a result that is symmetric bit for bit. Batch dimensions broadcast.""",
    "missing": """\
what unranked items mean. None leaves it to prepared rankings, and is "raise" for scores.

* "raise": an error.
* "interleaving": anything; the mean kernel over all total rankings that agree with a row (Jiao and Vert, IEEE TPAMI
  40(7), 2018, equation 7).
* "topk": less preferred than all ranked items, in any order; the mean likewise.
* "pairwise": each two rows are compared on the items that both rank. This does not give a positive semi-definite
  matrix; rows with fewer than two common items get 0.

Or one of "interleaving" and "topk" for each row, ``(..., m)``, whose batch dimensions broadcast with those of the
scores.""",
    "missing_y": """\
the same for ``Y``; None means what ``missing`` says, if that is one word. "pairwise" is for both sides.""",
    "min_common": """\
fewest items that two rows have to rank both; where there are fewer, the diagonal included, the result is
``fill_value``. For ``missing="pairwise"`` alone; None asks for none.""",
    "fill_value": """\
what stands for rows with fewer common items than ``min_common``: NaN, or any number.""",
    "method": """\
"auto", "signs", "inversions" or "reference": which engine counts. All give the same result.""",
    "workspace": """\
bytes of memory to use at most beside inputs, their ranks and results.""",
    "progress": """\
show a progress bar.""",
    "out": """\
where the result is to be, for matrices that are larger than memory: the name of a file that ends in ".npy", or of a
folder that ends in ".zarr" (with the package zarr, one chunk a block), or an array or tensor of its shape and dtype,
which is filled. Files are made block by block, in the folder of the name and ".blocks", and come back as an array that
reads from the disk. A run may be killed at any moment: what is finished stays. Without names of rows; both sides are
matrices without batch dimensions.""",
    "out_block": """\
rows and columns of a block of ``out``; None takes as many as fit in ``workspace``.""",
    "resume": """\
go on with the blocks that an earlier run left of the same file, or return the finished matrix. Both have to be of the
same input, arguments, version and blocks, and each block is checked; the result is that of one run, bit for bit.""",
    "variant": """\
"a" or "b" as above. None means "b", but "a" for ``missing`` "interleaving" and "topk", whose diagonal tells how much
of the order a row fixes.""",
    "window": """\
the scale of the jitter, one positive number; a tensor may require a gradient.""",
    "noise": r"""distribution of the jitter of one score. "uniform" on [-window / 2, window / 2], for which
:math:`g(t) = s\,(2 - |s|)` with s = t / window cut to [-1, 1]; or "gaussian" with standard
deviation ``window``, so that the difference of two jitters has variance 2 window^2 and g(t) = erf(t / (2 window)).""",
    "uncertain": """\
``(..., m, n)`` scores, one ranking a row, larger = preferred. Their differences count, not only their order; none may
be missing. Infinite ones are ordinary: equal infinities are tied.""",
}
