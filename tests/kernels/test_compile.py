"""The public functions under torch.compile and on fake tensors of a device that this machine need not have."""

import math
import shutil

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torchrank import (
    MallowsKernel,
    borda,
    kendall_distance,
    kendall_gram,
    mallows_gram,
    normalize_gram,
    pair_counts,
    polynomial_gram,
    spearman_gram,
    weighted_kendall_gram,
)

BACKENDS = ["aot_eager"] + ([pytest.param("inductor", marks=pytest.mark.slow)] if shutil.which("g++") else [])


@pytest.fixture(autouse=True)
def fresh_compiler():
    """Forget what other tests compiled."""
    torch.compiler.reset()


def scores(*shape, levels=5, dtype=torch.float64):
    return torch.randint(0, levels, shape, generator=torch.Generator().manual_seed(0)).to(dtype)


def compiled(function, backend):
    return torch.compile(function, fullgraph=True, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_kendall_gram(backend):
    gram = compiled(kendall_gram, backend)
    X, Y = scores(5, 9), scores(3, 9)
    torch.testing.assert_close(gram(X), kendall_gram(X), rtol=0, atol=1e-15)
    torch.testing.assert_close(gram(X, Y), kendall_gram(X, Y), rtol=0, atol=1e-15)


@pytest.mark.slow
def test_kendall_gram_of_changing_sizes():
    gram = compiled(kendall_gram, "aot_eager")
    for X in (scores(5, 9), scores(6, 9), scores(7, 12), scores(8, 13), scores(2, 3, 9), scores(0, 9)):
        torch.testing.assert_close(gram(X, variant="a"), kendall_gram(X, variant="a"), rtol=0, atol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_unranked_items_still_raise_at_run_time(backend):
    gram = compiled(kendall_gram, backend)
    X = scores(5, 9)
    gram(X)
    X[3, 4] = math.nan
    with pytest.raises(ValueError, match=r"X has NaN .* at row 3, item 4"):
        gram(X)
    X[3, 4] = 0
    torch.testing.assert_close(gram(X), kendall_gram(X), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "counts",
    [kendall_gram, kendall_distance, spearman_gram, borda, lambda X: mallows_gram(X, lam=0.5)],
    ids=["kernel", "distance", "spearman", "borda", "mallows"],
)
def test_gradients_by_transforms_are_refused_and_not_zero(counts):
    """Inputs of torch.func.grad do not tell the compiler that a gradient is asked for."""
    with pytest.raises(RuntimeError, match="takes no derivatives by torch"):
        compiled(torch.func.grad(lambda X: counts(X).sum()), "eager")(scores(4, 5))
    with pytest.raises(RuntimeError, match="takes no derivatives by torch"):
        compiled(lambda X: torch.func.jvp(lambda X: counts(X).sum(), (X,), (X,)), "eager")(scores(4, 5))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_mallows_gram_with_a_learnable_concentration(backend):
    def loss(X, lam):
        return mallows_gram(X, lam=lam, normalize=True).square().sum()

    X = scores(5, 9)
    results = []
    for function in (loss, compiled(loss, backend)):
        lam = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        value = function(X, lam)
        value.backward()
        results.append((value.detach(), lam.grad))
    torch.testing.assert_close(results[1], results[0], rtol=1e-12, atol=0)
    with pytest.raises(ValueError, match=r"lam=-0.5"):
        compiled(loss, backend)(X, torch.tensor(-0.5, requires_grad=True))
    with pytest.raises(ValueError, match="X has NaN"):
        compiled(loss, backend)(torch.full((2, 3), math.nan), lam)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: kendall_distance(X, tie_penalty=0.5),
        lambda X: kendall_gram(X, missing="pairwise"),
        pair_counts,
        lambda X: normalize_gram(mallows_gram(X, lam=0.2)),
        MallowsKernel(lam=0.1),
        lambda X: kendall_gram(X.long()),
        lambda X: kendall_gram(X, X[:2], missing=["topk", "interleaving"] * 2, missing_y="interleaving"),
        lambda X: kendall_gram(torch.stack([X, X]), missing=[["topk"] * 4, ["interleaving"] * 4]),
        lambda X: mallows_gram(X.where(X > 0, math.nan), missing="topk", normalize=True),
        lambda X: weighted_kendall_gram(X, pairs=1 - torch.eye(7)),
        lambda X: polynomial_gram(kendall_gram(X), degree=3, scale=2.0),
    ],
    ids=[
        "distance",
        "pairwise",
        "counts",
        "normalized",
        "module",
        "integers",
        "partial",
        "kinds",
        "partial mallows",
        "pairs",
        "polynomial",
    ],
)
def test_other_functions(function):
    X = scores(4, 7)
    torch.testing.assert_close(compiled(function, "aot_eager")(X), function(X), rtol=1e-14, atol=1e-15)


def slices_fake_cuda_tensors():
    """Whether this torch does so without a GPU: builds for the CPU alone do not, nor older ones that find no driver."""
    try:
        with FakeTensorMode():
            torch.empty(2, 2, device="cuda")[:, :1]
    except RuntimeError:
        return False
    return True


needs_fake_cuda = pytest.mark.skipif(not slices_fake_cuda_tensors(), reason="this torch slices no fake CUDA tensors")


@needs_fake_cuda
@pytest.mark.parametrize("missing", ["raise", "pairwise", "interleaving", "topk"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
def test_fake_cuda_tensors(dtype, missing):
    with FakeTensorMode():
        X = torch.empty(2, 3, 10, device="cuda", dtype=dtype)
        Y = torch.empty(5, 10, device="cuda", dtype=dtype)
        expected = dtype if dtype.is_floating_point else torch.get_default_dtype()
        for function in (kendall_gram, kendall_distance, mallows_gram):
            counts = function is kendall_distance  # more than half precision holds
            result_dtype = torch.promote_types(expected, torch.float32) if counts else expected
            for other, m2 in ((None, 3), (Y, 5)):
                result = function(X, other, missing=missing)
                assert (tuple(result.shape), result.dtype, result.device.type) == ((2, 3, m2), result_dtype, "cuda")
        weighted = weighted_kendall_gram(X, Y, pairs=torch.empty(10, 10))
        assert (tuple(weighted.shape), weighted.dtype, weighted.device.type) == ((2, 3, 5), expected, "cuda")
        for count in pair_counts(X, Y, missing=missing if missing == "raise" else "pairwise"):
            assert (tuple(count.shape), count.dtype, count.device.type) == ((2, 3, 5), torch.int64, "cuda")


@needs_fake_cuda
def test_fake_cuda_tensors_are_checked():
    with FakeTensorMode():
        X = torch.empty(3, 10, device="cuda")
        with pytest.raises(ValueError, match="X is on cuda:0 and Y on cpu"):
            kendall_gram(X, torch.empty(3, 10))
        with pytest.raises(ValueError, match="X ranks 10 items and Y ranks 9"):
            kendall_gram(X, X[:, :9])
        with pytest.raises(TypeError, match=r"X has dtype torch\.complex64"):
            kendall_gram(X.to(torch.complex64))


def test_meta_tensors_have_shapes():
    result = kendall_gram(torch.empty(3, 10, device="meta"), torch.empty(2, 10, device="meta"))
    assert (result.device.type, tuple(result.shape)) == ("meta", (3, 2))
