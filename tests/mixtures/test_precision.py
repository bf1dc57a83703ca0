"""Fitted modules after ``.half()`` and its kin predict as before, or say which dtype they hold."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import torchrank
from tests.strategies import random_scores
from torchrank.classification.fisher import KernelFisherDiscriminant
from torchrank.classification.majority_votes import AllPairsMajorityVote, TopScoringPairs
from torchrank.conditional import KroneckerRLS
from torchrank.label_ranking.rank_tree import rank_tree

# Scores that half precision would tie, and some of which it would make infinite.
X = torch.from_numpy(random_scores(np.random.default_rng(0), "total", 30, 5)).argsort(-1) + 65_500.0
Y = torch.arange(30) % 2
FEATURES = torch.from_numpy(np.random.default_rng(1).normal(size=(30, 3))).float()
CASTS = ["float", "half", "bfloat16", "double"]


class Network(nn.Module):
    """A kernel with parameters of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, a, b):
        return self.layer(a) @ self.layer(b).mT


def fitted(model, *data, **options):
    model.fit(*data, **options)
    return model


def seeded() -> dict:
    return {"generator": torch.Generator().manual_seed(0)}


RANKS = {
    "KernelKMeans": lambda: fitted(torchrank.KernelKMeans(2), X, **seeded()),
    "KernelKMeans, Mallows": lambda: fitted(
        torchrank.KernelKMeans(2, kernel=torchrank.MallowsKernel(lam=0.1)), X, **seeded()
    ),
    "RankingKMeans": lambda: fitted(torchrank.RankingKMeans(2), X, **seeded()),
    "MallowsMixture": lambda: fitted(torchrank.MallowsMixture(5, 2), X, **seeded()),
    "KernelMallowsMixture": lambda: fitted(torchrank.KernelMallowsMixture(5, 2), X, **seeded()),
    "KernelGaussianMixture": lambda: fitted(torchrank.KernelGaussianMixture(2), X, **seeded()),
    "KernelFisherDiscriminant": lambda: fitted(KernelFisherDiscriminant(torchrank.MallowsKernel(lam=0.1), X), Y),
    "TopScoringPairs": lambda: fitted(TopScoringPairs(3), X, Y),
    "AllPairsMajorityVote": lambda: AllPairsMajorityVote(X, Y),
    "KroneckerRLS": lambda: fitted(KroneckerRLS(torchrank.KendallKernel(), X), torch.rand(30, 30)),
    "MallowsKernel": lambda: torchrank.MallowsKernel(lam=0.123),
    "SmoothedKendallKernel": lambda: torchrank.SmoothedKendallKernel(window=1.2),
    "MultivariateKernel": lambda: torchrank.MultivariateKernel(
        [torchrank.KendallKernel(), torchrank.MallowsKernel(lam=0.3)], weights=[0.3, 0.7], sizes=[2, 3]
    ),
}


@pytest.mark.parametrize("cast", CASTS)
@pytest.mark.parametrize("name", RANKS)
def test_what_looks_at_rankings_is_never_rounded(name, cast):
    torch.manual_seed(0)
    model = RANKS[name]()
    methods = [method for method in ("forward", "predict", "log_prob", "predict_proba") if hasattr(model, method)]
    expected = [getattr(model, method)(X) for method in methods]
    getattr(model, cast)()
    for method, values in zip(methods, expected, strict=True):
        assert torch.equal(getattr(model, method)(X), values), method


@pytest.mark.parametrize("cast", CASTS)
@pytest.mark.parametrize("make", [torchrank.MallowsMixture, torchrank.KernelMallowsMixture])
def test_fits_after_a_cast_are_the_same(make, cast):
    expected = fitted(make(5, 2), X, **seeded()).log_prob(X)
    assert torch.equal(fitted(getattr(make(5, 2), cast)(), X, **seeded()).log_prob(X), expected)


@pytest.mark.parametrize("cast", CASTS)
def test_what_a_network_takes_follows_it(cast):
    torch.manual_seed(0)
    models = [
        lambda: fitted(KernelFisherDiscriminant(Network(), FEATURES, ridge=1.0), Y),
        lambda: fitted(KroneckerRLS(Network(), FEATURES), torch.rand(30, 30)),
    ]
    for make in models:
        model = make()
        expected = model(FEATURES).detach()
        getattr(model, cast)()
        dtype = model.kernel.layer.weight.dtype
        found = model(FEATURES.to(dtype)).detach()
        rounding = torch.finfo(dtype).eps if dtype.itemsize < 4 else torch.finfo(torch.float32).eps
        assert float((found - expected).abs().max()) < 50 * rounding * float(expected.abs().max())
        if dtype != torch.float32:
            with pytest.raises(TypeError, match=rf"the kernel's parameters {dtype}, .* pass X.to\({dtype}\)"):
                model(FEATURES)


def test_a_failing_kernel_speaks_for_itself():
    model = KernelFisherDiscriminant(Network(), FEATURES)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        model(FEATURES[:, :2])


@pytest.mark.parametrize("cast", ["half", "bfloat16"])
def test_mmpl_in_half_precision(cast):
    scores = X.float()
    model = fitted(torchrank.MMPL(3, 5, 2, 2, sigma=1e-3), FEATURES, scores, seed=0)
    with torch.no_grad():
        model.log_sigma.fill_(math.log(0.02))
    rounded = getattr(torchrank.MMPL(3, 5, 2, 2), cast)()
    rounded.load_state_dict(model.state_dict())
    dtype = rounded.logits.dtype
    same = torchrank.MMPL(3, 5, 2, 2)  # single precision with the rounded parameters
    same.load_state_dict(rounded.state_dict())
    given = FEATURES.to(dtype)
    assert torch.equal(rounded(given), same(given.float()))
    assert torch.equal(rounded.log_prob(given, scores), same.log_prob(given.float(), scores))
    assert torch.equal(rounded.predict(given, method="mixture"), same.predict(given.float(), method="mixture"))
    assert torch.equal(rounded.predict(given), same.predict(given.float()))
    assert float(rounded.sigma.detach()) == pytest.approx(0.02, rel=0.02)
    with pytest.raises(TypeError, match=rf"X has dtype torch.float32 and the model {dtype}"):
        rounded(FEATURES)


def test_a_small_width_is_kept_in_half_precision():
    model = torchrank.MMPL(3, 5, 2, 2, sigma=1e-9, dtype=torch.float16)
    assert float(model.sigma.detach()) == pytest.approx(1e-9, rel=0.02)


def test_rounded_states_are_loaded_in_float64():
    model = fitted(torchrank.KernelGaussianMixture(2), X, **seeded())
    other = torchrank.KernelGaussianMixture(2)
    other.load_state_dict({name: value.float() for name, value in model.state_dict().items()})
    assert other.coefficients.dtype == other.training_gram.dtype == torch.float64
    np.testing.assert_allclose(other.log_prob(X).detach(), model.log_prob(X).detach(), atol=1e-4)


def test_a_tree_takes_features_of_any_dtype_and_no_other_for_itself():
    tree = rank_tree(FEATURES, X.float(), 2, seed=0)
    assert torch.equal(tree.predict(FEATURES.double()), tree.predict(FEATURES))
    with pytest.raises(TypeError, match=r"device is torch\.float16"):
        tree.to(torch.float16)


def test_modules_inside_other_modules_keep_their_precision():
    model = nn.Sequential(RANKS["MallowsMixture"]())
    expected = model(X)
    assert torch.equal(model.half()(X), expected)
