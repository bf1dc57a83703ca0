"""What `torchrank.datasets` promises by name, and that nobody pays for it who does not use it."""

import doctest
import inspect
import subprocess
import sys

import pytest

import torchrank
from torchrank import datasets
from torchrank.datasets import comparisons, csv_files, expression, fetch, generators, networks, ranking_strings, tables


def test_all_is_sorted_and_complete():
    assert list(datasets.__all__) == sorted(datasets.__all__)
    public = {n for n, v in vars(datasets).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert public == set(datasets.__all__)


@pytest.mark.parametrize("name", datasets.__all__)
def test_arguments_are_documented(name):
    value = getattr(datasets, name)
    doc = inspect.getdoc(value) or ""
    for argument in inspect.signature(value).parameters:
        assert f"\n    {argument}: " in doc or f"\n    **{argument}: " in doc, f"{name} does not explain {argument}"


@pytest.mark.parametrize("module", [comparisons, csv_files, generators, ranking_strings, tables])
def test_examples_of_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


@pytest.mark.slow
@pytest.mark.data
def test_examples_of_fetching(data_folder, tmp_path, monkeypatch):
    from tests.datasets.upstream import write_all

    write_all(data_folder, tmp_path)
    monkeypatch.setenv("TORCHRANK_CACHE", str(tmp_path))
    for module in (expression, fetch, networks):
        result = doctest.testmod(module, extraglobs={"torchrank": torchrank})
        assert result.attempted
        assert not result.failed


@pytest.mark.slow
def test_the_package_does_not_load_data_sets_and_these_need_no_extras():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'sklearn', 'matplotlib', 'rdata']))\n"
        "import torchrank; print([name for name in sys.modules if name.startswith('torchrank.datasets')])\n"
        "from torchrank.datasets import circles, ranking_data; print(ranking_data(circles(5).Y, form='scores'))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == ["[]", "RankingData(5 rankings of 6 items)"]
