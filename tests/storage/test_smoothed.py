"""The smoothed kernel block by block: rounded by block, and by nothing else."""

import contextlib
import sys

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.interruptions import Killed
from tests.storage.cases import keep, killed_at
from torchrank.kernels import smoothed_stream
from torchrank.storage import block_folder, files

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(47, 30)), RNG.normal(size=(11, 30))
MATRICES = {
    "float64": lambda **out: tr.smoothed_kendall_gram(X, window=1.0, **out),
    "float32": lambda **out: tr.smoothed_kendall_gram(torch.from_numpy(X).float(), window=1.0, **out),
    "float16": lambda **out: tr.smoothed_kendall_gram(torch.from_numpy(X).half(), window=1.0, **out),
    "integers": lambda **out: tr.smoothed_kendall_gram((3 * X).astype(int), window=1.0, **out),
    "two sides": lambda **out: tr.smoothed_kendall_gram(X, Y, window=0.5, **out),
    "Gaussian": lambda **out: tr.smoothed_kendall_gram(X, window=0.5, noise="gaussian", **out),
    "reference": lambda **out: tr.smoothed_kendall_gram(X, window=0.5, method="reference", **out),
    "tiny window": lambda **out: tr.smoothed_kendall_gram(torch.from_numpy(X).float(), window=1e-40, **out),
    "infinite": lambda **out: tr.smoothed_kendall_gram(np.where(X > 2, np.inf, X), window=0.5, **out),
}


@contextlib.contextmanager
def threads(number):
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("block", [7, 47, None])
@pytest.mark.parametrize("name", MATRICES)
def test_it_is_the_matrix_of_one_call_but_for_rounding(tmp_path, name, block):
    expected = np.asarray(MATRICES[name]())
    found = MATRICES[name](out=tmp_path / "g.npy", block=block)
    assert isinstance(found, np.memmap)
    assert found.dtype == expected.dtype
    near = 4 * float(np.finfo(found.dtype).eps) if found.dtype != np.float64 else 1e-14
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)
    if found.shape[0] == found.shape[1]:
        np.testing.assert_array_equal(found, found.T)
    array = np.empty_like(expected)
    assert MATRICES[name](out=array, block=block) is array
    np.testing.assert_array_equal(array, found)


def test_a_block_as_large_as_the_matrix_is_one_call(tmp_path):
    np.testing.assert_array_equal(MATRICES["float64"](out=tmp_path / "g.npy", block=47), MATRICES["float64"]())


PLACES = [
    *[(files, "write_whole", call) for call in (2, 9)],
    *[(block_folder, "write_block", call) for call in (1, 4, 15)],
    (block_folder, "write_whole", 2),
    (block_folder, "sync_folder", 1),
]


@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("name", ["float64", "float32", "two sides"])
@pytest.mark.parametrize(("target", "place", "call"), PLACES, ids=[f"{name}-{call}" for _, name, call in PLACES])
def test_killed_and_resumed_it_has_the_bits_of_one_run(tmp_path, monkeypatch, form, name, target, place, call):
    if form == "zarr":
        pytest.importorskip("zarr", minversion="3")
    block = 3 if name == "two sides" else 10
    expected = np.asarray(MATRICES[name](out=tmp_path / f"whole.{form}", block=block)[:])
    with monkeypatch.context() as patched:
        keep(patched, "files")
        killed_at(patched, target, place, call)
        with pytest.raises(Killed):
            MATRICES[name](out=tmp_path / f"g.{form}", block=block)
    found = MATRICES[name](out=tmp_path / f"g.{form}", block=block, resume=True)
    np.testing.assert_array_equal(found[:], expected)


def interrupted(tmp_path, call):
    with pytest.MonkeyPatch.context() as patched:
        keep(patched, "files")
        killed_at(patched, block_folder, "write_block", 5)
        with pytest.raises(Killed):
            call(out=tmp_path / "g.npy")


def smoothed(X=X, Y=None, window=1.0, block=10, **settings):
    return lambda **out: tr.smoothed_kendall_gram(X, Y, window=window, block=block, **settings, **out)


OTHERS = {
    "input": smoothed(X + 1e-12),
    "shape": smoothed(X, Y),
    "dtype": smoothed(X.astype(np.float32)),
    "block": smoothed(block=11),
    "arguments": smoothed(window=1.1),
    "arguments ": smoothed(noise="gaussian"),
    "arguments  ": smoothed(method="reference"),
    "arguments   ": smoothed(method="sweep"),
    "workspace": smoothed(workspace=2**20),
    "kernel": lambda **out: tr.kendall_gram(X, block=10, **out),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_matrix_does_not_go_on(tmp_path, name):
    interrupted(tmp_path, smoothed())
    with pytest.raises(ValueError, match=rf"has blocks of another matrix, which differs in .*{name.strip()}"):
        OTHERS[name](out=tmp_path / "g.npy", resume=True)


def test_rounding_by_threads_is_no_secret(tmp_path):
    with threads(2):
        interrupted(tmp_path, smoothed())
    with threads(1), pytest.raises(ValueError, match=r"which differs in .*threads 2 and not 1"):
        smoothed()(out=tmp_path / "g.npy", resume=True)
    with threads(2):
        smoothed()(out=tmp_path / "g.npy", resume=True)


def test_another_processor_does_not_go_on(tmp_path, monkeypatch):
    interrupted(tmp_path, smoothed())
    with monkeypatch.context() as patched:
        patched.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "OTHER")
        with pytest.raises(ValueError, match=r"which differs in .*processor '.*' and not '.*, OTHER'"):
            smoothed()(out=tmp_path / "g.npy", resume=True)
        swept = smoothed(method="sweep")(out=tmp_path / "s.npy", resume=True)  # no products of matrices
    smoothed()(out=tmp_path / "g.npy", resume=True)
    assert smoothed(method="sweep")(out=tmp_path / "s.npy", resume=True).shape == swept.shape


def test_a_processor_has_a_name(monkeypatch):
    found = smoothed_stream.processor_of(torch.device("cpu"))
    assert found.endswith(f", {torch.backends.cpu.get_cpu_capability()}")
    assert not found.startswith(",")
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert not smoothed_stream.processor_of(torch.device("cpu")).startswith(",")


def test_a_sweep_goes_on_anywhere(tmp_path):
    """It takes each two rows by themselves, whatever the threads and the workspace."""
    with threads(2):
        interrupted(tmp_path, smoothed(method="sweep"))
    with threads(1):
        found = smoothed(method="sweep", workspace=2**20)(out=tmp_path / "g.npy", resume=True)
    np.testing.assert_array_equal(found, tr.smoothed_kendall_gram(X, window=1.0, method="sweep"))


def test_auto_is_decided_once_for_all_blocks(monkeypatch):
    """By what is faster for the whole matrix: for few pairs of long rankings that is a sweep."""
    long = RNG.normal(size=(4, 12_000))
    by_sweep = tr.smoothed_kendall_gram(long, long[:1], window=1.0, method="sweep")
    assert not np.array_equal(by_sweep, tr.smoothed_kendall_gram(long, long[:1], window=1.0))
    array = np.empty((4, 1))
    tr.smoothed_kendall_gram(long, long[:1], window=1.0, method="auto", out=array, block=1)
    np.testing.assert_array_equal(array, by_sweep)
    from torchrank.cpu import smoothed_sweep

    asked = []
    monkeypatch.setattr(smoothed_sweep, "is_faster", lambda x, y: asked.append(tuple(x.shape)) or False)
    tr.smoothed_kendall_gram(X, window=1.0, method="auto", out=np.empty((47, 47)), block=10)
    assert asked == [(1, 47, 30)]


def test_bad_arguments(tmp_path):
    window = torch.tensor(1.0, requires_grad=True)
    scores = torch.from_numpy(X).requires_grad_()
    for call, error, message in (
        (smoothed(window=window), ValueError, "window asks for a derivative, which out does not keep"),
        (smoothed(scores), ValueError, "X asks for a derivative, which out does not keep"),
        (smoothed(torch.from_numpy(X), scores), ValueError, "Y asks for a derivative, which out does not keep"),
        (smoothed(X[None]), ValueError, r"X has shape \(1, 47, 30\); expected one matrix"),
        (smoothed(block=0), ValueError, "block=0 is too small"),
        (smoothed(block=2.5), TypeError, "block must be an integer"),
        (smoothed(np.where(X > 2, np.nan, X)), ValueError, "NaN"),
        (smoothed(method="sweep", noise="gaussian"), RuntimeError, "method='sweep' has no engine"),
    ):
        with pytest.raises(error, match=message):
            call(out=tmp_path / "g.npy")
    with pytest.raises(ValueError, match="block is for matrices that are written to out"):
        smoothed()()
    with pytest.raises(ValueError, match="resume is for matrices that are written to out"):
        smoothed(block=None)(resume=True)
    assert not [*tmp_path.iterdir()]
    with torch.no_grad():
        smoothed(scores, window=window)(out=tmp_path / "g.npy")


def test_no_rows(tmp_path):
    assert smoothed(X[:0])(out=tmp_path / "g.npy").shape == (0, 0)
    assert smoothed(X, Y[:0])(out=tmp_path / "h.npy").shape == (47, 0)
