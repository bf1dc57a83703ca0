"""Files that are written whole: what is left of processes, and what errors say."""

import os
import subprocess
import sys

import pytest

from torchrank.storage.files import remove_asides, write_whole


def test_what_dead_processes_left_goes_and_what_others_write_stays(tmp_path):
    path = tmp_path / "fit.pt"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        for number in (dead.pid, running.pid, os.getpid()):
            (tmp_path / f".fit.pt.{number}").touch()
        (tmp_path / ".fit.pt.1x").touch()
        remove_asides(path)
        left = {file.name for file in tmp_path.iterdir()}
    finally:
        running.communicate(b"\n")
    assert left == (set() if os.name == "nt" else {f".fit.pt.{running.pid}"})


def test_errors_have_the_name_of_the_file_alone(tmp_path):
    path = tmp_path / "gone" / "fit.pt"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, lambda file: file.write(b"x"))
    assert str(caught.value) == f"[Errno 2] No such file or directory: '{path}'"
