"""The smoothed Gram matrix against the oracle, and its gradient against that of dense features in double precision."""

import math

import pytest
import torch
from torch import Tensor

from kernels_triton import prepare, smoothed, tiles
from kernels_triton.tiles import SmoothedTile
from tests.oracles.kernels import gram
from tests.oracles.smoothed import smoothed as oracle
from tests.triton.interpret.guarded import GUARD

CLOSE = 4e-7  # errors of the Gram matrix; those of gradients relative to the largest one
# Differences with padding items overflow, as they should: they are cut at the window anyway.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")


class GuardedTorch:
    """Torch, but for new tensors: they lie between guard bands and hold NaN, or the wrong integer, unless zeroed."""

    def __init__(self) -> None:
        self._bands: list[Tensor] = []

    def __getattr__(self, name: str):
        return getattr(torch, name)

    def empty(self, shape, *, dtype, device) -> Tensor:
        poison = math.nan if dtype.is_floating_point else -77_777
        whole = torch.full((GUARD + math.prod(shape) + GUARD,), poison, dtype=dtype, device=device)
        self._bands += [whole[:GUARD], whole[-GUARD:]]
        return whole[GUARD:-GUARD].view(shape)

    def zeros(self, shape, *, dtype, device) -> Tensor:
        return self.empty(shape, dtype=dtype, device=device).zero_()

    def check(self) -> None:
        for band in self._bands:
            assert (band.isnan() if band.dtype.is_floating_point else band == -77_777).all(), "a guard band was written"


@pytest.fixture(autouse=True)
def small_tiles_and_guards(monkeypatch):
    tile = SmoothedTile(16, 16, 16, chunk=16, warps=4, registers=128)
    monkeypatch.setattr(tiles, "smoothed_tile", lambda *_: tile)
    monkeypatch.setattr(tiles, "smoothed_gradient_tile", lambda *_: tile)
    guarded = GuardedTorch()
    for module in (smoothed, prepare):
        monkeypatch.setattr(module, "torch", guarded)
    yield
    guarded.check()


def scores(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def run(x, y, window, noise, workspace=2**28):
    return smoothed.launch(x, y, window=window, noise=noise, workspace=workspace)


def expected(x, y, window, noise):
    y = x if y is None else y
    pairs = zip(x.numpy(), y.numpy(), strict=True)
    return torch.stack([torch.from_numpy(gram(oracle, a, b, window=window, noise=noise)) for a, b in pairs])


def dense(x: Tensor, y: Tensor, window: Tensor, noise: str) -> Tensor:
    """The Gram matrix from features of all pairs."""
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1], 1)
    features = []
    for side in (x, y):
        s = (side[..., i] - side[..., j]) / window
        features.append(torch.erf(s / 2) if noise == "gaussian" else s.clamp(-1, 1) * (2 - s.clamp(-1, 1).abs()))
    return features[0] @ features[1].mT / len(i)


def gradients(weights, x, y, window, noise):
    """Gradients of the weighted sum of the Gram matrix in double precision."""
    leaves = [side.double().requires_grad_() for side in ([x] if y is None else [x, y])]
    width = torch.tensor(window, dtype=torch.float64, requires_grad=True)
    (dense(leaves[0], leaves[-1], width, noise) * weights.double()).sum().backward()
    return [leaf.grad for leaf in (*leaves, width)]


def check_gradients(weights, x, y, window, noise, workspace=2**28):
    got = smoothed.launch_backward(weights, x, y, window=window, noise=noise, workspace=workspace)
    wanted = gradients(weights, x, y, window, noise)
    for one, other in zip(got[: len(wanted) - 1], wanted[:-1], strict=True):
        assert (one.double() - other).abs().max() <= 2 * CLOSE * other.abs().max()
    # The window's is a sum over all entries, which may cancel.
    assert (got[2] - wanted[-1]).abs() <= 2 * CLOSE * weights.norm() / window
    return got


@pytest.mark.parametrize("noise", smoothed.NOISES)
@pytest.mark.parametrize(
    ("b", "m", "m2", "n"),
    [
        (1, 1, 1, 2),
        (1, 5, None, 11),
        (2, 2, 18, 5),
        (1, 2, 3, 33),  # several chunks of first items
        (1, 18, None, 4),  # tiles on, above and below the diagonal
    ],
)
def test_value_and_gradient(noise, b, m, m2, n):
    x, y = scores(b, m, n, seed=1), None if m2 is None else scores(b, m2, n, seed=2)
    x[0, 0] = x[0, 0].round()  # ties
    result = run(x, y, 0.7, noise)
    assert result.dtype == torch.float32
    assert (result.double() - expected(x, y, 0.7, noise)).abs().max() < CLOSE
    if y is None:
        assert torch.equal(result, result.mT)
    for_x, for_y, for_window = check_gradients(scores(b, m, m2 or m, seed=3), x, y, 0.7, noise)
    assert for_x.shape == x.shape
    assert for_y.shape == (x[:0] if y is None else y).shape
    assert for_window.dtype == torch.float64


@pytest.mark.parametrize("noise", smoothed.NOISES)
@pytest.mark.parametrize("window", [2.0**-120, 1e-3, 1e30, 2.0**120])
def test_infinite_scores_and_extreme_windows(noise, window):
    x = torch.tensor([[[math.inf, 3e38, -math.inf, 0.25, math.inf, -3e38, 0.0, -0.0]]])
    y = scores(1, 2, 8, seed=4)
    assert smoothed.suits(x, window)
    result = run(x, y, window, noise)
    assert (result.double() - expected(x, y, window, noise)).abs().max() < CLOSE
    parts = smoothed.launch_backward(scores(1, 1, 2, seed=5), x, y, window=window, noise=noise, workspace=2**28)
    assert all(part.isfinite().all() for part in parts)


@pytest.mark.parametrize("y_is_x", [True, False])
def test_blocks_of_rows_within_a_small_workspace(y_is_x):
    x, y = scores(2, 5, 7, seed=6), None if y_is_x else scores(2, 3, 7, seed=7)
    result = run(x, y, 0.5, "uniform", workspace=2**10)
    assert (result.double() - expected(x, y, 0.5, "uniform")).abs().max() < CLOSE
    if y is None:
        assert torch.equal(result, result.mT)
    check_gradients(scores(2, 5, 5 if y_is_x else 3, seed=8), x, y, 0.5, "uniform", workspace=2**12)


def test_offsets_cost_no_digits():
    x = scores(1, 4, 12, seed=9) + torch.tensor([0.0, 1e3, -1e5, 1e6])[:, None]
    assert (run(x, None, 0.5, "uniform").double() - expected(x, None, 0.5, "uniform")).abs().max() < CLOSE
    check_gradients(scores(1, 4, 4, seed=10), x, None, 0.5, "uniform")


def test_strided_scores_and_expanded_gradients():
    x, y = scores(1, 12, 20, seed=11)[:, ::3, ::2], scores(1, 10, 3, seed=12).mT
    assert torch.equal(run(x, y, 0.6, "uniform"), run(x.contiguous(), y.contiguous(), 0.6, "uniform"))
    check_gradients(torch.ones(()).expand(1, 4, 3), x, y, 0.6, "uniform")
    check_gradients(scores(1, 4, 4, seed=13).mT, x, None, 0.6, "uniform")


def test_every_row_of_weights_has_its_own_scale():
    x, y = scores(1, 4, 9, seed=14), scores(1, 5, 9, seed=15)
    weights = scores(1, 4, 5, seed=16) * torch.tensor([1e-30, 1.0, 1e30, 0.0])[:, None]
    got = smoothed.launch_backward(weights, x, y, window=1.0, noise="uniform", workspace=2**28)[0].double()
    wanted = gradients(weights, x, y, 1.0, "uniform")[0]
    assert ((got - wanted).abs().amax(-1) <= 2 * CLOSE * wanted.abs().amax(-1)).all()


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_are_not_finite_stay_in_their_row(bad):
    x, y = scores(1, 3, 9, seed=17), scores(1, 4, 9, seed=18)
    weights = scores(1, 3, 4, seed=19)
    finite = smoothed.launch_backward(weights, x, y, window=1.0, noise="uniform", workspace=2**28)[0]
    weights[0, 1, 2] = bad
    for_x, for_y, for_window = smoothed.launch_backward(weights, x, y, window=1.0, noise="uniform", workspace=2**28)
    assert not for_x[0, 1].isfinite().any()
    assert torch.equal(for_x[0, [0, 2]], finite[0, [0, 2]])
    assert for_y[0, [0, 1, 3]].isfinite().all()
    assert not for_y[0, 2].isfinite().any()
    assert not for_window.isfinite()


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (1, 2, 0)])
def test_nothing_to_compare(shape):
    x = torch.zeros(shape)
    assert run(x, None, 1.0, "uniform").shape == (shape[0], shape[1], shape[1])
    for_x, _, for_window = smoothed.launch_backward(
        x.new_zeros(shape[0], shape[1], shape[1]), x, None, window=1.0, noise="uniform", workspace=2**28
    )
    assert for_x.shape == shape
    assert for_window == 0


def test_what_is_left_to_plain_torch():
    x = torch.zeros(1, 1, 1)
    assert smoothed.suits(x, 1.0)
    assert not smoothed.suits(x.double(), 1.0)
    assert not smoothed.suits(x.expand(1, 1, 2**22 + 1), 1.0)
    assert not smoothed.suits(x, 5e-324)
    assert not smoothed.suits(x, 1e300)


def test_one_item_makes_no_pair():
    x = torch.randn(1, 3, 1)
    assert torch.equal(smoothed.launch(x, None, window=1.0, noise="uniform", workspace=2**20), torch.zeros(1, 3, 3))
    gradients = smoothed.launch_backward(torch.ones(1, 3, 3), x, None, window=1.0, noise="uniform", workspace=2**20)
    assert not any(gradient.any() for gradient in gradients)
