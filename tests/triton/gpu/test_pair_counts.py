"""The CUDA engines against the CPU engine, by equality. They need a GPU."""

import pytest
import torch

from torchrank.ops.pair_counts import WORKSPACE, pair_counts
from torchrank.rankings.ties import dense_ranks

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def ranks(kind: str, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if kind == "total":
        return torch.rand(shape, generator=generator).argsort(dim=-1).int()
    scores = torch.randint(0, max(2, shape[-1] // 3), shape, generator=generator).float()
    if kind == "partial":
        scores[torch.rand(shape, generator=generator) < 0.2] = torch.nan
    return dense_ranks(scores)[0]


def counts(x, y, method, device, workspace=WORKSPACE):
    y = None if y is None else y.to(device)
    score, strict = pair_counts(x.to(device), y, True, method, workspace, False)
    return score.cpu(), strict.cpu()


@pytest.mark.parametrize("method", ["auto", "signs", "inversions"])
@pytest.mark.parametrize("kind", ["total", "tied", "partial"])
@pytest.mark.parametrize(
    ("b", "m", "m2", "n"),
    [(1, 1, None, 2), (1, 65, None, 63), (3, 5, 130, 129), (1, 129, 2, 1000), (1, 3, None, 70_001), (2, 4, 3, 17_000)],
)
def test_equal_to_the_cpu(method, kind, b, m, m2, n):
    x = ranks(kind, (b, m, n), seed=1)
    y = None if m2 is None else ranks(kind, (b, m2, n), seed=2)
    for got, expected in zip(counts(x, y, method, "cuda"), counts(x, y, "auto", "cpu"), strict=True):
        assert got.dtype == expected.dtype
        assert torch.equal(got, expected)


@pytest.mark.parametrize("method", ["signs", "inversions"])
def test_blocks_of_a_small_workspace_strides_and_streams(method):
    x = ranks("partial", (2, 300, 200), seed=3)
    expected = counts(x[:, ::2, :], None, "auto", "cpu")[0]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        on_device = x.cuda(non_blocking=True)[:, ::2, :]
        got = pair_counts(on_device, None, False, method, 2**18, False)[0]
    stream.synchronize()
    assert torch.equal(got.cpu(), expected)


@pytest.mark.parametrize("method", ["signs", "inversions"])
def test_memory_beyond_input_and_output_stays_within_the_workspace(method):
    x = ranks("partial", (1, 1500, 3000), seed=4).cuda()
    workspace = 16 * 2**20
    pair_counts(x[:, :64], None, True, method, workspace, False)  # compiles
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    score, strict = pair_counts(x, None, True, method, workspace, False)
    outputs = score.nbytes + strict.nbytes
    # The question about ties, asked once, looks at the input through a result of one word a ranking.
    assert torch.cuda.max_memory_allocated() - before - outputs <= workspace + 64 * x.shape[1]
