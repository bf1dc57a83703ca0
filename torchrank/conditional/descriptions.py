"""The arguments that the solvers of conditional ranking share, described for docstrings."""

K_START = "``(m, m)`` symmetric positive semi-definite kernel of the start nodes; may be singular."
K_END = "``(n, n)`` kernel of the end nodes; None where start and end nodes are one set."
LABELS = (
    "``(..., m, n)`` labels, ``F[..., i, j]`` of the edge from start node i to end node j; further outputs are "
    "leading dimensions."
)
LAM = "regularization, at least 0."
LOSS = '"regression" fits the labels, "ranking" their differences between edges of one query.'
DIRECTION = (
    'whose edges a query has: "outgoing" ranks end nodes for each start node, "incoming" start nodes for each end node.'
)
RELATION = (
    'what the scores f of edges are: "ordinary", any; "symmetric", f(a, b) = f(b, a); "reciprocal", f(a, b) = -f(b, a).'
    " The last two need one set of nodes."
)
METHOD = '"cg" on the symmetric system, or "bicgstab" on the reduced one, which costs two products an iteration.'
TOL = (
    "relative residual to reach; by default 1e-8 in float64 and 1e-5 in float32. 0 runs ``max_iter`` iterations, unless"
    " rounding is all that is left of the residual before. Where all labels of every query are equal, up to rounding,"
    " the solution of the ranking loss is 0, without an iteration."
)
MAX_ITER = "most iterations."
CALLBACK = "sees a :class:`FitState` after each iteration and stops by returning True."
PATIENCE = "iterations without improvement on ``validation`` before it stops; the best iterate is restored."
NEW_K_START = "``(r, m)`` kernel between new start nodes and the training ones."
NEW_K_END = "``(s, n)`` the same for end nodes. With one set of nodes None takes ``K_start`` for both sides."
EXCLUDE_NODES = '"start" leaves out all edges of the start node, "end" those of the end node, "both" both.'
SETTING = "1 to 4: which nodes of a test edge are new, see :class:`ConditionalSplit`."
ONE_DOMAIN = "start and end nodes are one set: a new node must be new on both sides."
UNDIRECTED = "the edge (j, i) tells the label of (i, j), so the two stay together. Only for one domain."

ITERATIVE = {
    "K_start": K_START,
    "K_end": K_END,
    "lam": LAM,
    "loss": LOSS,
    "direction": DIRECTION,
    "relation": RELATION,
    "method": METHOD,
    "tol": TOL,
    "max_iter": MAX_ITER,
    "callback": CALLBACK,
    "patience": PATIENCE,
}
