"""Cases: learners, each with so many iterations that every device does the same work where that can be."""

import torch
from torch import Tensor

import torchrank as tr
from benchmarks.devices.cases import case, scores, seeded

CLUSTERS = 5
ITERATIONS = 20
MANY = (250, 1_000, 2_500)
FEATURES, LABELS, PASSES, STEPS = 9, 5, 4, 5
NODES = 500
LOOSE = 1e-3  # of what a fit came to: near-ties may fall differently, and iterations cut short enlarge rounding


def _ballots(m: int) -> tuple[Tensor]:
    return (scores(m, 10),)


def _objective(evidence: tr.Evidence) -> Tensor:
    return torch.tensor(evidence.objective[-1], dtype=torch.float64)


def _labeled(m: int) -> tuple[Tensor, Tensor]:
    """Features and rankings of labels by nonlinear functions of them."""
    generator = seeded()
    X, to_labels = (torch.randn(shape, generator=generator) for shape in ((m, FEATURES), (FEATURES, LABELS)))
    return X, torch.sin(X @ to_labels) + 0.5 * X[:, :LABELS]


def _mm_pl(X: Tensor) -> tr.MMPL:
    torch.manual_seed(0)
    return tr.MMPL(FEATURES, LABELS, 10, 10).to(X.device)


@case("MMPL, EM, 4 passes", "rows", (500, 2_000, 8_000), _labeled, quick=150, tolerance=None)
def mm_pl_em(X: Tensor, Y: Tensor) -> Tensor:
    """As ``fit`` does it by itself: row by row in compiled code on the CPU, in batches of 256 on a card."""
    evidence = _mm_pl(X).fit(X, Y, tr.EMSettings(n_updates=PASSES * len(X)), generator=seeded())
    return _objective(evidence)


@case("MMPL, Adam, 5 steps", "rows", (500, 2_000, 8_000), _labeled, quick=50, tolerance=LOOSE)
def mm_pl_gradient(X: Tensor, Y: Tensor) -> Tensor:
    """Steps of an optimizer on all rows."""
    module = _mm_pl(X)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    loss = X.new_zeros(())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = -module.log_prob(X, Y).mean()
        loss.backward()
        optimizer.step()
    return loss.detach()


@case("KernelKMeans", "rankings of 50 items", MANY, lambda m: (scores(m, 50),), quick=40, tolerance=LOOSE)
def kernel_k_means(X: Tensor) -> Tensor:
    """One start."""
    model = tr.KernelKMeans(CLUSTERS, n_init=1, max_iter=ITERATIONS).to(X.device)
    return _objective(model.fit(X, generator=seeded()))


@case("MallowsMixture", "rankings of 10 items", MANY, _ballots, quick=40, tolerance=LOOSE)
def mallows_mixture(X: Tensor) -> Tensor:
    """Borda centers; Kemeny's may search on the CPU."""
    model = tr.MallowsMixture(X.shape[1], CLUSTERS, center="borda", n_init=1, max_iter=ITERATIONS).to(X.device)
    return _objective(model.fit(X, generator=seeded()))


@case("KernelMallowsMixture", "rankings of 5 items", MANY, lambda m: (scores(m, 5),), quick=40, tolerance=LOOSE)
def kernel_mallows_mixture(X: Tensor) -> Tensor:
    """One start."""
    model = tr.KernelMallowsMixture(X.shape[1], CLUSTERS, n_init=1, max_iter=ITERATIONS).to(X.device)
    return _objective(model.fit(X, generator=seeded()))


@case("KernelGaussianMixture", "rankings of 10 items", MANY, _ballots, quick=40, tolerance=LOOSE)
def kernel_gaussian_mixture(X: Tensor) -> Tensor:
    """One start."""
    model = tr.KernelGaussianMixture(CLUSTERS, n_init=1, max_iter=ITERATIONS).to(X.device)
    return _objective(model.fit(X, generator=seeded()))


@case("fit_plackett_luce", "rankings of 16 items", (1_000, 5_000, 20_000), lambda m: (scores(m, 16),), quick=40)
def plackett_luce(X: Tensor) -> Tensor:
    """Worths and their covariances."""
    return tr.fit_plackett_luce(X).logits


def _node_kernel(p: int) -> Tensor:
    """A full-rank Gaussian kernel of random points."""
    X = torch.randn(p, 20, dtype=torch.float64, generator=seeded())
    return torch.exp(-(torch.cdist(X, X) ** 2) / 40)


def _graph(p: int) -> tuple[Tensor, Tensor]:
    """Labels of all pairs of nodes."""
    return _node_kernel(p), torch.randn(p, p, dtype=torch.float64, generator=seeded())


@case("kron_rank_rls, closed form", "nodes, all edges", (100, 300, 600), _graph)
def kron_closed(K: Tensor, F: Tensor) -> Tensor:
    """Decomposition and solution."""
    return tr.kron_rank_rls(K, None, F, 1.0)


@case("kron_iterative_rls, 20 iterations", "nodes, all edges", (100, 300, 600), _graph, tolerance=LOOSE)
def kron_iterative(K: Tensor, F: Tensor) -> Tensor:
    """Conjugate gradients in the eigenbasis; no tolerance, so that none stops early."""
    return tr.kron_iterative_rls(K, None, F, 1.0, loss="ranking", tol=0, max_iter=ITERATIONS).duals


def _edges(q: int) -> tuple[Tensor, Tensor, Tensor]:
    """Some pairs of nodes, and their labels."""
    generator = seeded()
    edges = torch.randint(NODES, (q, 2), generator=generator)
    return _node_kernel(NODES), edges, torch.randn(q, dtype=torch.float64, generator=generator)


@case(
    "kron_edge_rls, 20 iterations",
    f"edges between {NODES} nodes",
    (1_000, 10_000, 50_000),
    _edges,
    quick=50,
    tolerance=LOOSE,
)
def kron_edges(K: Tensor, edges: Tensor, y: Tensor) -> Tensor:
    """An incomplete graph."""
    return tr.kron_edge_rls(K, None, edges, y, 1.0, loss="ranking", tol=0, max_iter=ITERATIONS).duals
