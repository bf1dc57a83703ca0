"""The versions that `nox -s lowest` installs are those that pyproject.toml declares."""

import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 does not read TOML")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEST = PROJECT["optional-dependencies"]["test"]


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    matches = [re.match(r"([\w-]+)>=([\d.]+)", requirement) for requirement in requirements]
    assert all(matches), requirements
    return {match[1]: match[2] for match in matches if match}


def pins() -> dict[str, str]:
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_lowest_versions_are_the_declared_ones():
    declared = lower_bounds(PROJECT["dependencies"] + TEST)
    assert pins().keys() == declared.keys()
    for name, version in pins().items():
        bound = declared[name]
        assert re.sub(r"(\.0)+$", "", version) == re.sub(r"(\.0)+$", "", bound), f"{name}: {version}, declared {bound}"


@pytest.mark.parametrize("extra", ["sklearn", "plots", "data", "scale", "dask", "bench"])
def test_other_extras_declare_what_the_tests_are_run_with(extra):
    assert lower_bounds(PROJECT["optional-dependencies"][extra]).items() <= lower_bounds(TEST).items()


def test_documented_pythons_are_the_declared_ones():
    pythons = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert f"Python {pythons[0]} to {pythons[-1]}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_documented_lowest_versions_are_the_pinned_ones():
    table = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
    header, _, lowest, *_ = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("|")]
    row = {name.lower(): version for name, version in zip(header, lowest, strict=True)}
    assert row.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    del row["tests"]
    assert row.items() <= pins().items()
