"""What the arguments that clusterings and mixtures share mean; their docstrings are filled in from here."""

ARGUMENTS = {
    "init": """\
"k-means++" seeds or "random" (every different row draws a label) to start from; or labels ``(m,)`` or ``(starts, m)``
of all rows, from 0 to c - 1, of which equal rankings take that of the first of them. Of rows in batches, which nobody
has seen all at once, there is one set of labels ``(m,)``, and each row keeps its own; they have to come in one order,
so that no DataLoader may shuffle.""",
    "n_init": "starts, of which the best is kept.",
    "tol": "EM ends when no more than this is left to gain per unit of weight, as far as the last gains tell.",
    "max_iter": "most iterations of a start.",
    "weights": """\
``(m,)`` how much each row counts, at least 0; None means those of a data set, or 1 each. An integer weight is the same
as that many equal rows.""",
    "generator": "source of the random starts; None is torch's own.",
    "progress": "show a progress bar of the starts, with the iteration and the best objective.",
    "batches": """\
Or rows in batches, :class:`torchrank.Batches` or a DataLoader: each iteration reads all of them once.""",
}
