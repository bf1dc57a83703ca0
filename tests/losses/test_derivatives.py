"""Derivatives of the losses in every mode and order, against finite differences of float64 and one another."""

import math
import shutil

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, jacfwd, jacrev, jvp, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from tests.transforms import transforms_agree
from torchrank import (
    PlackettLuce,
    borda,
    kendall_gram,
    kendall_loss,
    mallows_gram,
    smoothed_kendall_gram,
    soft_rank,
    spearman_loss,
)

G = torch.Generator().manual_seed(0)
X = torch.randn(3, 5, generator=G, dtype=torch.float64)
Y = torch.tensor([[1.0, 2, 3, 4, 5], [2, 2, 1, math.nan, 0], [0, 3, 3, 1, 1]])
WEIGHTS = torch.rand(3, 5, generator=G, dtype=torch.float64)
PAIRS = torch.rand(5, 5, generator=G, dtype=torch.float64)
WINDOW = torch.tensor(1.3, dtype=torch.float64)
MASK = torch.tensor([True, True, False, True, True])


def _pairs(x, w, p):
    return kendall_loss(x, Y, window=w, pairs=p.triu(1) + p.triu(1).mT, reduction="none")


SMOOTH = {
    "b": (lambda x, w: kendall_loss(x, Y, window=w, reduction="none"), (X, WINDOW)),
    "a": (lambda x, w: kendall_loss(x, Y, window=w, variant="a"), (X, WINDOW)),
    "gaussian": (lambda x, w: kendall_loss(x, Y, window=w, noise="gaussian", reduction="none"), (X, WINDOW)),
    "mask": (lambda x, w: kendall_loss(x, Y, window=w, mask=MASK, reduction="none"), (X, WINDOW)),
    "hyperbolic": (lambda x, w: kendall_loss(x, Y, window=w, weights="hyperbolic"), (X, WINDOW)),
    "sum": (lambda x, w, v: kendall_loss(x, Y, window=w, weights=v, reduction="none"), (X, WINDOW, WEIGHTS)),
    "product": (lambda x, w, v: kendall_loss(x, Y, window=w, weights=v, scheme="product"), (X, WINDOW, WEIGHTS)),
    "pairs": (_pairs, (X, WINDOW, PAIRS)),
    "soft_rank": (lambda x, w: soft_rank(x, w), (X, WINDOW)),
    "soft_rank, gaussian": (lambda x, w: soft_rank(x, w, noise="gaussian"), (X, WINDOW)),
    "spearman": (lambda x, w: spearman_loss(x, Y, window=w, reduction="none"), (X, WINDOW)),
}
smooth = pytest.mark.parametrize(("function", "inputs"), SMOOTH.values(), ids=SMOOTH.keys())


@smooth
def test_first_and_second_derivatives_backwards_and_forwards(function, inputs):
    inputs = [value.clone().requires_grad_() for value in inputs]
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True, atol=1e-6)
    assert gradgradcheck(function, inputs, check_fwd_over_rev=True, check_rev_over_rev=True)


@smooth
def test_transforms_agree(function, inputs):
    transforms_agree(function, inputs)


@smooth
def test_gradients_of_each_sample(function, inputs):
    many = [torch.stack([value, value / 2, value / 4]) for value in inputs]

    def loss(*values):
        return function(*values).square().sum()

    for alone in range(len(inputs)):
        dims = tuple(0 if k == alone else None for k in range(len(inputs)))
        batch = [many[k] if k == alone else inputs[k] for k in range(len(inputs))]
        got = vmap(grad(loss, alone), dims)(*batch)
        each = [
            grad(loss, alone)(*(many[k][i] if k == alone else inputs[k] for k in range(len(inputs)))) for i in range(3)
        ]
        torch.testing.assert_close(got, torch.stack(each))
    outside = grad(lambda *values: vmap(loss)(*values).sum(), tuple(range(len(inputs))))(*many)
    for got, k in zip(outside, range(len(inputs)), strict=True):
        each = [grad(loss, k)(*(part[i] for part in many)) for i in range(3)]
        torch.testing.assert_close(got, torch.stack(each))


def test_gradients_of_each_list_of_a_batch():
    per_list = vmap(grad(lambda x, y: kendall_loss(x, y, window=0.8)))(X, Y)
    for k in range(3):
        torch.testing.assert_close(per_list[k], grad(lambda x, k=k: kendall_loss(x, Y[k], window=0.8))(X[k]))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("n", [2000, 100])
def test_gradients_of_longer_lists_against_differences(n, noise):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(2, n, generator=g, dtype=torch.float64)
    y = torch.randint(0, n, (2, n), generator=g).double()
    towards = torch.randn(2, n, generator=g, dtype=torch.float64)
    for dtype, near in ((torch.float64, 1e-8), (torch.float32, 1e-6)):
        leaf = x.to(dtype).requires_grad_()
        (gradient,) = torch.autograd.grad(kendall_loss(leaf, y, window=0.7, noise=noise), leaf)
        at = leaf.detach().double()

        def of(step, at=at):
            return kendall_loss(at + step * towards, y, window=0.7, noise=noise)

        difference = (of(1e-5) - of(-1e-5)) / 2e-5
        assert float((gradient * towards).sum()) == pytest.approx(float(difference), abs=near)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_infinite_scores_have_derivatives(noise):
    x = torch.tensor([[math.inf, 1.0, 1.2, math.inf], [0.0, -math.inf, 0.3, 0.1]], dtype=torch.float64)
    y = torch.tensor([[1.0, 2, 3, 4], [4, 2, 2, 1]])

    def function(x):
        return kendall_loss(x, y, window=1.0, noise=noise, reduction="none")

    forwards = jacfwd(function)(x)
    torch.testing.assert_close(forwards, jacrev(function)(x))
    leaf = x.clone().requires_grad_()
    for k in range(2):
        torch.testing.assert_close(torch.autograd.grad(function(leaf)[k], leaf)[0], forwards[k])
    assert forwards.isfinite().all()


class _Saved:
    """The largest tensor that a graph keeps."""

    def __init__(self):
        self.most = 0

    def __call__(self, tensor):
        self.most = max(self.most, tensor.numel())
        return tensor


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_a_graph_keeps_nothing_of_pairs(noise):
    n = 300
    x = torch.randn(1, n, requires_grad=True)
    for function in (
        lambda: kendall_loss(x, torch.arange(n)[None], window=0.5, noise=noise, weights="hyperbolic"),
        lambda: spearman_loss(x, torch.arange(n)[None], window=0.5, noise=noise),
    ):
        saved = _Saved()
        with torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor):
            function().backward()
        assert n <= saved.most <= 2 * n


COMPILED = [(name, "aot_eager") for name in SMOOTH]
if shutil.which("g++"):
    COMPILED.append(pytest.param("b", "inductor", marks=pytest.mark.slow))  # it is slow, and one of them is enough


@pytest.mark.parametrize(("name", "backend"), COMPILED)
def test_compiled_whole(name, backend):
    function, inputs = SMOOTH[name]
    torch.compiler.reset()
    compiled = torch.compile(lambda *values: function(*values).sum(), fullgraph=True, backend=backend)
    leaves = [value.clone().requires_grad_() for value in inputs]
    expected = function(*leaves).sum()
    got = compiled(*leaves)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(torch.autograd.grad(got, leaves), torch.autograd.grad(expected, leaves))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: kendall_loss(x, Y, window=w),
        lambda x, w: soft_rank(x, w).square(),
        lambda x, w: smoothed_kendall_gram(x, window=w),
        lambda x, w: mallows_gram(x.detach(), lam=w),
    ],
)
def test_a_number_that_changes_with_each_step_is_not_compiled_anew(function):
    """torch gives up at the ninth graph of a function."""
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    leaf = X.clone().requires_grad_()
    for step in range(12):
        window = 2.0 * 0.9**step
        torch.testing.assert_close(compiled(leaf, window), function(leaf, window))


def test_a_second_derivative_of_a_compiled_one_is_refused():
    torch.compiler.reset()
    compiled = torch.compile(lambda x: soft_rank(x, 1.0).square().sum(), fullgraph=True, backend="aot_eager")
    leaf = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(compiled(leaf), leaf, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(gradient.sum(), leaf)


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_of_graphs_run_by_torch_are_refused(name):
    """The backend "eager" leaves derivatives to torch's own graph, which knows of every part."""
    function, inputs = SMOOTH[name]
    torch.compiler.reset()
    compiled = torch.compile(lambda *values: function(*values).sum(), fullgraph=True, backend="eager")
    leaves = [value.clone().requires_grad_() for value in inputs]
    gradients = torch.autograd.grad(compiled(*leaves), leaves, create_graph=True)
    torch.testing.assert_close(gradients, torch.autograd.grad(function(*leaves).sum(), leaves))
    for gradient in gradients:
        with pytest.raises(RuntimeError, match="differentiable once: leave out create_graph=True"):
            torch.autograd.grad(gradient.sum(), leaves, retain_graph=True, allow_unused=True)


@pytest.mark.parametrize("of_row", [lambda x, y: kendall_loss(x, y, window=1.3), lambda x, y: soft_rank(x, 1.3)])
def test_forward_mode_of_vmap(of_row):
    """The same as vmap of forward mode; two vmaps too."""
    towards = torch.randn(X.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    wanted = vmap(lambda x, y, v: jvp(lambda x: of_row(x, y), (x,), (v,)))(X, Y, towards)
    found = jvp(lambda x: vmap(of_row)(x, Y), (X,), (towards,))
    torch.testing.assert_close(found, wanted)
    found = jvp(lambda x: vmap(vmap(of_row))(x[None], Y[None]), (X,), (towards,))
    torch.testing.assert_close(tuple(part[0] for part in found), wanted)


def test_forward_mode_of_vmap_of_counts_is_refused():
    with pytest.raises(RuntimeError, match="Kendall counts are piecewise constant"):
        jvp(lambda x: vmap(lambda x: kendall_gram(x[None], X))(x), (X,), (X,))


DERIVED = {
    "kendall_loss": lambda x: kendall_loss(x, Y, window=1.3),
    "soft_rank": lambda x: soft_rank(x, 1.3).square().sum(),
    "smoothed_kendall_gram": lambda x: smoothed_kendall_gram(x, window=1.3).sum(),
}


@pytest.mark.parametrize("function", DERIVED.values(), ids=DERIVED)
def test_transforms_in_compiled_functions_are_refused(function):
    """torch would raise in its own words, or give zeros."""
    cases = [grad(function), vmap(grad(function)), lambda x: jvp(function, (x,), (x,))]
    for case, x in zip(cases, (X, X[None], X), strict=True):
        torch._dynamo.reset()
        with pytest.raises(RuntimeError, match="takes no derivatives by torch"):
            torch.compile(case, backend="aot_eager")(x)


@pytest.mark.parametrize("name", ["kendall_loss", "soft_rank", "smoothed_kendall_gram"])
def test_what_to_do_instead(name):
    """Compile the function, with its gradient in the graph or outside of it; a constant may be of any kind."""
    function, x = DERIVED[name], X.clone().requires_grad_()
    wanted = grad(function)(X)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(x), x)[0], wanted)
    compiled(x).backward()
    torch.testing.assert_close(x.grad, wanted)
    beside = torch.compile(grad(lambda x: x.sum() * function(X)), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(beside(X), function(X).expand(X.shape))


OF_ROWS = {
    "kendall_loss": lambda x, y: kendall_loss(x, y, window=1.3),
    "spearman_loss": lambda x, y: spearman_loss(x, y, window=1.3),
    "soft_rank": lambda x, y: (soft_rank(x, 1.3) * y).sum(),
    "smoothed_kendall_gram": lambda x, y: smoothed_kendall_gram(x[None], y[None], window=1.3).sum(),
}


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
@pytest.mark.parametrize("of_row", OF_ROWS.values(), ids=OF_ROWS)
def test_gradients_from_outside_of_vmap(of_row, backend):
    """Its tensors do not say that a gradient is wanted."""
    torch.compiler.reset()

    def loss(x):
        return vmap(of_row)(x, torch.nan_to_num(Y).double()).sum()

    x = X.clone().requires_grad_()
    got = torch.autograd.grad((loss if backend is None else torch.compile(loss, backend=backend))(x), x)
    rows = [of_row(row, y) for row, y in zip(x, torch.nan_to_num(Y).double(), strict=True)]
    torch.testing.assert_close(got, torch.autograd.grad(sum(rows), x))


HARD = {
    "kendall_gram": lambda x: kendall_gram(x[None], X),
    "borda": lambda x: borda(torch.stack([x, -x])),
    "target": lambda x: kendall_loss(X[0], x, window=1.3),
    "target of spearman_loss": lambda x: spearman_loss(X[0], x, window=1.3),
    "value of a law": lambda x: PlackettLuce(X[0]).log_prob(x),
}


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
@pytest.mark.parametrize("of_row", HARD.values(), ids=HARD)
def test_hard_counts_refuse_from_outside_of_vmap(of_row, backend):
    torch.compiler.reset()
    torch.distributions.Distribution.set_default_validate_args(False)  # as the first torch.compile of a process does

    def loss(x):
        return vmap(of_row)(x).sum() + x.square().sum()

    made = loss if backend is None else torch.compile(loss, backend=backend)
    made(X.clone())
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        made(X.clone().requires_grad_()).backward()


@pytest.mark.parametrize(
    "of_both",
    [
        lambda x, t: kendall_loss(x, t, window=1.3),
        lambda x, t: spearman_loss(x, t, window=1.3),
        lambda x, t: PlackettLuce(x).log_prob(t).sum(),
    ],
)
def test_a_derivative_in_the_prediction_alone(of_both):
    """As of a student beside a teacher: what is not asked for is not refused."""
    x, t = X.clone().requires_grad_(), X.flip(0).clone().requires_grad_()
    (found,) = torch.autograd.grad(of_both(x, t), x)
    torch.testing.assert_close(found, torch.autograd.grad(of_both(x, t.detach()), x)[0], rtol=0, atol=0)
    of_both(x, t).backward(inputs=[x])
    for asked in ([t], [x, t]):
        with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
            torch.autograd.grad(of_both(x, t), asked)
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        jvp(lambda t: of_both(x, t), (X,), (X,))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of C++")
@pytest.mark.parametrize("shape", [(8, 100), (64, 20)])
@pytest.mark.parametrize("name", ["b", "hyperbolic", "sum", "soft_rank", "spearman"])
def test_code_for_lists_of_many_items(name, shape):
    """The compiler's instructions for many numbers at once are others than for few."""
    torch.compiler.reset()
    x, y = (torch.randn(shape, generator=G, dtype=torch.float64) for _ in range(2))
    function = {
        "b": lambda x: kendall_loss(x, y, window=0.5),
        "hyperbolic": lambda x: kendall_loss(x, y, window=0.5, weights="hyperbolic", variant="a"),
        "sum": lambda x: kendall_loss(x, y, window=0.5, weights=y.abs()),
        "soft_rank": lambda x: (soft_rank(x, 0.5) * y).mean(),
        "spearman": lambda x: spearman_loss(x, y, window=0.5),
    }[name]
    leaf = x.requires_grad_()
    got, expected = torch.compile(function, fullgraph=True)(leaf), function(leaf)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(torch.autograd.grad(got, leaf), torch.autograd.grad(expected, leaf))


class _Largest(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that is made."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(part, torch.Tensor):
                self.numbers = max(self.numbers, part.untyped_storage().nbytes() // part.element_size())
        return made


@pytest.mark.parametrize(
    "function", [lambda x, y: kendall_loss(x, y, window=1.0), lambda x, y: soft_rank(x, 1.0).sum()]
)
def test_no_derivative_makes_a_tensor_of_all_pairs(function):
    x, y = torch.randn(2, 1, 2000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with _Largest() as forward:
        jvp(lambda x: function(x, y), (x,), (x,))
    x.requires_grad_()
    with _Largest() as second:
        (slope,) = torch.autograd.grad(function(x, y), x, create_graph=True)
        torch.autograd.grad((slope * y).sum(), x)
    assert 0 < forward.numbers < 2**18
    assert 0 < second.numbers < 2**18
