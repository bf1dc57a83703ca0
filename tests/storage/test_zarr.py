"""A matrix in a zarr folder: the same guarantees as for a file."""

import builtins
import errno
import os

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.interruptions import Killed
from tests.storage.cases import MATRICES, REMOVALS, X, Y, goes_on_after, goes_on_after_signals, killed_at
from torchrank.storage import block_folder, files, forms, record

zarr = pytest.importorskip("zarr", minversion="3")


@pytest.mark.parametrize("block", [5, 37, None])
@pytest.mark.parametrize("name", MATRICES)
def test_it_is_the_matrix_of_one_call(tmp_path, name, block):
    expected = np.asarray(MATRICES[name]())
    found = MATRICES[name](out=tmp_path / "g.zarr", block=block)
    assert isinstance(found, zarr.Array)
    assert found.read_only
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.chunks == tuple(min(block or 2048, size) for size in expected.shape)
    np.testing.assert_array_equal(found[:], expected)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "g.zarr", mode="r")[:], expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.zarr", "g.zarr.json"]


def test_it_is_of_version_3_with_a_chunk_a_block(tmp_path):
    found = tr.kendall_gram(X, out=str(tmp_path / "g.zarr"), block=10)
    assert found.metadata.zarr_format == 3
    assert sorted(path.name for path in tmp_path.glob("g.zarr/*")) == ["c", "zarr.json"]
    assert len([path for path in tmp_path.glob("g.zarr/c/**/*") if path.is_file()]) == 16


PLACES = [  # while blocks are written, while the folder is, before it is renamed, and after
    *[(files, "write_whole", call) for call in (1, 2, 10)],
    (block_folder, "write_block", 4),
    (block_folder, "read_block", 3),
    *[(block_folder.BlockFolder, "_fill", call) for call in (1, 5, 10)],
    (block_folder, "sync_all", 1),
    *[(files, "sync_all", call) for call in (2, 9, 20)],
    *[(os, "fsync", call) for call in (1, 8, 23, 30, 41)],
    (block_folder, "write_whole", 2),
    (record, "write_whole", 1),
    (block_folder, "sync_folder", 1),
    (block_folder, "sync_folder", 2),
    *[(block_folder, "remove", call) for call in REMOVALS],
    (forms.ZarrFolder, "make", 1),
    (forms.ZarrFolder, "load", 1),
]


@pytest.mark.parametrize(("target", "name", "call"), PLACES, ids=[f"{name}-{call}" for _, name, call in PLACES])
def test_killed_anywhere_it_goes_on(tmp_path, monkeypatch, target, name, call):
    goes_on_after(monkeypatch, tmp_path / "g.zarr", target, name, call)


def test_chunks_that_are_gone_are_not_zeros(tmp_path):
    path = tmp_path / "g.zarr"
    opened = tr.kendall_gram(X, out=path, block=10)
    chunk = path / "c" / "1" / "2"
    content = chunk.read_bytes()
    chunk.unlink()
    assert np.isnan(opened[10:20, 20:30]).all()
    with pytest.raises(FileExistsError, match="is not as it was when it was finished"):
        tr.kendall_gram(X, out=path, block=10, resume=True)
    chunk.write_bytes(content[:-1] + b"?")
    with pytest.raises(FileExistsError, match="is not as it was when it was finished"):
        tr.kendall_gram(X, out=path, block=10, resume=True)


def test_killed_between_the_mark_and_the_end(tmp_path, monkeypatch):
    """Before the folder is renamed, when nothing has its name, and after, when the blocks are still there."""
    rename = os.replace
    for when in ("before", "after"):
        path = tmp_path / f"{when}.zarr"

        def killed(source, target, when=when, path=path):
            if target == path:
                if when == "after":
                    rename(source, target)
                raise Killed
            rename(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", killed)
            with pytest.raises(Killed):
                tr.kendall_gram(X, out=path, block=10)
        assert path.exists() == (when == "after")
        assert (tmp_path / f"{when}.zarr.blocks" / "matrix.done").exists()
        monkeypatch.setattr(block_folder, "write_block", None)  # nothing is computed again
        np.testing.assert_array_equal(tr.kendall_gram(X, out=path, block=10, resume=True)[:], tr.kendall_gram(X))
        monkeypatch.undo()


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path):
    moments = {"*.blocks/*.block": 100, "*.blocks/matrix.zarr/c/*": 9}  # while blocks are written, and chunks
    waits = [lambda files=files, n=n: len([*tmp_path.glob(files)]) >= n for files, n in moments.items()]
    goes_on_after_signals(tmp_path / "g.zarr", waits)


def test_a_damaged_block_is_made_again_and_a_damaged_chunk_noticed(tmp_path, monkeypatch):
    path = tmp_path / "g.zarr"
    with monkeypatch.context() as patched:
        killed_at(patched, block_folder, "write_block", 8)
        with pytest.raises(Killed):
            tr.kendall_gram(X, out=path, block=10)
    flip(next(tmp_path.glob("*.blocks/*.block")))
    found = tr.kendall_gram(X, out=path, block=10, resume=True)
    np.testing.assert_array_equal(found[:], tr.kendall_gram(X))
    flip(path / "c" / "1" / "2")
    with pytest.raises(ValueError, match="checksum"):
        zarr.open_array(path, mode="r")[:]


def flip(path):
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("where", ["block", "chunk", "flush"])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, where):
    def full(*arguments, **settings):
        raise OSError(errno.ENOSPC, "No space left on device")

    def half(self, path, layout):
        path.mkdir()
        (path / "zarr.json").write_text("{")
        full()

    with monkeypatch.context() as patched:
        if where == "chunk":
            patched.setattr(forms.ZarrFolder, "make", half)
        else:
            patched.setattr(*(os, "fsync", full) if where == "block" else (block_folder, "sync_all", full))
        with pytest.raises(OSError, match=r"no space left to write .*; what is finished stays.*resume=True"):
            tr.kendall_gram(X, out=tmp_path / "g.zarr", block=10)
    assert not [*tmp_path.glob("**/.*"), *tmp_path.glob("**/matrix.*")]  # nothing half written
    found = tr.kendall_gram(X, out=tmp_path / "g.zarr", block=10, resume=True)
    np.testing.assert_array_equal(found[:], tr.kendall_gram(X))


def test_other_errors_are_not_called_a_full_disk(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(block_folder, "sync_all", refused)
        with pytest.raises(PermissionError, match="Permission denied"):
            tr.kendall_gram(X, out=tmp_path / "g.zarr", block=10)


def test_nothing_is_overwritten(tmp_path):
    mine = tmp_path / "g.zarr" / "mine"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    for resume in (False, True):
        with pytest.raises(FileExistsError, match=r"g\.zarr is there already.*; remove it"):
            tr.kendall_gram(X, out=tmp_path / "g.zarr", resume=resume)
    assert mine.read_bytes() == b"mine"
    tr.kendall_gram(X, out=tmp_path / "h.zarr")
    with pytest.raises(FileExistsError, match=r"h\.zarr is there already; remove it"):
        tr.kendall_gram(X, out=tmp_path / "h.zarr")


def test_zeros_keep_their_signs(tmp_path):
    array = forms.ZarrFolder().make(tmp_path / "z.zarr", forms.Layout((4, 4), np.dtype(np.float64), 2))
    array[:2, :2] = np.full((2, 2), -0.0)
    assert np.signbit(forms.ZarrFolder().load(tmp_path / "z.zarr")[:2, :2]).all()


def test_no_rows(tmp_path):
    assert tr.kendall_gram(X[:0], out=tmp_path / "g.zarr").shape == (0, 0)
    assert tr.kendall_gram(X, Y[:0], out=tmp_path / "h.zarr").shape == (37, 0)


def test_float32(tmp_path):
    rows = torch.from_numpy(X).float()
    assert tr.kendall_distance(rows, out=tmp_path / "g.zarr").dtype == np.float32


def test_without_zarr(tmp_path, monkeypatch):
    plain = builtins.__import__

    def without(name, *arguments, **settings):
        if name.partition(".")[0] == "zarr":
            raise ModuleNotFoundError("No module named 'zarr'")
        return plain(name, *arguments, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r"needs the package zarr: pip install 'zarr>=3\.1'"):
            tr.kendall_gram(X, out=tmp_path / "g.zarr")
    monkeypatch.setattr(zarr, "__version__", "2.18.3")
    with pytest.raises(ImportError, match=r"needs zarr 3, and this is 2\.18\.3: pip install"):
        tr.kendall_gram(X, out=tmp_path / "g.zarr")
    assert not [*tmp_path.iterdir()]
