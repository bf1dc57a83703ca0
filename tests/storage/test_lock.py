"""One matrix is written by one process at a time, and nothing else is in its place."""

import errno
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import torchrank as tr
from tests.storage.cases import X
from torchrank.storage import block_folder, lock, record

BUSY = r"g\.(npy|zarr) is being written at this moment, by another process or thread; wait"
NAMES = ["g.npy", *(["g.zarr"] if find_spec("zarr") else [])]


def matrix(path, **settings):
    return tr.kendall_gram(X, out=path, block=10, **settings)


def in_the_middle(monkeypatch, owner, name, call, then):
    """Call ``then`` once, before a certain call of a function."""
    original, calls = getattr(owner, name), []

    def counted(*arguments):
        calls.append(name)
        if len(calls) == call:
            then()
        return original(*arguments)

    monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("resume", [False, True])
def test_a_second_call_is_refused_while_the_first_one_writes(tmp_path, monkeypatch, resume, name):
    refused = []

    def again():
        with pytest.raises(RuntimeError, match=BUSY) as raised:
            matrix(tmp_path / name, resume=resume)
        refused.append(raised)

    in_the_middle(monkeypatch, block_folder.BlockFolder, "write", 4, again)
    np.testing.assert_array_equal(matrix(tmp_path / name)[:], tr.kendall_gram(X))
    assert len(refused) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.json"]


def test_a_second_call_takes_the_matrix_that_the_first_one_has_just_finished(tmp_path, monkeypatch):
    found = []
    in_the_middle(
        monkeypatch, lock.FolderLock, "remove", 1, lambda: found.append(matrix(tmp_path / "g.npy", resume=True))
    )
    matrix(tmp_path / "g.npy")
    np.testing.assert_array_equal(found[0], tr.kendall_gram(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npy", "g.npy.json"]


def test_who_waited_for_the_lock_finds_the_finished_matrix(tmp_path, monkeypatch):
    """It looked before the first call had finished, and got the lock after."""
    in_the_middle(monkeypatch, lock.FolderLock, "take", 1, lambda: matrix(tmp_path / "g.npy"))
    monkeypatch.setattr(record.Record, "holds", holds_from_the_second_call(record.Record.holds))
    np.testing.assert_array_equal(matrix(tmp_path / "g.npy", resume=True), tr.kendall_gram(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npy", "g.npy.json"]


def holds_from_the_second_call(original):
    calls = []

    def holds(*arguments):
        calls.append(1)
        return len(calls) > 1 and original(*arguments)

    return holds


PROGRAM = """
import sys, numpy as np, torch, torchrank as tr
torch.set_num_threads(1)
X = np.load(sys.argv[1])
for number in range(6):
    sys.stdin.readline()
    try:
        found = tr.kendall_gram(X, out=f"{sys.argv[2]}/{number}.npy", block=10, resume=True)
        print(bool((found == tr.kendall_gram(X)).all()), flush=True)
    except RuntimeError as error:
        print("is being written at this moment" in str(error), flush=True)
"""


@pytest.mark.slow
def test_processes_that_begin_together(tmp_path):
    np.save(tmp_path / "x.npy", X)
    begin = [sys.executable, "-c", PROGRAM, str(tmp_path / "x.npy"), str(tmp_path)]
    running = [subprocess.Popen(begin, stdin=-1, stdout=-1, text=True) for _ in range(3)]
    try:
        for number in range(6):
            for one in running:
                one.stdin.write("\n")
                one.stdin.flush()
            assert [one.stdout.readline() for one in running] == ["True\n"] * 3
            np.testing.assert_array_equal(np.load(tmp_path / f"{number}.npy"), tr.kendall_gram(X))
    finally:
        for one in running:
            one.communicate()
    left = {path.name for path in tmp_path.iterdir()} - {"x.npy"}
    assert left == {f"{number}.npy{end}" for number in range(6) for end in ("", ".json")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_neither_holds_nor_frees_the_lock_of_its_parent(tmp_path):
    held, other = lock.FolderLock(tmp_path / "blocks"), lock.FolderLock(tmp_path / "blocks")
    assert held.take()
    go_on, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        os.read(go_on, 1)  # until the parent is done
        os._exit(0)
    os.close(go_on)
    assert not other.take()
    held.let_go()
    assert other.take()
    other.release()
    os.close(said)
    assert os.waitpid(child, 0)[1] == 0
    assert not (tmp_path / "blocks").exists()


def test_an_interrupt_leaves_no_lock(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lock, "lock", interrupt)
        with pytest.raises(KeyboardInterrupt):
            matrix(tmp_path / "g.npy")
    np.testing.assert_array_equal(matrix(tmp_path / "g.npy"), tr.kendall_gram(X))


def test_a_disk_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock, "lock", refuse)
    with pytest.warns(UserWarning, match=r"g\.npy\.blocks is on a disk without locks .*: two calls that write"):
        found = matrix(tmp_path / "g.npy")
    np.testing.assert_array_equal(found, tr.kendall_gram(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npy", "g.npy.json"]


def test_what_a_killed_process_left_of_its_record_goes(tmp_path):
    (tmp_path / ".g.npy.json.4711").write_text("{")
    (tmp_path / ".g.npy.json.mine").write_text("mine")
    matrix(tmp_path / "g.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".g.npy.json.mine", "g.npy", "g.npy.json"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("name", NAMES)
def test_a_link_stays_one(tmp_path, name):
    (tmp_path / "large").mkdir()
    link = tmp_path / name
    link.symlink_to(tmp_path / "large" / name)
    for resume in (False, True):
        np.testing.assert_array_equal(matrix(link, resume=resume)[:], tr.kendall_gram(X))
    assert link.is_symlink()
    assert sorted(path.name for path in (tmp_path / "large").iterdir()) == [name, f"{name}.json"]


def test_what_is_in_the_way_is_named_before_anything_is_computed(tmp_path):
    (tmp_path / "g.npy.json").mkdir()
    (tmp_path / "i.npy.json").write_text('{"mine": "precious"}')
    for name in ("g", "i"):
        with pytest.raises(
            FileExistsError, match=rf"{name}\.npy\.json is there already, and does not describe a matrix"
        ):
            matrix(tmp_path / f"{name}.npy")
    assert (tmp_path / "i.npy.json").read_text() == '{"mine": "precious"}'
    (tmp_path / "h.npy.blocks").write_text("mine")
    with pytest.raises(FileExistsError, match=r"h\.npy\.blocks is a file, and would be in the way; move it"):
        matrix(tmp_path / "h.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npy.json", "h.npy.blocks", "i.npy.json"]


def test_what_else_would_have_to_be_called_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(block_folder, "sync_all", refuse)
    with pytest.raises(OSError, match="no more"):
        matrix(tmp_path / "g.npy")
    with pytest.raises(
        ValueError, match=r"differs in block 10 and not 11; call with block=10 to have it, or remove the"
    ):
        tr.kendall_gram(X, out=tmp_path / "g.npy", block=11, resume=True)
    with pytest.raises(ValueError, match=r"differs in block 10 and not 11, input .*, shape .*; remove the folder"):
        tr.kendall_gram(X[1:], out=tmp_path / "g.npy", block=11, resume=True)
    monkeypatch.undo()
    matrix(tmp_path / "g.npy", resume=True)
    with pytest.raises(
        FileExistsError, match=r"differs in block 10 and not 11; call with block=10 to have it, or remove"
    ):
        tr.kendall_gram(X, out=tmp_path / "g.npy", block=11, resume=True)


def refuse(*_):
    raise OSError("no more")
