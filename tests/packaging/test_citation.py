"""CITATION.cff and CHANGELOG.md name the version that is installed."""

import re
from pathlib import Path

import torchrank

TEXT = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_is_that_of_the_package():
    assert re.findall(r"^version: (\S+)$", TEXT, re.M) == [torchrank.__version__]


def test_papers_are_named_by_doi():
    assert (
        len(re.findall(r"^    doi: 10\.\d+/\S+$", TEXT, re.M))
        == len(re.findall(r"^  - type: article$", TEXT, re.M))
        == 3
    )


def test_the_changelog_has_the_version():
    text = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\S+)\] - (?:Unreleased|\d{4}-\d\d-\d\d)$", text, re.M)
    assert len(versions) == len(re.findall(r"^## ", text, re.M))
    assert versions[0] == torchrank.__version__
