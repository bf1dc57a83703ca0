"""A matrix on disk: whole after any fault, and never of two inputs."""

import errno
import functools
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.interruptions import Killed
from tests.storage.cases import MATRICES, X, Y, goes_on_after, goes_on_after_signals, keep, killed_at
from torchrank.storage import block_folder, files, forms, lock, record, rows


@pytest.mark.parametrize("way", ["files", "rows"])
@pytest.mark.parametrize("block", [5, 37, None])
@pytest.mark.parametrize("name", MATRICES)
def test_it_is_the_matrix_of_one_call(tmp_path, monkeypatch, name, block, way):
    keep(monkeypatch, way)
    expected = np.asarray(MATRICES[name]())
    found = MATRICES[name](out=tmp_path / "g.npy", block=block)
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), expected)
    assert found.dtype == expected.dtype
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npy", "g.npy.json"]
    array = np.empty_like(expected)
    assert MATRICES[name](out=array, block=block) is array
    np.testing.assert_array_equal(array, expected)


PLACES = [  # before anything is written, before a rename, after one, and so on while the whole matrix is made
    *[("files", files, "write_whole", call) for call in (1, 2, 5, 10)],
    *[("files", os, "replace", call) for call in (1, 2, 5, 11, 12, 13)],
    *[("files", os, "fsync", call) for call in (1, 4, 8, 21, 22, 23, 25)],
    ("files", files, "sync_folder", 3),
    ("files", block_folder, "write_block", 4),
    ("files", block_folder, "read_block", 3),
    *[("files", block_folder.BlockFolder, "_fill", call) for call in (1, 5, 10)],
    *[("files", rows.RowMarks, name, call) for name in ("add", "_add") for call in (1, 2, 4)],
    *[("rows", os, "replace", call) for call in (1, 2, 3, 5, 6)],
    *[("rows", os, "fsync", call) for call in (1, 3, 4, 9, 11, 13)],
    *[("rows", block_folder.BlockFolder, "_fill", call) for call in (1, 5, 10)],
    *[("rows", rows.RowMarks, name, call) for name in ("add", "_add") for call in (1, 2, 4)],
    *[("rows", forms.MatrixFile, "flush", call) for call in (1, 2, 4)],
    *[("rows", rows, "write_whole", call) for call in (1, 3)],
    *[("as it comes", rows, "write_whole", call) for call in (1, 3)],
    ("as it comes", block_folder, "remove", 1),
    ("as it comes", forms, "_reserve", 1),
    ("as it comes", block_folder, "write_whole", 1),
    ("as it comes", block_folder, "write_whole", 2),
    ("as it comes", record, "write_whole", 1),
    *[("as it comes", lock.FolderLock, name, 1) for name in ("take", "remove", "release")],
    ("as it comes", block_folder, "sync_folder", 1),
    ("as it comes", block_folder, "sync_folder", 2),
    *[("rows", block_folder, "remove", call) for call in (1, 2, 4, 5, 6, 7)],
    ("as it comes", forms.np, "load", 1),
]


@pytest.mark.parametrize(
    ("way", "target", "name", "call"), PLACES, ids=[f"{way}-{name}-{call}" for way, _, name, call in PLACES]
)
def test_killed_anywhere_it_goes_on(tmp_path, monkeypatch, way, target, name, call):
    keep(monkeypatch, way)
    goes_on_after(monkeypatch, tmp_path / "g.npy", target, name, call)


@pytest.mark.parametrize("call", [2, 5, 10])
def test_killed_again_while_earlier_blocks_are_read(tmp_path, monkeypatch, call):
    path = interrupted(tmp_path)
    with monkeypatch.context() as patched:
        killed_at(patched, block_folder.BlockFolder, "_fill", call)
        with pytest.raises(Killed):
            MATRICES["kernel"](out=path, block=10, resume=True)
    np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True), tr.kendall_gram(X))
    assert not (tmp_path / "g.npy.blocks").exists()


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path):
    """By a signal, at a moment that nobody chose."""
    moments = [lambda n=n: len([*tmp_path.glob("*.blocks/*.row")]) >= n for n in (1, 4, 15)]
    goes_on_after_signals(tmp_path / "g.npy", moments)


def interrupted(tmp_path, call=MATRICES["kernel"]):
    """Blocks of a run that ended before its last one."""
    path = tmp_path / "g.npy"
    with pytest.MonkeyPatch.context() as patched:
        keep(patched, "files")
        patched.setattr(rows.RowMarks, "add", lambda *_: None)
        killed_at(patched, block_folder, "write_block", 8)
        with pytest.raises(Killed):
            call(out=path, block=10)
    return path


@pytest.mark.parametrize("damage", ["cut", "changed", "longer", "empty"])
def test_damaged_blocks_are_made_again(tmp_path, damage):
    path = interrupted(tmp_path)
    block = next(tmp_path.glob("*.blocks/*.block"))
    data = block.read_bytes()
    changed = bytearray(data)
    changed[3] ^= 1
    block.write_bytes({"cut": data[:-9], "changed": bytes(changed), "longer": data + b"1", "empty": b""}[damage])
    np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True), tr.kendall_gram(X))


def test_blocks_that_changed_places_are_made_again(tmp_path):
    path = interrupted(tmp_path)
    one, other = (tmp_path / "g.npy.blocks" / name for name in ("0_10.block", "0_20.block"))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True), tr.kendall_gram(X))


def test_a_damaged_plan_is_named(tmp_path):
    path = interrupted(tmp_path)
    for text in ("", "[1, 2]", '{"shape": '):
        (tmp_path / "g.npy.blocks" / "plan.json").write_text(text)
        with pytest.raises(ValueError, match=r"plan\.json is damaged .*; remove .*g\.npy\.blocks to begin anew"):
            MATRICES["kernel"](out=path, block=10, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_files_of_others_stay(tmp_path, resume):
    folder = tmp_path / "g.npy.blocks"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"g\.npy\.blocks has notes\.txt, which is no block"):
        MATRICES["kernel"](out=tmp_path / "g.npy", resume=resume)
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "notes.txt").unlink()
    path = interrupted(tmp_path)
    (folder / "notes.txt").write_text("mine")
    MATRICES["kernel"](out=path, block=10, resume=True)
    assert [part.name for part in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["g.npy", "g.zarr"])
def test_a_finished_matrix_is_known_again(tmp_path, name, monkeypatch):
    path = tmp_path / name
    MATRICES["kernel"](out=path, block=10)
    with pytest.raises(FileExistsError, match="is there already"):
        MATRICES["kernel"](out=path, block=10)
    with pytest.raises(FileExistsError, match="is there already, of another matrix, which differs in input"):
        tr.kendall_gram(X[::-1].copy(), out=path, block=10, resume=True)
    with monkeypatch.context() as patched:
        patched.setattr(block_folder.BlockFolder, "write", None)
        np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True)[:], tr.kendall_gram(X))
    os.utime(path if path.is_file() else path / "zarr.json", (1, 1))  # as if somebody had written it
    with pytest.raises(FileExistsError, match="is there already, and is not as it was when it was finished"):
        MATRICES["kernel"](out=path, block=10, resume=True)
    (tmp_path / f"{name}.json").unlink()
    with pytest.raises(FileExistsError, match=rf"is there already, and no {name}\.json that says what it is"):
        MATRICES["kernel"](out=path, block=10, resume=True)


def test_an_array_that_may_only_be_read_is_refused(tmp_path):
    array = np.zeros((37, 37))
    array.flags.writeable = False
    with pytest.raises(ValueError, match="out is an array that may only be read"):
        MATRICES["kernel"](out=array)


OTHERS = {
    "input": lambda **out: tr.kendall_gram(X[::-1].copy(), block=10, **out),
    "block": lambda **out: tr.kendall_gram(X, block=11, **out),
    "arguments": lambda **out: tr.kendall_gram(X, variant="a", block=10, **out),
    "shape": lambda **out: tr.kendall_gram(X, Y, block=10, **out),
    "dtype": lambda **out: tr.kendall_gram(torch.from_numpy(X).float(), block=10, **out),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_matrix_does_not_go_on(tmp_path, name):
    path = interrupted(tmp_path)
    with pytest.raises(ValueError, match=rf"has blocks of another matrix, which differs in .*{name}"):
        OTHERS[name](out=path, resume=True)
    np.testing.assert_array_equal(MATRICES["kernel"](out=path, block=10, resume=True), tr.kendall_gram(X))


def test_another_version_does_not_go_on(tmp_path):
    path = interrupted(tmp_path)
    plan = tmp_path / "g.npy.blocks" / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"torchrank": "0.0.1"}))
    with pytest.raises(ValueError, match=r"differs in torchrank '0\.0\.1' and not"):
        MATRICES["kernel"](out=path, block=10, resume=True)


def test_blocks_without_a_plan_are_not_trusted(tmp_path):
    path = interrupted(tmp_path)
    (tmp_path / "g.npy.blocks" / "plan.json").unlink()
    found = tr.kendall_gram(X[::-1].copy(), out=path, block=10, resume=True)
    np.testing.assert_array_equal(found, tr.kendall_gram(X[::-1].copy()))


def test_a_mark_without_a_plan_is_not_trusted(tmp_path):
    """It is left where the removal of the folder was cut short."""
    path = interrupted(tmp_path)
    (tmp_path / "g.npy.blocks" / "plan.json").unlink()
    (tmp_path / "g.npy.blocks" / "matrix.done").touch()
    interrupted(tmp_path)
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="is there already, beside unfinished blocks"):
        MATRICES["kernel"](out=path, block=10, resume=True)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize("end", ["npy", "zarr"])
def test_a_matrix_that_was_changed_before_the_blocks_were_gone_is_not_returned(tmp_path, monkeypatch, end):
    if end == "zarr":
        pytest.importorskip("zarr")
    path, rename = tmp_path / f"g.{end}", os.replace

    def killed(source, target):
        rename(source, target)
        if target == path:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            MATRICES["kernel"](out=path, block=10)
    changed = path if end == "npy" else next(part for part in path.rglob("1") if part.is_file())
    content = changed.read_bytes()
    changed.write_bytes(content[:-1] + b"?")
    os.utime(changed, ns=(1, 1))
    with pytest.raises(FileExistsError, match=rf"g\.{end} is there already, and is not as it was when it was finished"):
        MATRICES["kernel"](out=path, block=10, resume=True)
    (path.unlink if end == "npy" else functools.partial(shutil.rmtree, path))()
    found = MATRICES["kernel"](out=path, block=10, resume=True)
    np.testing.assert_array_equal(np.asarray(found[:]), MATRICES["kernel"]())


def test_nothing_is_overwritten(tmp_path):
    path = interrupted(tmp_path)
    with pytest.raises(FileExistsError, match="has blocks of an earlier run; pass resume=True"):
        MATRICES["kernel"](out=path, block=10)
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="is there already, beside unfinished blocks"):
        MATRICES["kernel"](out=path, block=10, resume=True)
    assert path.read_bytes() == b"mine"
    (tmp_path / "other.npy").write_bytes(b"mine")
    for resume in (False, True):
        with pytest.raises(FileExistsError, match=r"other\.npy is there already.*; remove it"):
            MATRICES["kernel"](out=tmp_path / "other.npy", resume=resume)
    assert not (tmp_path / "other.npy.blocks").exists()


@pytest.mark.parametrize("way", ["files", "rows"])
@pytest.mark.parametrize(("name", "call"), [("fsync", 1), ("fsync", 7), ("posix_fallocate", 1)])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, name, call, way):
    keep(monkeypatch, way)
    if not hasattr(os, name):
        pytest.skip(f"this system has no {name}")
    original, calls = getattr(os, name), []

    def full(*arguments):
        calls.append(name)
        if len(calls) == call:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, full)
        with pytest.raises(OSError, match=r"no space left to write .*; what is finished stays.*resume=True"):
            MATRICES["kernel"](out=tmp_path / "g.npy", block=10)
    assert not [*tmp_path.glob("**/.*")]  # nothing half written
    found = MATRICES["kernel"](out=tmp_path / "g.npy", block=10, resume=True)
    np.testing.assert_array_equal(found, tr.kendall_gram(X))


def test_no_rows(tmp_path):
    assert tr.kendall_gram(X[:0], out=tmp_path / "g.npy").shape == (0, 0)
    assert tr.kendall_gram(X, Y[:0], out=tmp_path / "h.npy").shape == (37, 0)


def test_tensors_and_other_ends_of_a_file(tmp_path):
    whole = torch.empty(37, 37, dtype=torch.float32)
    assert tr.kendall_gram(torch.from_numpy(X).float(), out=whole, block=9) is whole
    assert torch.equal(whole, tr.kendall_gram(torch.from_numpy(X).float()))
    mapped = np.lib.format.open_memmap(tmp_path / "m.npy", "w+", np.float64, (37, 37))
    np.testing.assert_array_equal(tr.kendall_gram(X, out=mapped), tr.kendall_gram(X))


def test_bad_arguments(tmp_path):
    for settings, error, message in (
        ({"out": str(tmp_path / "g.txt")}, ValueError, r"does not end in \.npy or \.zarr; expected the name of a file"),
        ({"out": 3}, TypeError, "out is int; expected a name that ends in .npy or .zarr"),
        ({"out": np.empty((3, 3))}, ValueError, r"out has shape \(3, 3\) and dtype float64; expected \(37, 37\)"),
        ({"out": np.empty((37, 37), np.float32)}, ValueError, "and dtype float32; expected"),
        ({"out": np.empty((37, 37)), "resume": True}, ValueError, "resume=True goes on with blocks on disk"),
        ({"resume": True}, ValueError, "resume is for matrices that are written to out"),
        ({"block": 5}, ValueError, "block is for matrices that are written to out"),
        ({"out": tmp_path / "g.npy", "block": 0}, ValueError, "block=0 is too small"),
    ):
        with pytest.raises(error, match=message):
            tr.kendall_gram(X, **settings)
    with pytest.raises(ValueError, match=r"X has shape \(1, 37, 8\); expected one matrix"):
        tr.kendall_gram(X[None], out=tmp_path / "g.npy")
    lam = torch.tensor(0.1, requires_grad=True)
    with pytest.raises(ValueError, match="lam is not one number without a gradient"):
        tr.mallows_gram(X, lam=lam, out=tmp_path / "g.npy")
    assert not [*Path(tmp_path).iterdir()]
