"""One contract for all engines: what the op returns equals the brute force, whatever the shapes and the blocks."""

import functools
import tracemalloc

import numpy as np
import pytest
import torch

from tests.oracles.pair_counts import score_and_strict_gram, score_and_strict_of_many_items
from tests.strategies import dense_ranks, random_scores
from torchrank.cpu import crossover
from torchrank.cpu import pair_counts as engines
from torchrank.ops import reference
from torchrank.ops.pair_counts import WORKSPACE, pair_counts

KINDS = ["total", "tied", "constant", "partial", "few tied"]


def rankings(kind, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    if kind == "few tied":  # a row with ties, and one that is not complete, among many others
        scores = random_scores(rng, "total", *shape)
        scores[..., 3::13, :] = random_scores(rng, "tied", *shape, missing=0.3)[..., 3::13, :]
        scores[..., 9::17, :] = random_scores(rng, "tied", *shape)[..., 9::17, :]
        return dense_ranks(scores)
    if kind == "partial":
        return dense_ranks(random_scores(rng, "tied", *shape, missing=0.3))
    return dense_ranks(random_scores(rng, kind, *shape))


def count(engine, x, y=None, *, strict=True, workspace=WORKSPACE):
    """The op's two results on the CPU, after the checks that hold for every call."""
    method, device = engine
    moved = x.to(device), None if y is None else y.to(device)
    score, both = pair_counts(*moved, strict, method, workspace, False)
    m2 = (x if y is None else y).shape[1]
    for result, shape in ((score, (x.shape[0], x.shape[1], m2)), (both, (x.shape[0], x.shape[1], m2))):
        assert tuple(result.shape) == (shape if strict or result is score else (x.shape[0], 0, 0))
        assert result.dtype == (torch.int32 if x.shape[2] <= 65_536 else torch.int64)
        assert result.is_contiguous()
        assert result.device.type == device
    for before, after in zip((x, y), moved, strict=True):
        assert before is None or torch.equal(before, after.cpu()), "an input was modified"
    return score.cpu(), both.cpu()


def frozen(x):
    """What makes up a tensor of ranks, as an argument that can be remembered."""
    return tuple(x.shape), x.numpy().tobytes()


@functools.cache
def brute_force(shape_x, x, shape_y, y):
    """The truth, once for all engines and workspaces: it takes longer than they do."""
    sides = (np.frombuffer(data, np.int32).reshape(shape) for shape, data in ((shape_x, x), (shape_y, y)))
    return score_and_strict_gram(*sides)


def check(engine, x, y=None, **settings):
    """Both results equal the brute force; without ``strict`` the first does."""
    score, both = count(engine, x, y, **settings)
    expected_score, expected_both = brute_force(*frozen(x), *frozen(x if y is None else y))
    assert np.array_equal(score, expected_score)
    if settings.get("strict", True):
        assert np.array_equal(both, expected_both)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 2), (4, 2), (5, 3), (9, 17), (3, 63), (3, 64), (3, 65), (2, 127), (2, 129)])
def test_symmetric_gram(engine, kind, strict, m, n):
    x = rankings(kind, 1, m, n)
    check(engine, x, strict=strict)
    for result in count(engine, x, strict=strict):
        assert torch.equal(result, result.mT)


@pytest.mark.parametrize("kinds", [("total", "total"), ("total", "tied"), ("partial", "total"), ("partial", "partial")])
@pytest.mark.parametrize(("m", "m2", "n"), [(1, 1, 2), (5, 1, 8), (1, 6, 31), (7, 10, 65), (4, 3, 100)])
def test_cross_gram(engine, kinds, m, m2, n):
    check(engine, rankings(kinds[0], 1, m, n, seed=1), rankings(kinds[1], 1, m2, n, seed=2))


@pytest.mark.parametrize("kind", KINDS)
def test_batches(engine, kind):
    check(engine, rankings(kind, 3, 5, 11))
    check(engine, rankings(kind, 3, 5, 11), rankings(kind, 3, 2, 11, seed=1))


@pytest.mark.parametrize(("b", "m", "m2"), [(0, 2, None), (0, 2, 3), (2, 0, None), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("strict", [False, True])
def test_empty_batches(engine, b, m, m2, strict):
    count(engine, rankings("tied", b, m, 5), None if m2 is None else rankings("tied", b, m2, 5), strict=strict)


@pytest.mark.parametrize("kind", ["total", "partial"])
@pytest.mark.parametrize("n", [2047, 2048, 2049, 4097])
def test_sizes_around_the_blocks_of_the_engines(engine, kind, n):
    x, y = rankings(kind, 1, 2, n), rankings(kind, 1, 1, n, seed=1)
    score, both = count(engine, x, y)
    for row in range(2):
        assert (int(score[0, row, 0]), int(both[0, row, 0])) == score_and_strict_of_many_items(
            x[0, row].tolist(), y[0, 0].tolist()
        )


@pytest.mark.parametrize("kind", ["total", "partial"])
@pytest.mark.parametrize("n", [65_535, 65_536, 65_537])
def test_sizes_around_the_change_of_dtypes(engine, kind, n):
    if engine == ("reference", "cpu"):
        pytest.skip("4.3e9 explicit sign features take minutes; its dtypes and blocks are checked at small sizes")
    x, y = rankings(kind, 1, 1, n), rankings(kind, 1, 1, n, seed=1)
    score, both = count(engine, x, y)
    assert (int(score), int(both)) == score_and_strict_of_many_items(x.flatten().tolist(), y.flatten().tolist())


@pytest.mark.parametrize("n", [65_536, 65_537])
def test_counts_beyond_int32_at_identical_and_reversed_rankings(engine, n):
    if engine == ("reference", "cpu"):
        pytest.skip("4.3e9 explicit sign features take minutes; its dtypes and blocks are checked at small sizes")
    up = torch.arange(n, dtype=torch.int32)
    score, both = count(engine, torch.stack([up, up.flip(0)])[None], up[None, None])
    assert score.flatten().tolist() == [n * (n - 1) // 2, -n * (n - 1) // 2]
    assert both.flatten().tolist() == [n * (n - 1) // 2] * 2


def test_reference_returns_int64_beyond_int32(monkeypatch):
    monkeypatch.setattr(reference.pair_counts, "pair_dtype", lambda n: torch.int64)
    x = rankings("tied", 1, 3, 9)
    score, both = reference.pair_counts.pair_counts(x, None, True, WORKSPACE)
    assert score.dtype == both.dtype == torch.int64
    assert np.array_equal(score, score_and_strict_gram(x.numpy(), x.numpy())[0])


@pytest.mark.parametrize("kind", ["total", "partial"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("workspace", [1, 1024, 5000, 40_000])
def test_small_workspace_cuts_into_blocks(engine, kind, symmetric, workspace):
    n = 12 if engine[0] == "reference" else 70  # the smallest workspace holds one pair of items at a time
    x = rankings(kind, 2, 21, n)
    check(engine, x, None if symmetric else rankings(kind, 2, 13, n, seed=1), workspace=workspace)


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_fill_several_tiles(engine, kind):
    x = rankings(kind, 1, 150, 5)
    check(engine, x)
    check(engine, x, rankings(kind, 1, 131, 5, seed=1))


@pytest.mark.parametrize("kind", KINDS)
def test_swapping_sides_transposes(engine, kind):
    x, y = rankings(kind, 2, 9, 40), rankings(kind, 2, 6, 40, seed=1)
    for one, other in zip(count(engine, x, y), count(engine, y, x), strict=True):
        assert torch.equal(one, other.mT)


@pytest.mark.parametrize("kind", KINDS)
def test_non_contiguous_ranks(engine, kind):
    x = rankings(kind, 1, 8, 24)
    views = [
        x.mT.contiguous().mT,
        torch.stack([x, torch.full_like(x, -1)], dim=-1)[..., 0],
        x[:, :1].expand(1, 8, 24),
        x[:, ::2],
    ]
    for view in views:
        check(engine, view)
        check(engine, x, view)


def test_unranked_rows_have_no_pairs(engine):
    x = torch.tensor([[[-1, -1, -1, -1], [0, -1, -1, -1], [0, 1, -1, -1], [-1, -1, 0, 1]]], dtype=torch.int32)
    score, both = count(engine, x)
    assert score[0].tolist() == both[0].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_auto_equals_the_engines():
    for kind in KINDS:
        x = rankings(kind, 1, 6, 30)
        for engine_result, auto in zip(count(("reference", "cpu"), x), count(("auto", "cpu"), x), strict=True):
            assert torch.equal(engine_result, auto)


@pytest.mark.parametrize(
    ("kind", "items", "chosen"),
    [("total", 20, "signs"), ("total", 21, "inversions"), ("tied", 30, "signs"), ("partial", 31, "inversions")],
)
def test_auto_follows_the_table(kind, items, chosen, monkeypatch):
    monkeypatch.setattr(crossover, "UNTIED", ((2, 20),))
    monkeypatch.setattr(crossover, "TIED", ((2, 10), (6, 30)))
    called = []
    for method in ("signs", "inversions"):
        monkeypatch.setitem(engines._ENGINES, method, lambda job, method=method: called.append(method))
    pair_counts(rankings(kind, 1, 3, items), None, False, "auto", WORKSPACE, False)
    assert called == [chosen]


@pytest.mark.parametrize("method", ["signs", "inversions"])
@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_memory_stays_within_the_workspace(method, kind, symmetric):
    x = rankings(kind, 1, 260, 1200)
    y = None if symmetric else rankings(kind, 1, 260, 1200, seed=1)
    workspace = 2 * 2**20
    pair_counts(x, y, False, method, workspace, False)  # compiles
    tracemalloc.start()
    try:
        pair_counts(x, y, False, method, workspace, False)
        peak = tracemalloc.get_traced_memory()[1]  # NumPy's arrays; the results are torch's
    finally:
        tracemalloc.stop()
    assert peak < 1.25 * workspace


def test_results_that_do_not_fit_memory_are_refused_with_their_size_and_the_remedy(engine):
    method, device = engine
    x = torch.zeros(1, 1, 2, dtype=torch.int32, device=device).expand(1, 10_000_000, 2)
    message = r"no memory on .* for a matrix of 10000000 x 10000000 rankings \(745058.1 GiB in float64, half of it in"
    with pytest.raises(torch.OutOfMemoryError, match=message):
        pair_counts(x, None, False, method, WORKSPACE, False)


@pytest.mark.parametrize("method", ["signs", "inversions"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_progress_bar_reaches_its_end(method, symmetric, capsys):
    x = rankings("tied", 2, 33, 20)
    pair_counts(x, None if symmetric else x.clone(), False, method, 4096, True)
    shown = capsys.readouterr().err
    assert f"pair_counts ({method}): 100%" in shown
    pair_counts(x, None, False, method, WORKSPACE, False)
    assert capsys.readouterr().err == ""
