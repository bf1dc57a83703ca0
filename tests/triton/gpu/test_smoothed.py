"""The CUDA engine of the smoothed kernel against plain torch in double precision. They need a GPU."""

import pytest
import torch

from kernels_triton import smoothed as engine
from torchrank.kernels.smoothed import smoothed_kendall_gram
from torchrank.ops.pair_counts import WORKSPACE

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
CLOSE = 1e-6  # what the engine promises for the Gram matrix


def scores(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).cuda()


def with_gradients(x, y, weights, *, window, **settings):
    """Gram matrix, and the gradients for x, y and the window."""
    leaves = [side.detach().requires_grad_() for side in ([x] if y is None else [x, y])]
    width = torch.tensor(window, dtype=torch.float64, requires_grad=True)
    result = smoothed_kendall_gram(leaves[0], leaves[1] if y is not None else None, window=width, **settings)
    (result * weights.to(result.dtype)).sum().backward()
    return [result.detach(), *(leaf.grad.cpu() for leaf in (*leaves, width))]


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize(
    ("b", "m", "m2", "n"), [(1, 1, None, 2), (1, 65, None, 63), (3, 5, 130, 129), (1, 200, 2, 1000), (1, 2, 3, 9001)]
)
def test_close_to_double_precision(noise, b, m, m2, n):
    x, y = scores(b, m, n, seed=1), None if m2 is None else scores(b, m2, n, seed=2)
    x[0, 0, 0] = torch.inf
    weights = scores(b, m, m2 or m, seed=3)
    got = with_gradients(x, y, weights, window=0.4, noise=noise)
    wanted = with_gradients(x.double(), None if y is None else y.double(), weights, window=0.4, noise=noise)
    assert (got[0] - wanted[0]).abs().max() < CLOSE
    for one, other in zip(got[1:-1], wanted[1:-1], strict=True):
        assert (one.double() - other).abs().max() <= 2 * CLOSE * other.abs().max()
    # The window's is a sum over all entries, which may cancel.
    assert (got[-1] - wanted[-1]).abs() <= 2 * CLOSE * weights.norm().cpu() / 0.4
    if y is None:
        assert torch.equal(got[0], got[0].mT)


def test_the_same_bits_every_time_in_any_workspace_and_on_any_stream():
    x, weights = scores(2, 300, 200, seed=4), scores(2, 150, 150, seed=5)
    wanted = with_gradients(x[:, ::2].contiguous(), None, weights, window=0.5)
    again = with_gradients(x[:, ::2], None, weights, window=0.5)
    assert all(torch.equal(one, other) for one, other in zip(again, wanted, strict=True))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        got = smoothed_kendall_gram(x[:, ::2], window=0.5, workspace=2**20)
    stream.synchronize()
    assert torch.equal(got, wanted[0])


def test_memory_beyond_input_and_output_stays_within_the_workspace():
    x, workspace = scores(1, 1500, 300, seed=6), 16 * 2**20
    weights = scores(1, 1500, 1500, seed=7)
    for run in (
        lambda: [engine.launch(x, None, window=0.5, noise="uniform", workspace=workspace)],
        lambda: engine.launch_backward(weights, x, None, window=0.5, noise="uniform", workspace=workspace),
    ):
        run()  # compiles
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        outputs = sum(part.nbytes for part in run())
        assert torch.cuda.max_memory_allocated() - before - outputs <= workspace


def test_what_the_kernels_do_not_take_goes_to_plain_torch(monkeypatch):
    def launched(*_, **__):
        raise AssertionError("the kernels were launched")

    monkeypatch.setattr(engine, "launch", launched)
    x = scores(3, 20, seed=8)
    for side, settings in ((x.double(), {}), (x, {"method": "reference"}), (x, {"workspace": WORKSPACE})):
        if side is x and "method" not in settings:
            with pytest.raises(AssertionError, match="launched"):
                smoothed_kendall_gram(side, window=0.5, **settings)
        else:
            assert smoothed_kendall_gram(side, window=0.5, **settings).isfinite().all()
    assert smoothed_kendall_gram(x, window=1e-300).isfinite().all()
