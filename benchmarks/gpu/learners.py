"""Every learner on the device beside the CPU: the same data, the same starts, the same numbers up to rounding."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

import torchrank
from benchmarks.gpu.parts import Context, Verdict, part

CLOSE = 1e-6  # of the largest number of a result, in float64: iterations stop a step apart at most
Move = Callable[[Tensor], Tensor]


def seeded(seed: int = 0) -> torch.Generator:
    """A source on the CPU, of the same draws for both devices."""
    return torch.Generator("cpu").manual_seed(seed)


def two_groups(m: int = 40, n: int = 6) -> tuple[Tensor, Tensor]:
    """Rankings around two opposite ones, and their groups."""
    group = torch.arange(m) % 2
    center = torch.where(group == 0, 1.0, -1.0).double()[:, None] * torch.arange(n)
    return center + torch.randn(m, n, generator=seeded(), dtype=torch.float64), group


def _labels() -> tuple[Tensor, Tensor]:
    Y, group = two_groups()
    return torch.randn(len(Y), 3, generator=seeded(1), dtype=torch.float64) + 4.0 * group[:, None], Y


def _gram(nodes: int = 12) -> Tensor:
    points = torch.randn(nodes, 3, generator=seeded(2), dtype=torch.float64)
    return torch.exp(-torch.cdist(points, points) / 2)


def mm_pl_em(move: Move) -> Iterable[Tensor]:
    """Expectation-maximization in batches of the same size on both devices."""
    X, Y = map(move, _labels())
    model = torchrank.MMPL(3, 6, 2, 4, dtype=torch.float64, device=X.device)
    model.fit(X, Y, torchrank.EMSettings(n_updates=400, batch_size=8), generator=seeded())
    return model.log_prob(X, Y), model.predict(X)


def mm_pl_gradient(move: Move) -> Iterable[Tensor]:
    """The gradient of the likelihood for every parameter."""
    X, Y = map(move, _labels())
    model = torchrank.MMPL(3, 6, 2, 4, dtype=torch.float64, device=X.device)
    with torch.no_grad():
        for k, parameter in enumerate((model.prototypes, model.logits)):
            parameter.copy_(move(torch.randn(parameter.shape, generator=seeded(k), dtype=torch.float64)))
    loss = -model.log_prob(X, Y).mean()
    loss.backward()
    return [loss, *(parameter.grad for parameter in model.parameters() if parameter.grad is not None)]


def _clusters(make: Callable[[], Any], *says: str) -> Callable[[Move], Iterable[Tensor]]:
    def run(move: Move) -> Iterable[Tensor]:
        X = move(two_groups()[0])
        model = make().to(X.device)
        model.fit(X, generator=seeded())
        return [model.predict(X), *(getattr(model, name)(X) for name in says)]

    return run


def plackett_luce(move: Move) -> Iterable[Tensor]:
    """Worths of items, and their errors."""
    X = move(two_groups()[0] / 4)
    fitted = torchrank.fit_plackett_luce(X)
    return fitted.logits, fitted.covariance


def kronecker_closed(move: Move) -> Iterable[Tensor]:
    """Closed forms of all losses."""
    K, F = move(_gram()), move(torch.randn(12, 12, generator=seeded(3), dtype=torch.float64))
    return (
        torchrank.kron_rls(K, None, F, 0.5),
        torchrank.kron_rank_rls(K, None, F, 0.5),
        torchrank.two_step_rls(K, None, F, 0.5, 0.5),
    )


def kronecker_iterative(move: Move) -> Iterable[Tensor]:
    """Iterations, over all edges and over some."""
    K, F = move(_gram()), move(torch.randn(12, 12, generator=seeded(3), dtype=torch.float64))
    edges = move(torch.ones(12, 12).triu(1).nonzero())
    every = torchrank.kron_iterative_rls(K, None, F, 0.5, loss="ranking", tol=1e-12)
    some = torchrank.kron_edge_rls(K, None, edges, F[edges[:, 0], edges[:, 1]], 0.5, tol=1e-12)
    return every.duals, some.duals


def fisher(move: Move) -> Iterable[Tensor]:
    """Decisions of the discriminant."""
    X, group = map(move, two_groups())
    model = torchrank.KernelFisherDiscriminant(torchrank.KendallKernel(), X)
    model.fit(group)
    return [model(X)]


def pairs_of_items(move: Move) -> Iterable[Tensor]:
    """Top scoring pairs, and the vote of all pairs."""
    X, group = map(move, two_groups())
    top = torchrank.top_scoring_pairs(X, group, k=3)
    return [top.score, torchrank.AllPairsMajorityVote(X, group)(X)]


LEARNERS: dict[str, Callable[[Move], Iterable[Tensor]]] = {
    "MM-PL, EM": mm_pl_em,
    "MM-PL, gradient": mm_pl_gradient,
    "kernel k-means": _clusters(lambda: torchrank.KernelKMeans(2)),
    "k-means of rankings": _clusters(lambda: torchrank.RankingKMeans(2)),
    "Mallows mixture": _clusters(lambda: torchrank.MallowsMixture(6, 2, n_init=2), "log_prob"),
    "kernel Mallows mixture": _clusters(lambda: torchrank.KernelMallowsMixture(6, 2, n_init=2), "log_prob"),
    "kernel Gaussian mixture": _clusters(lambda: torchrank.KernelGaussianMixture(2, n_init=2)),
    "Plackett-Luce": plackett_luce,
    "Kronecker RLS, closed": kronecker_closed,
    "Kronecker RLS, iterative": kronecker_iterative,
    "Fisher discriminant": fisher,
    "top scoring pairs": pairs_of_items,
}


@part("learners", seconds=45)
def learners(context: Context) -> Verdict:
    """Fit each learner on both devices and compare what it says; one that had no time is not passed."""
    wrong: list[str] = []
    for name, fit in LEARNERS.items():
        if context.time_left() < 1:
            wrong.append(f"{name} had no time")
            continue
        try:
            error = worst_error(fit(lambda tensor: tensor.to(context.device)), fit(lambda tensor: tensor))
        except Exception as problem:  # one that fails must not cost the comparison of the others
            context.record(learner=name, problem=f"{type(problem).__name__}: {problem}")
            wrong.append(f"{name} raised {type(problem).__name__}")
            continue
        context.record(learner=name, error=error)
        wrong += [] if error < CLOSE else [f"{name} differs by {error:.2g}"]
    return Verdict(not wrong, f"WRONG: {'; '.join(wrong)}" if wrong else f"{len(LEARNERS)} learners as on the CPU")


def worst_error(got: Iterable[Tensor], expected: Iterable[Tensor]) -> float:
    """The largest difference, relative to the largest number of each result; infinite where results are no numbers."""
    worst = 0.0
    for one, other in zip(got, expected, strict=True):
        one, other = (side.detach().cpu().double() for side in (one, other))
        if one.shape != other.shape or not bool(one.isfinite().all()):
            return torch.inf
        worst = max(worst, float((one - other).abs().max()) / max(1e-300, float(other.abs().max())))
    return worst
