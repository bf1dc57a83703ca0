import pytest
import torch

from kernels_triton import tiles
from kernels_triton.blocks import blocks
from kernels_triton.pair_counts import launch
from kernels_triton.tiles import InversionTile, SignTile
from tests.oracles.pair_counts import score_and_strict_gram
from tests.triton.interpret.guarded import rankings


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(tiles, "sign_tile", lambda *_: SignTile(16, 16, 16, chunk=32, warps=4, registers=128))
    monkeypatch.setattr(tiles, "inversion_tile", lambda *_: InversionTile(16, 4, 4))


@pytest.mark.parametrize("method", ["signs", "inversions"])
@pytest.mark.parametrize("kind", ["total", "partial"])
def test_both_engines_return_both_counts(method, kind):
    x, y = rankings(kind, 1, 2, 18, seed=1), rankings(kind, 1, 1, 18, seed=2)
    score, strict = launch(x, y, strict=True, method=method, workspace=2**28)
    expected = score_and_strict_gram(x.numpy(), y.numpy())
    assert (score.numpy() == expected[0]).all()
    assert (strict.numpy() == expected[1]).all()
    assert score.dtype == strict.dtype == torch.int32


@pytest.mark.parametrize(("threshold", "engine"), [(10, "inversions"), (11, "signs")])
def test_auto_follows_the_table(monkeypatch, threshold, engine):
    monkeypatch.setattr(tiles, "CROSSOVER", ((None, threshold, 1000),))
    calls = []
    monkeypatch.setattr("kernels_triton.pair_counts.signs", lambda *_, **__: calls.append("signs"))
    monkeypatch.setattr("kernels_triton.inversions.score", lambda *_, **__: calls.append("inversions"))
    launch(rankings("total", 1, 2, 10, seed=3), None, strict=False, method="auto", workspace=2**28)
    assert calls == [engine]
    launch(rankings("tied", 1, 2, 10, seed=3), None, strict=False, method="auto", workspace=2**28)
    assert calls == [engine, "signs"]


@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("method", ["signs", "inversions"])
def test_what_the_caller_knows_is_not_asked_again(monkeypatch, kind, method):
    x = rankings(kind, 1, 3, 18, seed=5)
    expected = launch(x, None, strict=True, method=method, workspace=2**28)
    monkeypatch.setattr("kernels_triton.pair_counts._facts", lambda *_: pytest.fail("the device was asked"))
    known = (kind == "total",) * 2
    results = launch(x, None, strict=True, method=method, workspace=2**28, plain=known)
    assert all(map(torch.equal, results, expected))


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (1, 2, 1)])
def test_nothing_to_count(shape):
    score, strict = launch(torch.zeros(shape, dtype=torch.int32), None, strict=True, method="auto", workspace=2**28)
    assert score.shape == strict.shape == (shape[0], shape[1], shape[1])
    assert not score.any()
    assert not strict.any()


def test_too_many_items_for_the_engine():
    x = torch.zeros((1, 1, 1), dtype=torch.int32).expand(1, 1, 2**24 + 1)
    with pytest.raises(ValueError, match="16,777,217 items are more"):
        launch(x, None, strict=False, method="signs", workspace=2**28)


def test_a_result_that_does_not_fit_names_its_size_and_the_way_out(monkeypatch):
    def no_memory(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    x = rankings("total", 1, 1, 5, seed=4).expand(1, 40_000, 5)
    monkeypatch.setattr(torch, "empty", no_memory)
    with pytest.raises(torch.OutOfMemoryError, match=r"1 x 40000 x 40000 .* 6\.0 GiB"):
        launch(x, None, strict=False, method="signs", workspace=2**28)


@pytest.mark.parametrize(("b", "m", "m2"), [(3, 4, None), (2, 7, 5), (1, 1, 9)])
@pytest.mark.parametrize("workspace", [1, 500, 2_000, 2**20])
def test_blocks_cover_every_pair_once_within_the_workspace(b, m, m2, workspace):
    x = torch.zeros(b, m, 3)
    y = None if m2 is None else torch.zeros(b, m2, 3)
    covered = torch.zeros(b, m, m if m2 is None else m2)
    for block in blocks(x, y, row_bytes=40, pair_bytes=8, workspace=workspace):
        part = covered[block.batch, block.x, block.y]
        part += 1
        rx, ry = block.rankings(x, y)
        assert part.numel() == 1 or 40 * rx.shape[0] * (rx.shape[1] + ry.shape[1]) + 8 * part.numel() <= workspace
        assert block.symmetric == (y is None and block.x == block.y)
    wanted = covered.triu() if y is None else covered
    assert (wanted == (torch.ones_like(covered).triu() if y is None else 1)).all()
