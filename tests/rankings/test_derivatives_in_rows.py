"""Fitted models have no derivative in the rows that they are given, and say so in every mode."""

import pytest
import torch

import torchrank as tr

X = torch.tensor(
    [[3.0, 1, 2, 4], [1, 2, 3, 4], [2, 3, 1, 0], [4, 3, 2, 1], [1, 3, 2, 4], [3, 2, 1, 4]], dtype=torch.float64
)
FEATURES = torch.arange(12.0, dtype=torch.float64).view(6, 2)


def fitted(model):
    model.fit(X, generator=torch.Generator().manual_seed(0))
    return model


def mm_pl():
    return tr.MMPL(2, 4, 2, dtype=torch.float64)


SMOOTHED = tr.SmoothedKendallKernel(window=1.0)
FUNCTIONS = {
    "KernelKMeans": lambda: fitted(tr.KernelKMeans(2)),
    "KernelKMeans, smoothed": lambda: fitted(tr.KernelKMeans(2, kernel=SMOOTHED)),
    "MallowsMixture": lambda: fitted(tr.MallowsMixture(4, 2)).log_prob,
    "MallowsMixture, components": lambda: fitted(tr.MallowsMixture(4, 2)).component_log_prob,
    "KernelMallowsMixture": lambda: fitted(tr.KernelMallowsMixture(4, 2)).log_prob,
    "KernelGaussianMixture": lambda: fitted(tr.KernelGaussianMixture(2)).log_prob,
    "KernelGaussianMixture, smoothed": lambda: (
        fitted(tr.KernelGaussianMixture(2, kernel=SMOOTHED, dimension=3)).log_prob
    ),
    "MMPL, likelihood": lambda: lambda x: mm_pl().log_prob(FEATURES, x),
    "MMPL, rankings": lambda: mm_pl().ranking_log_probs,
    "MMPL, shares": lambda: lambda x: mm_pl().responsibilities(FEATURES, x),
}


@pytest.mark.parametrize("make", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_mode_is_refused(make):
    model = make()

    def function(x):
        return model(x).sum()

    def backward(x):
        function(x.clone().requires_grad_()).backward()

    for ask in (backward, torch.func.grad(function), lambda x: torch.func.jvp(function, (x,), (torch.ones_like(x),))):
        with pytest.raises(RuntimeError, match="has no derivative in the rows that it is given, only"):
            ask(X)


def test_kernels_that_are_given_are_followed():
    K = tr.kendall_gram(X)
    model = tr.KernelKMeans(2, kernel="precomputed")
    model.fit(K)
    new = K.clone().requires_grad_()
    model(new, torch.ones(6, dtype=torch.float64)).sum().backward()
    assert new.grad.any()
