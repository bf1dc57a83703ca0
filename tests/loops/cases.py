"""Every module that trains, as it stands in a loop: an objective that is a mean over rows, and rows for it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import torchrank as tr

N, ITEMS = 24, 5


class Objective(nn.Module):
    """A module with a loss of its own as something to call, as ``DistributedDataParallel`` and checkpoints need it."""

    def __init__(self, module: nn.Module, loss: Callable[..., Tensor]) -> None:
        super().__init__()
        self.module, self.loss = module, loss

    def forward(self, *rows: Tensor) -> Tensor:
        return self.loss(self.module, *rows)


class KernelLayer(nn.Module):
    """A kernel between rows and some rankings that stay, and a linear layer on top: regression."""

    def __init__(self, kernel: nn.Module, anchors: Tensor, scores: nn.Module | None = None) -> None:
        super().__init__()
        self.kernel, self.scores = kernel, scores
        self.register_buffer("anchors", anchors)
        self.out = nn.Linear(len(anchors), 1, dtype=torch.float64)

    def forward(self, X: Tensor) -> Tensor:
        if self.scores is None:
            K = self.kernel(X, self.anchors)
        else:
            K = self.kernel(self.scores(X), self.scores(self.anchors))
        return self.out(K.to(self.out.weight.dtype))[:, 0]


class Gaussian(nn.Module):
    """A kernel of nodes with a width to learn."""

    def __init__(self) -> None:
        super().__init__()
        self.log_width = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        return (-(X[:, None] - Y).square().sum(-1) / 2 / self.log_width.exp() ** 2).exp()


@dataclass(frozen=True)
class Case:
    """How to make an objective, always the same one, and rows for it."""

    make: Callable[[], Objective]
    rows: tuple[Tensor, ...]
    whole: bool = True  # torch.compile makes one graph of it; else it looks at values to check them
    keeps: bool = False  # .half() and .double() leave the same bits
    refused: str = ""  # what the error says of half precision
    stacks: bool = True  # torch.func.vmap goes through stacked parameters


def numbers(*shape: int, seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


FEATURES = numbers(N, 3, seed=0)
SCORES = numbers(N, ITEMS, seed=1) + FEATURES @ numbers(3, ITEMS, seed=2)  # rankings that follow from the features
TARGET = SCORES[:, 0] - SCORES[:, 1] + 0.5 * FEATURES[:, 0]
NODES, NEW = numbers(9, 2, seed=3), numbers(N, 2, seed=4)
EDGES = torch.sin(NODES[:, None] + 2 * NODES).sum(-1)
NEW_EDGES = torch.sin(NEW[:, None] + 2 * NODES).sum(-1)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def regression(module: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    return (module(X) - y).square().mean()


def minus_log_prob(module: Any, *rows: Tensor) -> Tensor:
    return -module.log_prob(*rows).mean()


def from_kronecker(module: Any, x: Tensor, F: Tensor) -> Tensor:
    return (module(x, NODES, duals=module.solve(EDGES)) - F).square().mean()


def with_features(module: Any, X: Tensor) -> Tensor:
    return -module.log_prob(X, NODES[:ITEMS]).mean()


def listwise(module: Any, features: Tensor, target: Tensor) -> Tensor:
    return module[1](module[0](features), target)


def made(make: Callable[[], nn.Module], loss: Callable[..., Tensor]) -> Callable[[], Objective]:
    """A maker whose objectives are equal, whatever was drawn before."""

    def objective() -> Objective:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return Objective(make(), loss)

    return objective


def layer(kernel: Callable[[], nn.Module], scores: bool = False) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        if scores:
            return KernelLayer(kernel(), FEATURES[:6], nn.Linear(3, ITEMS, dtype=torch.float64))
        return KernelLayer(kernel(), SCORES[:6])

    return make


def fitted(make: Callable[[], Any]) -> Callable[[], nn.Module]:
    """A mixture after two steps of EM, which is where optimizers may take over."""

    def mixture() -> nn.Module:
        module = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tr.ConvergenceWarning)
            module.fit(SCORES, generator=seeded())
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(0.8)
        return module

    return mixture


def parts() -> nn.Module:
    kernels = [tr.SmoothedKendallKernel(window=1.0), tr.MallowsKernel(lam=0.3)]
    return tr.MultivariateKernel(kernels, sizes=[2, 3])


CASES: dict[str, Case] = {
    "MMPL": Case(made(lambda: tr.MMPL(3, ITEMS, 3, 4, dtype=torch.float64), minus_log_prob), (FEATURES, SCORES)),
    "KendallKernel": Case(made(layer(tr.KendallKernel), regression), (SCORES, TARGET)),
    "MallowsKernel": Case(made(layer(lambda: tr.MallowsKernel(lam=0.3)), regression), (SCORES, TARGET)),
    "SmoothedKendallKernel": Case(
        made(layer(lambda: tr.SmoothedKendallKernel(window=1.0), scores=True), regression), (FEATURES, TARGET)
    ),
    "MultivariateKernel": Case(made(layer(parts), regression), (SCORES, TARGET)),
    "KendallLoss": Case(
        made(lambda: nn.Sequential(nn.Linear(3, ITEMS, dtype=torch.float64), tr.KendallLoss(1.0)), listwise),
        (FEATURES, SCORES),
    ),
    "MallowsMixture": Case(
        made(fitted(lambda: tr.MallowsMixture(ITEMS, 2, max_iter=2)), minus_log_prob),
        (SCORES,),
        whole=False,
        keeps=True,
    ),
    "KernelMallowsMixture": Case(
        made(fitted(lambda: tr.KernelMallowsMixture(ITEMS, 2, max_iter=2)), minus_log_prob),
        (SCORES,),
        whole=False,
        keeps=True,
    ),
    "KernelGaussianMixture": Case(
        made(fitted(lambda: tr.KernelGaussianMixture(2, max_iter=2)), minus_log_prob), (SCORES,), keeps=True
    ),
    "PlackettLuceRegression": Case(made(lambda: tr.PlackettLuceRegression(2), with_features), (SCORES,), keeps=True),
    "KroneckerRLS": Case(
        made(lambda: tr.KroneckerRLS(Gaussian(), NODES), from_kronecker),
        (NEW, NEW_EDGES),
        whole=False,
        refused="use float32 or float64",
        stacks=False,
    ),
}
