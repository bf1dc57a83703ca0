"""Matrices that are written to disk, and a way to stop at a chosen place."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.interruptions import Killed
from torchrank.storage import block_folder, form_of

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (37, 8)).astype(float)
Y = RNG.normal(size=(11, 8))
PARTIAL = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
MATRICES = {
    "kernel": lambda **out: tr.kendall_gram(X, **out),
    "two sides": lambda **out: tr.kendall_gram(X, Y, **out),
    "float32": lambda **out: tr.kendall_gram(torch.from_numpy(X).float(), **out),
    "pairwise": lambda **out: tr.kendall_gram(PARTIAL, missing="pairwise", min_common=3, shrink=2.0, **out),
    "distance": lambda **out: tr.kendall_distance(X, tie_penalty=0.5, **out),
    "smoothed, sweep": lambda **out: tr.smoothed_kendall_gram(X, window=1.5, method="sweep", **out),
    "smoothed, sweep, two sides": lambda **out: tr.smoothed_kendall_gram(X, Y, window=0.3, method="sweep", **out),
    "Mallows": lambda **out: tr.mallows_gram(X, Y, lam=0.2, normalize=True, **out),
}
N_BLOCKS = 10  # of the kernel of X, ten rows each
REMOVALS = (1, 2, 4, 12, 13)  # what an earlier run left of the matrix, blocks of this one, its mark, and its plan


def keep(monkeypatch, way):
    """Let blocks have files of their own, or be safe with their rows alone; by themselves they are as the disk is."""
    if way != "as it comes":
        monkeypatch.setattr(block_folder.BlockFolder, "_is_safe_soon", lambda *_: way == "rows")


def killed_at(monkeypatch, target, name, call):
    """Let the call with this number be the last."""
    original, calls = getattr(target, name), []

    def counted(*arguments, **settings):
        calls.append(name)
        if len(calls) == call:
            raise Killed
        return original(*arguments, **settings)

    monkeypatch.setattr(target, name, counted)


def safe(folder):
    """Starts of the rows and of the columns of the blocks that a run left on disk, of ten rows of ``X`` each."""
    marked = [int(path.stem) for path in folder.glob("*.row")]
    files = {tuple(map(int, path.stem.split("_"))) for path in folder.glob("*.block")}
    return files | {(row, column) for row in marked for column in range(row, len(X), 10)}


def goes_on_after(monkeypatch, path, target, name, call):
    """The matrix in ``path``, whose run ended at a call, is that of one run when it was started again."""
    folder, record = path.with_name(path.name + ".blocks"), path.with_name(path.name + ".json")
    with monkeypatch.context() as patched:
        killed_at(patched, target, name, call)
        with pytest.raises(Killed):
            tr.kendall_gram(X, out=path, block=10)
    if path.exists():
        np.testing.assert_array_equal(form_of(path).load(path)[:], tr.kendall_gram(X))
    counted = []
    whole = block_folder.BlockFolder.write
    monkeypatch.setattr(block_folder.BlockFolder, "write", lambda *a: counted.append(a) or whole(*a))
    before = N_BLOCKS if record.exists() else len(safe(folder))
    found = tr.kendall_gram(X, out=path, block=10, resume=True)
    np.testing.assert_array_equal(found[:], tr.kendall_gram(X))
    assert len(counted) == N_BLOCKS - before  # finished ones are not computed again
    assert sorted(part.name for part in path.parent.iterdir()) == [path.name, record.name]


def goes_on_after_signals(path, moments):
    """The same of a process that is killed when a moment is there, once for each of ``moments``."""
    code = (
        "import numpy as np, torchrank as tr\n"
        "X = np.random.default_rng(1).normal(size=(600, 40))\n"
        f"tr.kendall_gram(X, out={str(path)!r}, block=20, resume=True)\n"
    )
    for reached in moments:
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            if reached():
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = tr.kendall_gram(np.random.default_rng(1).normal(size=(600, 40)))
    np.testing.assert_array_equal(form_of(path).load(path)[:], expected)
    assert sorted(part.name for part in path.parent.iterdir()) == [path.name, path.name + ".json"]
