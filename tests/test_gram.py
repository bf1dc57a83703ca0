"""The command line: `python -m torchrank gram`, from files to files, alone and by two processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import torchrank as tr
from torchrank import __main__ as command_line

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (40, 7)).astype(float)
PARTIAL = np.where(RNG.random(X.shape) < 0.4, np.nan, X + 1)


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
    assert command_line.main(command) == 1
    assert "indices.npy is there already; remove it" in capsys.readouterr().err


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
        ("x.npy", ["--neighbors", "40"], "k=40 is too large; there are 39 other rankings"),
        ("x.npy", ["--block", "0"], "block=0 is too small"),
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


@pytest.mark.parametrize("options", [["--missing", "perhaps"], ["--neighbors", "few"], []])
def test_wrong_options_show_the_usage(files, capsys, options):
    with pytest.raises(SystemExit) as status:
        command_line.main(["gram", str(files / "x.npy"), *(["--out", str(files), *options] if options else [])])
    assert status.value.code == 2
    assert "usage: python -m torchrank gram" in capsys.readouterr().err


def test_two_processes(files):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]
    job = ["torchrank", "gram", str(files / "x.npy"), "--out", str(files / "out"), "--block", "8"]
    root = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*launcher, *job], capture_output=True, text=True, check=False, timeout=240, env=environment, cwd=files
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(files / "out" / "gram.npy"), tr.kendall_gram(X))
    assert done.stdout.count("kernels of 40 rankings") == 1
