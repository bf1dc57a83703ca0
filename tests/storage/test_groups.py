"""One folder that several processes fill, whole after any fault in one of them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import torchrank as tr
from tests.processes import run
from tests.storage.cases import MATRICES, PARTIAL, X
from torchrank.storage import block_folder

CALLS = MATRICES | {"no rows": lambda **out: tr.kendall_gram(X[:0], **out)}


def counted(call, **out):
    """A matrix in memory, and how many blocks this process wrote."""
    written, whole = [], block_folder.write_block
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(block_folder, "write_block", lambda *a: written.append(a) or whole(*a))
        found = call(**out)
    assert isinstance(found, np.memmap) or not found.size
    return np.array(found), len(written)


def all_calls(group, folder):
    return {
        name: counted(call, out=folder / f"{name}.npy", block=10, group=group, resume=name == "kernel")
        for name, call in CALLS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 2, 3])
def test_all_processes_read_the_matrix_of_one(tmp_path, world):
    (tmp_path / "of").mkdir()
    found = run(world, all_calls, tmp_path, tmp_path / "of")
    for name, call in CALLS.items():
        for matrix, _ in (its[name] for its in found):
            np.testing.assert_array_equal(matrix, np.asarray(call()))
        blocks = {"no rows": 0}.get(name, 8 if "two sides" in name or name == "Mallows" else 10)
        assert sum(its[name][1] for its in found) == blocks
        assert max(its[name][1] for its in found) <= -(-blocks // world)
    names = {f"{name}.npy{end}" for name in CALLS for end in ("", ".json")}
    assert {path.name for path in (tmp_path / "of").iterdir()} == names


def with_faults(group, folder):
    """What two processes say of faults in the second one, and of what was there before; nothing may hang."""
    rank = torch.distributed.get_rank(group)
    out = {"out": folder / "g.npy", "block": 10, "group": group}
    found = {"input": said(lambda: tr.kendall_gram(X[::-1].copy() if rank else X, **out))}
    found["unranked"] = said(lambda: tr.kendall_gram(PARTIAL if rank else X, **out))
    found["arguments"] = said(lambda: tr.kendall_gram(X, variant="ab"[rank], **out))
    found["resume"] = said(lambda: tr.kendall_gram(X, **out, resume=bool(rank)))
    found["folder"] = said(lambda: tr.kendall_gram(X, **out | {"out": folder / "ab"[rank] / "g.npy"}))
    found["end"] = said(lambda: tr.kendall_gram(X, **out | {"out": folder / "g.txt"}))
    found["left"] = [path.name for path in folder.rglob("*.npy")]
    with pytest.MonkeyPatch.context() as patched:
        if rank:
            patched.setattr(block_folder, "write_block", full)
        found["full"] = said(lambda: tr.kendall_gram(X, **out))
    torch.distributed.barrier(group)
    found["finished"] = len([*(folder / "g.npy.blocks").glob("*.block")])
    torch.distributed.barrier(group)
    found["again"] = said(lambda: tr.kendall_gram(X, **out))
    found["resumed"] = counted(lambda **out: tr.kendall_gram(X, **out), **out, resume=True)
    found["known again"] = counted(lambda **out: tr.kendall_gram(X, **out), **out, resume=True)
    found["there"] = said(lambda: tr.kendall_gram(X[::-1].copy(), **out, resume=True))
    return found


def full(*_):
    raise OSError("no space left")


def said(call):
    try:
        call()
    except (ValueError, RuntimeError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def test_a_fault_in_one_process_is_one_in_all_and_loses_nothing(tmp_path):
    (tmp_path / "of").mkdir()
    first, second = run(2, with_faults, tmp_path, tmp_path / "of")
    differs = "ValueError: process 1 of 2 of the group differs from process 0 in "
    for name in ("input", "arguments", "resume"):
        assert first[name] == second[name]
        assert first[name].startswith(f"{differs}{name}: {name} ")
    assert second["unranked"].startswith("ValueError: X has NaN (an unranked item) at row")
    assert first["unranked"] == f"RuntimeError: process 1 of 2 of the group raised {second['unranked']}"
    assert "is not there, though the first process has made it; processes of a group need a folder" in second["folder"]
    assert first["folder"] == f"RuntimeError: process 1 of 2 of the group raised {second['folder']}"
    assert first["end"] == second["end"]
    assert not first["left"] + second["left"]
    assert second["full"] == "OSError: no space left"
    assert first["full"] == "RuntimeError: process 1 of 2 of the group raised OSError: no space left"
    assert first["finished"] == second["finished"] == 5
    assert first["again"].startswith("FileExistsError: ")
    assert "pass resume=True to go on with them" in second["again"]
    for found, written in ((first, 0), (second, 5)):
        np.testing.assert_array_equal(found["resumed"][0], tr.kendall_gram(X))
        assert found["resumed"][1] == written
        np.testing.assert_array_equal(found["known again"][0], tr.kendall_gram(X))
        assert found["known again"][1] == 0
    assert first["there"].startswith("FileExistsError: ")
    assert "g.npy is there already, of another matrix, which differs in input" in second["there"]


RESTARTED = """
import os, sys
from pathlib import Path
import numpy as np, torch
import torchrank as tr
from torchrank.processes import started_by_torchrun
from torchrank.storage import block_folder

torch.set_num_threads(1)
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
folder, whole, written = Path(sys.argv[1]), block_folder.write_block, 0

def counted(path, values):
    global written
    if (rank, attempt, written) == ("1", "0", 2):
        os._exit(3)
    whole(path, values)
    written += 1
    with open(folder / f"{attempt}-{rank}.txt", "a") as log:
        log.write(path.name + " ")

block_folder.write_block = counted
X = np.random.default_rng(3).integers(0, 4, (50, 8)).astype(float)
with started_by_torchrun() as group:
    tr.kendall_gram(X, out=folder / "g.npy", block=10, resume=True, group=group)
os._exit(0)  # the end of Python may abort a thread of gloo that still holds a tensor, pytorch/pytorch#179291
"""


@pytest.mark.slow
def test_a_process_that_is_killed_is_started_again_and_goes_on(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(RESTARTED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*command, str(script), str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=240, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    X = np.random.default_rng(3).integers(0, 4, (50, 8)).astype(float)
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), tr.kendall_gram(X))
    assert not (tmp_path / "g.npy.blocks").exists()
    written = {path.stem: path.read_text().split() for path in tmp_path.glob("*.txt")}
    before = written.pop("0-0", []) + written.pop("0-1")
    after = [name for names in written.values() for name in names]
    assert len(before) >= 2
    assert len(before) + len(after) == len({*before, *after})  # none was computed twice
    assert len({*before, *after}) in (14, 15)  # the other process may be ended between writing a block and its name
