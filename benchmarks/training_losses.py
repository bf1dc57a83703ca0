"""Losses that networks are trained by in ``benchmarks.training``: those of the package and others, in a few lines each.

All take predictions and targets ``(r, n)``, larger = preferred, and a scale: the window, the strength of the
regularization, the temperature or the slope, whose unit is that of the predictions.
"""

import importlib
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

import torchrank

Loss = Callable[[Tensor, Tensor, float], Tensor]


def kendall(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torchrank.kendall_loss(x, y, window=scale)


def kendall_margin(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torchrank.kendall_loss(x, y, window=scale, variant="a")


def kendall_gaussian(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torchrank.kendall_loss(x, y, window=scale, noise="gaussian")


def spearman(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torchrank.spearman_loss(x, y, window=scale)


def plackett_luce(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Negative log-likelihood of the order (ListMLE), ties broken by chance; the scale is a temperature."""
    return -torchrank.PlackettLuce(x / scale, validate_args=False).log_prob(untied(y)).mean()


def pairwise(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Logistic loss of all pairs of different targets (RankNet, Burges et al., ICML 2005)."""
    better = (y[:, :, None] > y[:, None, :]).to(x.dtype)
    losses = softplus((x[:, None, :] - x[:, :, None]) / scale)
    return ((better * losses).sum((1, 2)) / better.sum((1, 2)).clamp(min=1)).mean()


def lambda_rank(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """The same with each pair weighted by what its exchange would change in NDCG (Burges, MSR-TR-2010-82)."""
    gain = mid_ranks(y)
    places = (-x).argsort(-1).argsort(-1).to(x.dtype)
    discount = 1 / (places + 2).log2()
    best = (gain.sort(-1, descending=True).values / torch.arange(2, x.shape[-1] + 2).log2()).sum(-1)
    change = (gain[:, :, None] - gain[:, None, :]) * (discount[:, :, None] - discount[:, None, :])
    weights = change.abs() / best[:, None, None] * (y[:, :, None] > y[:, None, :])
    return (weights * softplus((x[:, None, :] - x[:, :, None]) / scale)).sum((1, 2)).mean()


def squares(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Squared differences from the ranks, which is regression; no scale."""
    ranks = mid_ranks(y)
    ranks = ranks - ranks.mean(-1, keepdim=True)
    return ((x - x.mean(-1, keepdim=True) - ranks / ranks.std()) ** 2).mean()


def torchsort_spearman(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """One minus the correlation of torchsort's soft ranks with the ranks."""
    soft = importlib.import_module("torchsort").soft_rank(x, regularization_strength=scale)
    ranks = mid_ranks(y)
    soft, ranks = soft - soft.mean(-1, keepdim=True), ranks - ranks.mean(-1, keepdim=True)
    return 1 - torch.nn.functional.cosine_similarity(soft, ranks).mean()


def mid_ranks(y: Tensor) -> Tensor:
    """1 for the least, the mean of their places for equal ones."""
    return 1 + (y[:, None, :] < y[:, :, None]).sum(-1) + ((y[:, None, :] == y[:, :, None]).sum(-1) - 1) / 2


def untied(y: Tensor) -> Tensor:
    """The order of the targets with ties broken by chance."""
    by_chance = torch.rand_like(y).argsort(-1)
    order = by_chance.gather(-1, y.gather(-1, by_chance).argsort(dim=-1, stable=True))
    return torch.empty_like(y).scatter_(-1, order, torch.arange(y.shape[-1], dtype=y.dtype).expand_as(y).contiguous())


SCALES = (0.3, 1.0, 3.0)
LOSSES: dict[str, tuple[Loss, tuple[float, ...]]] = {
    "kendall_loss": (kendall, SCALES),
    'kendall_loss, variant "a"': (kendall_margin, SCALES),
    "kendall_loss, gaussian": (kendall_gaussian, SCALES),
    "spearman_loss": (spearman, SCALES),
    "torchsort, Spearman": (torchsort_spearman, (0.1, 1.0, 10.0)),
    "pairwise logistic": (pairwise, SCALES),
    "LambdaRank": (lambda_rank, SCALES),
    "Plackett-Luce likelihood": (plackett_luce, SCALES),
    "squares of ranks": (squares, (1.0,)),
}


def losses() -> dict[str, tuple[Loss, tuple[float, ...]]]:
    """All of them, without torchsort where it is not installed."""
    try:
        importlib.import_module("torchsort")
    except ImportError as error:
        print(f"torchsort is missing: {error}")
        return {name: value for name, value in LOSSES.items() if "torchsort" not in name}
    return LOSSES
