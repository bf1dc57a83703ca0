"""The command line: `python -m torchrank gram`, from files to files, alone and by two processes."""

import errno
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import torchrank as tr
from tests.interruptions import Killed
from torchrank import __main__ as command_line
from torchrank import _gram
from torchrank.storage import files as storage_files
from torchrank.storage import record as storage_record
from torchrank.storage.files import write_whole

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (40, 7)).astype(float)
PARTIAL = np.where(RNG.random(X.shape) < 0.4, np.nan, X + 1)


def environment():
    root = str(Path(__file__).parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "partial.npy", PARTIAL)
    np.save(tmp_path / "flat.npy", X[0])
    names = [f"item {k}" for k in range(7)]
    for end, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = [
            delimiter.join(["who", *names]),
            *(delimiter.join([f"r{k}", *map(str, row)]) for k, row in enumerate(X)),
        ]
        (tmp_path / f"x.{end}").write_text("\n".join(rows) + "\n")
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(np.nan_to_num(PARTIAL)))
    np.savez(tmp_path / "other.npz", X)
    (tmp_path / "broken.npz").write_text("nothing")
    (tmp_path / "junk.npy").write_text("hello")
    np.save(tmp_path / "objects.npy", X.astype(object), allow_pickle=True)
    np.savetxt(tmp_path / "bare.csv", X, delimiter=",", fmt="%.17g")
    (tmp_path / "x.txt").write_text("1 2")
    (tmp_path / "semicolons.csv").write_text("a;b;c\n1;2;3\n")
    (tmp_path / "words.csv").write_text("a,b,c\n1,x,3\n")
    (tmp_path / "nameless.csv").write_text(",b,c\n1,2,3\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("x.npy", [], lambda: tr.kendall_gram(X)),
        ("x.npy", ["--variant", "a", "--block", "9"], lambda: tr.kendall_gram(X, variant="a")),
        ("x.csv", ["--rankers", "who"], lambda: tr.kendall_gram(X)),
        ("x.tsv", ["--rankers", "who"], lambda: tr.kendall_gram(X)),
        ("partial.npy", ["--missing", "pairwise"], lambda: tr.kendall_gram(PARTIAL, missing="pairwise")),
        ("x.npz", ["--missing", "pairwise"], lambda: tr.kendall_gram(PARTIAL, missing="pairwise")),
        ("bare.csv", ["--no-header"], lambda: tr.kendall_gram(X)),
    ],
)
def test_a_matrix_of_a_file(files, capsys, name, options, expected):
    out = files / "new" / "folder"
    assert command_line.main(["gram", str(files / name), "--out", str(out), *options]) == 0
    np.testing.assert_array_equal(np.load(out / "gram.npy"), expected())
    assert sorted(path.name for path in out.iterdir()) == ["gram.npy", "gram.npy.json"]
    shown = capsys.readouterr()
    assert shown.out == f"{out / 'gram.npy'}: kernels of 40 rankings, float64\n"
    assert "kendall_gram: 100%" in shown.err
    assert command_line.main(["gram", str(files / name), "--out", str(out), *options]) == 0  # it is known again


def test_neighbors_of_a_file(files, capsys):
    command = ["gram", str(files / "x.npy"), "--out", str(files), "--neighbors", "3"]
    assert command_line.main(command) == 0
    expected = tr.kendall_neighbors(X, 3)
    np.testing.assert_array_equal(np.load(files / "indices.npy"), expected.indices)
    np.testing.assert_array_equal(np.load(files / "values.npy"), expected.values)
    assert capsys.readouterr().out.endswith("values.npy: Neighbors(3 of 40 rankings for each of 40)\n")


NEAREST = tr.kendall_neighbors(X, 3)


def neighbors(files, *options):
    return command_line.main(["gram", str(files / "x.npy"), "--out", str(files / "out"), "--neighbors", "3", *options])


def check_neighbors(files):
    np.testing.assert_array_equal(np.load(files / "out" / "indices.npy"), NEAREST.indices)
    np.testing.assert_array_equal(np.load(files / "out" / "values.npy"), NEAREST.values)


def test_neighbors_are_known_again(files, capsys, monkeypatch):
    assert neighbors(files) == 0
    monkeypatch.setattr(_gram, "kendall_neighbors", None)  # nothing is computed again
    assert neighbors(files, "--block", "7") == 0  # the result does not depend on blocks
    assert capsys.readouterr().out.endswith("values.npy: there already, 3 of 40 rankings for each\n")
    check_neighbors(files)


@pytest.mark.parametrize("call", range(1, 5))
def test_neighbors_of_a_killed_run_are_made_by_the_same_command(files, monkeypatch, call):
    """Killed before or after each of the files that it writes."""
    for after in (False, True):
        with monkeypatch.context() as patched:
            calls = itertools.count(1)

            def written(path, write, after=after, calls=calls):
                number = next(calls)
                if number == call and not after:
                    raise Killed
                write_whole(path, write)
                if number == call:
                    raise Killed

            for room in (storage_files, storage_record):
                patched.setattr(room, "write_whole", written)
            with pytest.raises(Killed):
                neighbors(files)
        assert neighbors(files) == 0
        check_neighbors(files)
        shutil.rmtree(files / "out")


def test_a_file_that_was_removed_is_made_again(files):
    assert neighbors(files) == 0
    (files / "out" / "values.npy").unlink()
    assert neighbors(files) == 0
    check_neighbors(files)


def test_files_of_others_are_not_overwritten(files, capsys):
    (files / "out").mkdir()
    for content in (None, "hello", "[]", "{}"):
        np.save(files / "out" / "values.npy", X)
        if content is not None:
            (files / "out" / "neighbors.json").write_text(content)
        assert neighbors(files) == 1
        assert (
            "values.npy is there already, and no neighbors.json that says what it is; remove it"
            in capsys.readouterr().err
        )
        np.testing.assert_array_equal(np.load(files / "out" / "values.npy"), X)
    (files / "out" / "values.npy").unlink()
    assert neighbors(files) == 0
    assert neighbors(files, "--variant", "a") == 1
    assert "which differs in variant None and not 'a'; remove both" in capsys.readouterr().err
    np.save(files / "x.npy", X + np.arange(7))
    assert neighbors(files) == 1
    assert "which differs in input (X, Y); remove both" in capsys.readouterr().err
    np.save(files / "x.npy", X)
    np.save(files / "out" / "indices.npy", X)
    assert neighbors(files) == 1
    assert "indices.npy is there already, and is not as it was when it was finished" in capsys.readouterr().err


class FullDisk(io.BytesIO):
    def write(self, data):
        if self.tell() + memoryview(data).nbytes > 200:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_a_full_disk_is_told(files, capsys, monkeypatch):
    def onto_full_disk(path, write):
        try:
            write(FullDisk())
        except OSError as error:
            raise storage_files.explained(error, path) from error

    monkeypatch.setattr(storage_files, "write_whole", onto_full_disk)
    assert neighbors(files) == 1
    said = capsys.readouterr().err
    assert "no space left to write" in said
    assert "indices.npy; what is finished stays: make room and run the same command again" in said
    assert not (files / "out" / "indices.npy").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of files are of Unix")
def test_a_file_that_may_not_grow_is_told(files):
    """What numpy.save says by itself is how many entries it has written."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from torchrank import __main__\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)); sys.exit(__main__.main(sys.argv[1:]))"
    )
    job = ["gram", str(files / "x.npy"), "--out", str(files / "out"), "--neighbors", "3"]
    done = subprocess.run(
        [sys.executable, "-c", code, *job], capture_output=True, text=True, check=False, timeout=240, env=environment()
    )
    assert done.returncode == 1, done.stderr
    assert "files may not grow as large as" in done.stderr
    assert "make room and run the same command again" in done.stderr


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("junk.npy", [], "junk.npy holds no array of numbers that numpy.save has written"),
        ("objects.npy", [], "objects.npy holds no array of numbers that numpy.save has written"),
        ("x.npy", ["--no-header"], "--no-header is for .csv and .tsv files"),
        ("none.npy", [], "none.npy is not there, or no file; expected .npy"),
        (".", [], "is not there, or no file; expected .npy"),
        ("x.txt", [], "x.txt does not end in .npy, .csv, .tsv or .npz"),
        ("flat.npy", [], "flat.npy has shape (7,); expected one matrix (rankings, items)"),
        ("partial.npy", [], "X has NaN (an unranked item) at row"),
        ("x.csv", [], "who"),
        ("x.npy", ["--rankers", "who"], "--rankers names a column of a .csv or .tsv file; x.npy has none"),
        ("other.npz", [], "other.npz holds no matrix of scipy.sparse.save_npz"),
        ("broken.npz", [], "broken.npz holds no matrix of scipy.sparse.save_npz"),
        ("x.npy", ["--neighbors", "40"], "--neighbors 40 is too large; there are 39 other rankings"),
        ("x.npy", ["--block", "0"], "--block 0 is too small"),
    ],
)
def test_errors_are_one_line(files, capsys, name, options, message):
    assert command_line.main(["gram", str(files / name), "--out", str(files / "out"), *options]) == 1
    said = capsys.readouterr().err
    assert said.startswith("python -m torchrank gram: ")
    assert message in said
    assert "Traceback" not in said
    assert not [*(files / "out").glob("*.npy")]
    assert not (files / "out").exists() or options


@pytest.mark.parametrize(
    ("name", "message", "note"),
    [
        ("partial.npy", "pass --missing pairwise to compare commonly ranked items only", False),
        ("bare.csv", "pass --no-header if this is a row of data; columns whose names are numbers", False),
        ("semicolons.csv", "Then pass delimiter=';' (what is written with = is an argument of", True),
        ("words.csv", "weights=, --rankers and features= name the columns that are not items (what is", True),
        ("nameless.csv", "--rankers '' takes it as names of the rows", False),
    ],
)
def test_errors_speak_of_options(files, capsys, name, message, note):
    assert command_line.main(["gram", str(files / name), "--out", str(files / "out")]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert bool(re.search(r"\w=", said)) == note
    assert said.count("\n") == 1


def test_a_resumed_run_is_told_the_command(files, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space; make room and call again with resume=True")

    monkeypatch.setattr(_gram, "kendall_gram", full)
    assert command_line.main(["gram", str(files / "x.npy"), "--out", str(files / "out")]) == 1
    assert "make room and run the same command again\n" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["cuda:99", "meta", "nonsense"])
def test_a_device_that_is_not_there_is_a_wrong_option(files, capsys, device):
    with pytest.raises(SystemExit) as status:
        command_line.main(["gram", str(files / "x.npy"), "--out", str(files / "out"), "--device", device])
    assert status.value.code == 2
    said = capsys.readouterr().err
    assert f"error: argument --device: '{device}' is no device to use here: " in said
    assert not (files / "out").exists()
    assert command_line.main(["gram", str(files / "x.npy"), "--out", str(files / "out"), "--device", "cpu"]) == 0


@pytest.mark.parametrize("options", [["--missing", "perhaps"], ["--neighbors", "few"], []])
def test_wrong_options_show_the_usage(files, capsys, options):
    with pytest.raises(SystemExit) as status:
        command_line.main(["gram", str(files / "x.npy"), *(["--out", str(files), *options] if options else [])])
    assert status.value.code == 2
    assert "usage: python -m torchrank gram" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes(files):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]
    job = ["torchrank", "gram", str(files / "x.npy"), "--out", str(files / "out"), "--block", "8"]
    done = subprocess.run(
        [*launcher, *job], capture_output=True, text=True, check=False, timeout=240, env=environment(), cwd=files
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(files / "out" / "gram.npy"), tr.kendall_gram(X))
    assert done.stdout.count("kernels of 40 rankings") == 1
