"""Every public name has its place in the reference."""

import importlib
import re
from pathlib import Path

import pytest

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "api"
PACKAGES = (
    "aggregation",
    "clustering",
    "classification",
    "conditional",
    "dask",
    "datasets",
    "distributions",
    "estimators",
    "metrics",
    "plots",
)


def documented():
    """Names given one by one, and whole packages."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    return set(re.findall(r"auto(?:class|function|data):: (\S+)", text)), set(re.findall(r"automodule:: (\S+)", text))


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_documented_whole(package):
    assert f"torchrank.{package}" in documented()[1]
    assert importlib.import_module(f"torchrank.{package}").__all__


def test_names_of_the_package_itself():
    torchrank = importlib.import_module("torchrank")
    names, packages = documented()
    for name in set(torchrank.__all__) - {"__version__"}:
        value = getattr(torchrank, name)
        homes = [p for p in packages if getattr(importlib.import_module(p), name, None) is value]
        assert homes or f"torchrank.{name}" in names, f"{name} is in no page of docs/api"


def test_nothing_is_documented_that_does_not_exist():
    for name in documented()[0]:
        package, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(package), attribute), name
