"""Derivatives in every mode and order of torch: as the mathematics says, or refused by name; never a silent 0."""

import math

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import torchrank
from tests.transforms import transforms_agree
from torchrank import (
    borda,
    diffusion_gram,
    kendall_distance,
    kendall_features,
    kendall_gram,
    mallows_gram,
    monte_carlo_kendall_gram,
    pair_counts,
    smoothed_features,
    smoothed_kendall_gram,
    weighted_kendall_gram,
)

GENERATOR = torch.Generator().manual_seed(0)


def scores(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


X, Y = scores(3, 5), scores(2, 5)
WINDOW = torch.tensor(1.3, dtype=torch.float64)
LAM = torch.tensor(0.4, dtype=torch.float64)
WEIGHTS = (lambda w: (w + w.mT).fill_diagonal_(0))(torch.rand(5, 5, generator=GENERATOR, dtype=torch.float64))


def _pairs(w):
    return weighted_kendall_gram(X, Y, pairs=w.triu(1) + w.triu(1).mT, variant="b")


SMOOTH = {
    "smoothed": (lambda x, w: smoothed_kendall_gram(x, window=w), (X, WINDOW)),
    "smoothed, two sides": (lambda x, y, w: smoothed_kendall_gram(x, y, window=w), (X, Y, WINDOW)),
    "smoothed, gaussian": (lambda x, y, w: smoothed_kendall_gram(x, y, window=w, noise="gaussian"), (X, Y, WINDOW)),
    "smoothed, sweep": (lambda x, w: smoothed_kendall_gram(x, window=w, method="sweep"), (X, WINDOW)),
    "smoothed, batches": (
        lambda x, y, w: smoothed_kendall_gram(x, y, window=w),
        (scores(2, 2, 4), scores(2, 4), WINDOW),
    ),
    "smoothed, small workspace": (lambda x, w: smoothed_kendall_gram(x, window=w, workspace=2**10), (X, WINDOW)),
    "features": (lambda x, w: smoothed_features(x, window=w), (X, WINDOW)),
    "pairs": (_pairs, (WEIGHTS,)),
    "mallows": (lambda lam: mallows_gram(X, Y, lam=lam, normalize=True), (LAM,)),
    "multivariate": (
        lambda w: torchrank.multivariate_gram([X, X[:, :3]], weights=w / w.sum()),
        (torch.tensor([0.3, 0.7], dtype=torch.float64),),
    ),
    "center": (lambda K: torchrank.center_gram((K + K.mT) / 2), (X @ X.mT,)),
    "normalize": (lambda K: torchrank.normalize_gram(K), (X @ X.mT,)),
    "polynomial": (lambda K: torchrank.polynomial_gram(K, degree=3, scale=2.0), (X @ X.mT / 20,)),
}
smooth = pytest.mark.parametrize(("function", "inputs"), SMOOTH.values(), ids=SMOOTH.keys())


@smooth
def test_first_derivatives_backwards_and_forwards(function, inputs):
    inputs = [value.clone().requires_grad_() for value in inputs]
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=False)


@smooth
def test_second_derivatives(function, inputs):
    inputs = [value.clone().requires_grad_() for value in inputs]
    assert gradgradcheck(function, inputs, check_fwd_over_rev=True, check_rev_over_rev=True)


@smooth
def test_transforms_agree(function, inputs):
    transforms_agree(function, inputs)


@smooth
def test_vmap_is_a_stack_of_calls(function, inputs):
    many = [torch.stack([value, value / 2, value / 4]) for value in inputs]
    for alone in range(len(inputs)):
        dims = tuple(0 if k == alone else None for k in range(len(inputs)))
        batch = [many[k] if k == alone else inputs[k] for k in range(len(inputs))]
        calls = torch.stack(
            [function(*(many[k][i] if k == alone else inputs[k] for k in range(len(inputs)))) for i in range(3)]
        )
        torch.testing.assert_close(vmap(function, dims)(*batch), calls)
    torch.testing.assert_close(vmap(function)(*many), torch.stack([function(*one) for one in zip(*many, strict=True)]))

    def loss(*values):
        return function(*values).square().sum()

    per_sample = vmap(grad(loss))(*many)
    torch.testing.assert_close(per_sample, torch.stack([grad(loss)(*one) for one in zip(*many, strict=True)]))


def test_forward_mode_equals_a_finite_difference():
    scores = torch.randn(16, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    towards = torch.randn(16, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def mean(x):
        return smoothed_kendall_gram(x, window=1.0).mean()

    step = 1e-6
    difference = (mean(scores + step * towards) - mean(scores - step * towards)) / (2 * step)
    _, derivative = jvp(mean, (scores,), (towards,))
    assert abs(float(difference)) > 1e-4
    torch.testing.assert_close(derivative, difference, rtol=1e-6, atol=1e-9)
    with forward_ad.dual_level():
        dual = mean(forward_ad.make_dual(scores, towards))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, derivative)


def test_derivatives_in_float32_are_float32():
    single = X.float().requires_grad_()
    loss = smoothed_kendall_gram(single, window=WINDOW).square().sum()
    (gradient,) = torch.autograd.grad(loss, single, create_graph=True)
    (second,) = torch.autograd.grad(gradient.square().sum(), single)
    assert gradient.dtype == second.dtype == torch.float32
    assert jvp(lambda x: smoothed_kendall_gram(x, window=1.3), (X.float(),), (X.float(),))[1].dtype == torch.float32


def test_infinite_scores_have_derivatives():
    x = torch.tensor([[math.inf, 1.0, 1.2, math.inf], [0.0, -math.inf, 0.3, 0.1]], dtype=torch.float64)
    forwards = jacfwd(lambda x: smoothed_kendall_gram(x, window=1.0))(x)
    torch.testing.assert_close(forwards, jacrev(lambda x: smoothed_kendall_gram(x, window=1.0))(x))
    assert forwards.isfinite().all()
    assert hessian(lambda x: smoothed_kendall_gram(x, window=1.0).sum())(x).isfinite().all()


HARD = {
    "kendall_gram": kendall_gram,
    "kendall_gram, topk": lambda x: kendall_gram(x, missing="topk"),
    "kendall_distance": kendall_distance,
    "mallows_gram": lambda x: mallows_gram(x, lam=0.1),
    "mallows_gram, lam a tensor": lambda x: mallows_gram(x, lam=LAM),
    "weighted pairs": lambda x: weighted_kendall_gram(x, pairs=1 - torch.eye(5)),
    "kendall_features": kendall_features,
    "borda": borda,
    "diffusion_gram": lambda x: diffusion_gram(x, beta=0.3),
}
hard = pytest.mark.parametrize("function", HARD.values(), ids=HARD.keys())


@hard
def test_hard_counts_refuse_by_name_in_every_mode(function):
    def total(x):
        return function(x).sum()

    for ask in (
        lambda: grad(total)(X),
        lambda: jacrev(function)(X),
        lambda: jacfwd(function)(X),
        lambda: jvp(total, (X,), (torch.ones_like(X),)),
        lambda: vmap(grad(total))(torch.stack([X, X])),
        lambda: total(X.clone().requires_grad_()).backward(),
        lambda: hessian(total)(X),
    ):
        with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
            ask()
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        total(forward_ad.make_dual(X, torch.ones_like(X)))


def test_estimates_from_jitters_refuse_too():
    def total(x):
        return monte_carlo_kendall_gram(x, window=1.0, n_samples=2).sum()

    for ask in (
        lambda: grad(total)(X),
        lambda: jvp(total, (X,), (torch.ones_like(X),)),
        lambda: total(X.clone().requires_grad_()).backward(),
    ):
        with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
            ask()


ORDER = torch.arange(5, dtype=torch.float64)
SEARCHED = {
    "kemeny": (lambda x: torchrank.kemeny(x).scores, "piecewise constant"),
    "kemeny, weights": (lambda w: torchrank.kemeny(X, w).scores, "piecewise constant"),
    "copeland": (torchrank.copeland, "piecewise constant"),
    "copeland, weights": (lambda w: torchrank.copeland(X, w), "piecewise constant"),
    "to_positions": (torchrank.to_positions, "positions are piecewise constant"),
    "Mallows": (lambda x: torchrank.Mallows(ORDER, 0.5).log_prob(x), "piecewise constant"),
    "PlackettLuce": (lambda x: torchrank.PlackettLuce(ORDER).log_prob(x), "probabilities of rankings"),
    "fit_plackett_luce": (lambda w: torchrank.fit_plackett_luce(X, w, prior=0.1).logits, "fit_plackett_luce searches"),
    "fit_mallows": (lambda w: torchrank.fit_mallows(X, w).lam, "fit_mallows searches"),
    "kron_iterative_rls": (
        lambda F: torchrank.kron_iterative_rls(ORDER.diag(), None, F, 1.0).duals,
        "iterative_rls searches",
    ),
}


@pytest.mark.parametrize(("function", "message"), SEARCHED.values(), ids=SEARCHED)
def test_no_derivative_is_silently_0(function, message):
    names = function.__code__.co_varnames if hasattr(function, "__code__") else ("x",)
    at = {"w": torch.ones(3, dtype=torch.float64), "K": torch.eye(5).double(), "F": torch.eye(5).double()}.get(
        names[0], X
    )

    def total(value):
        return function(value).sum()

    for ask in (
        lambda: torch.func.grad(total)(at),
        lambda: jvp(total, (at,), (torch.ones_like(at),)),
        lambda: total(at.clone().requires_grad_()).backward(),
    ):
        with pytest.raises(RuntimeError, match=message):
            ask()


def test_borda_is_smooth_in_the_weights_in_every_mode():
    w = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
    for missing in ("raise", "interleaving", "topk"):
        assert gradcheck(lambda w, missing=missing: borda(X, w, missing=missing), w, check_forward_ad=True)


def test_what_is_refused_is_called_by_its_name():
    for function, name in ((borda, "Borda scores"), (HARD["diffusion_gram"], "values of the diffusion kernel")):
        with pytest.raises(RuntimeError, match=f"^{name} are piecewise constant"):
            function(X.clone().requires_grad_()).sum().backward()


@pytest.mark.parametrize(
    "function",
    [
        *(pytest.param(f, id=name) for name, f in HARD.items()),
        pytest.param(lambda x: pair_counts(x).discordant, id="pair_counts"),
        pytest.param(lambda x: kendall_gram(x, missing="pairwise"), id="pairwise"),
        pytest.param(torchrank.to_orders, id="to_orders"),
        pytest.param(torchrank.to_positions, id="to_positions"),
        pytest.param(torchrank.copeland, id="copeland"),
        pytest.param(lambda x: torchrank.kemeny(x).scores, id="kemeny"),
        pytest.param(lambda x: torchrank.from_positions(x.argsort(-1) + 1, ties="raise"), id="from_positions"),
        pytest.param(lambda x: torchrank.Mallows(ORDER, 0.5).log_prob(x), id="Mallows"),
        pytest.param(lambda x: torchrank.PlackettLuce(ORDER).log_prob(x), id="PlackettLuce"),
    ],
)
def test_vmap_of_hard_counts_is_a_stack_of_calls(function):
    many = torch.stack([X, X.flip(-1), X.roll(1, -1)])
    assert torch.equal(vmap(function)(many), torch.stack([function(one) for one in many]))


def test_unranked_items_are_named_under_vmap_too():
    many = torch.stack([X, X])
    many[1, 2, 3] = math.nan
    with pytest.raises(ValueError, match=r"X has NaN .* at batch \(1,\), row 2, item 3"):
        vmap(kendall_gram)(many)
