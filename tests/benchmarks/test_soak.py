"""A soak of a few seconds: what an hour of it looks for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import soak

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_few_seconds(tmp_path):
    command = [sys.executable, "-m", "benchmarks.soak", "--minutes", "0.1", "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    row = json.loads((tmp_path / "soak.jsonl").read_text().splitlines()[-1])
    assert row["calls"] > 0
    assert (row["n_wrong"], row["hung"]) == (0, 0)


def test_another_result_is_found(tmp_path):
    todo = {"kendall_gram": soak.calls(tmp_path)["kendall_gram"]}
    right = soak.torch.as_tensor(todo["kendall_gram"]())
    random = soak.random.Random(0)
    assert not soak.one(todo, {"kendall_gram": right}, random)
    assert soak.one(todo, {"kendall_gram": right + 1e-15}, random) == "kendall_gram"
