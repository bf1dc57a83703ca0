"""The workflow of a public forge runs what `.ci/run` and nox do, on the Pythons that are declared."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="of the extra dask")

ROOT = Path(__file__).parents[2]
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_newest_versions_run_on_every_declared_python():
    declared = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert JOBS["newest"]["strategy"]["matrix"]["python"] == declared
    assert commands("newest") == [".ci/run"]


def test_lowest_versions_run_on_the_lowest_python():
    bound = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (setup,) = (step["with"] for step in JOBS["lowest"]["steps"] if "setup-python" in step.get("uses", ""))
    assert bound
    assert setup["python-version"] == bound[1]
    assert commands("lowest")[-1] == "nox --sessions lowest"


def test_ci_runs_the_lowest_versions_unless_another_job_does():
    assert "${LOWEST-lowest}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert JOBS["newest"]["steps"][-1]["env"] == {"LOWEST": ""}
