"""CITATION.cff names the version that is installed."""

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
