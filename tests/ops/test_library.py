"""What torch.library asks of the ops: schemas, fake kernels, tracing; and how an engine that is missing shows."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import opcheck

import torchrank.ops.dense_ranks as dense_ranks_module
import torchrank.ops.pair_counts as module
from torchrank.ops import checks, engines, kendall_matrix  # noqa: F401  (they register their ops)
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.engines import ENGINE_MODULE, why_missing
from torchrank.ops.pair_counts import METHODS, WORKSPACE, pair_counts

OPS = torch.ops.torchrank
RANKS = torch.tensor(
    [[[0, 1, 2, 3], [1, 0, 0, -1], [0, 0, 0, 0]], [[3, 1, 2, 0], [0, 1, 0, 1], [-1, -1, -1, -1]]]
).int()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("y", [None, RANKS[:, :2].contiguous()], ids=["symmetric", "cross"])
def test_opcheck_pair_counts(y, strict, method):
    opcheck(OPS.pair_counts.default, (RANKS, y, strict, method, WORKSPACE, False))


@pytest.mark.parametrize("unranked", ["allow", "drop the row"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.bool, torch.uint64])
def test_opcheck_dense_ranks(dtype, unranked):
    opcheck(OPS.dense_ranks.default, (torch.tensor([[[3, 1, 1], [0, 0, 0]]]).to(dtype), unranked, "X"))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("check_concentration", (torch.tensor(0.5, dtype=torch.float64),)),
        ("check_concentration", (torch.full((2, 1, 1), 0.5),)),
        ("check_window", (torch.tensor(0.5, dtype=torch.float64),)),
        ("check_complete", (torch.ones(2, 3, 4), "X")),
        ("check_pair_weights", (1 - torch.eye(3),)),
        ("check_simplex", (torch.full((4,), 0.25),)),
    ],
)
def test_opcheck_checks(name, arguments):
    opcheck(getattr(OPS, name).default, arguments)


@pytest.mark.parametrize("name", ["a", "b", "distance", "mallows", "counts"])
@pytest.mark.parametrize("missing", ["raise", "pairwise", "interleaving"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_opcheck_kendall_matrix(symmetric, missing, name):
    x, strict = dense_ranks(torch.tensor([[[3.0, 1, 2, 2], [1, 1, 2, 3]], [[1, 2, 3, 4], [0, 0, 0, 0]]]), "allow", "x")
    top = torch.tensor([[True, False], [False, True]]) if missing == "interleaving" else None
    other = (None, None, None) if symmetric else (x[:, :1], strict[:, :1], None if top is None else top[:, :1])
    lam = torch.full((2,), 0.5, dtype=torch.float64) if name == "mallows" else None
    dtype = torch.int64 if name == "counts" else torch.float32
    counting = (missing, name, 0.25, False, 2 * (missing == "pairwise"), 0.5, 3.0, dtype, "auto", WORKSPACE, False)
    if missing == "interleaving" and name == "counts":
        return  # refused by its callers: there are no counts
    opcheck(OPS.kendall_matrix.default, (x, strict, top, *other, lam, None, *counting))


def test_opcheck_weighted_signs():
    x, _ = dense_ranks(torch.tensor([[[3.0, 1, 2, torch.nan], [1, 1, 2, 3]]]), "allow", "x")
    opcheck(OPS.weighted_signs.default, (x, x[:, :1], 2**20))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "dtype"), [(65_536, torch.int32), (65_537, torch.int64)])
def test_fake_cuda_tensors_get_shapes_and_dtypes(n, dtype, method):
    with FakeTensorMode():
        x = torch.empty(2, 3, n, dtype=torch.int32, device="cuda")
        y = torch.empty(2, 5, n, dtype=torch.int32, device="cuda")
        for other, strict, shapes in (
            (None, False, [(2, 3, 3), (2, 0, 0)]),
            (y, True, [(2, 3, 5), (2, 3, 5)]),
        ):
            results = pair_counts(x, other, strict, method, WORKSPACE, False)
            assert [tuple(r.shape) for r in results] == shapes
            assert {(r.dtype, r.device.type) for r in results} == {(dtype, "cuda")}


@pytest.mark.parametrize(
    ("shape", "dtype", "device", "message"),
    [
        ((2, 3, 6), torch.int32, "cuda", "numbers of items 5 and 6 differ"),
        ((3, 3, 5), torch.int32, "cuda", "batch sizes 2 and 3 differ"),
        ((3, 5), torch.int32, "cuda", r"ranks must have shape \(batch, rankings, items\)"),
        ((2, 3, 5), torch.int64, "cuda", "ranks must be int32"),
        ((2, 3, 5), torch.int32, "cpu", "x is on cuda:0 and y on cpu"),
    ],
)
def test_fake_cuda_tensors_get_errors(shape, dtype, device, message):
    with FakeTensorMode():
        x = torch.empty(2, 3, 5, dtype=torch.int32, device="cuda")
        y = torch.empty(shape, dtype=dtype, device=device)
        with pytest.raises(RuntimeError, match=message):
            pair_counts(x, y, True, "auto", WORKSPACE, False)


def test_fake_dense_ranks():
    with FakeTensorMode():
        ranks, strict = dense_ranks(torch.empty(2, 3, 5, device="cuda"), "allow", "X")
    assert (tuple(ranks.shape), ranks.dtype) == ((2, 3, 5), torch.int32)
    assert (tuple(strict.shape), strict.dtype) == ((2, 3), torch.int64)


@pytest.fixture
def no_numba(monkeypatch):
    """An installation whose CPU engines are missing."""
    reason = "numba cannot be imported (no such module); install it with: pip install numba"
    for ops in (module, dense_ranks_module):
        monkeypatch.setattr(ops, "why_missing", lambda device_type: reason)
    monkeypatch.setattr(engines, "_warned", set())
    return reason


@pytest.mark.parametrize("method", ["signs", "inversions"])
def test_a_missing_engine_is_refused_with_the_remedy(no_numba, method):
    with pytest.raises(RuntimeError, match=f"method='{method}' has no engine on cpu: .*pip install numba"):
        pair_counts(RANKS, None, False, method, WORKSPACE, False)


def test_auto_without_engines_is_the_reference_and_warns_once(no_numba, recwarn):
    expected = pair_counts(RANKS, None, True, "reference", WORKSPACE, False)
    assert not recwarn
    for _ in range(2):
        result = pair_counts(RANKS, None, True, "auto", WORKSPACE, False)
        assert all(map(torch.equal, result, expected))
    assert [str(w.message) for w in recwarn] == [f"torchrank uses its slow reference engine on cpu: {no_numba}"]


def test_rows_are_ranked_without_engines(no_numba):
    ranks, strict = dense_ranks(torch.tensor([[3.0, torch.nan, 1.0, 3.0]]), "allow", "X")
    assert (ranks.tolist(), strict.tolist()) == ([[1, -1, 0, 1]], [2])


def test_why_missing_says_what_to_do():
    assert why_missing("cpu") is None
    assert "move them to the CPU or to CUDA, or use method='reference'" in str(why_missing("xpu"))


def test_why_missing_names_the_package(monkeypatch):
    monkeypatch.setitem(ENGINE_MODULE, "imagined", "no_such_package")
    assert "pip install no_such_package" in str(why_missing("imagined"))
    why_missing.cache_clear()
