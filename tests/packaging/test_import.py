"""What `import torchrank` brings along, what it can do without, and what it promises by name."""

import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import torchrank

ROOT = Path(__file__).parents[2]
EXAMPLES = [  # those of torchrank.datasets have a test of their own
    path
    for path in sorted((ROOT / "torchrank").rglob("*.py"))
    if path.parent.name != "datasets" and ">>> " in path.read_text(encoding="utf-8")
]
OPTIONAL = ("sklearn", "matplotlib", "pandas", "dask")
LAZY = ("numba", "triton")

HIDE = """
import sys
from importlib.machinery import PathFinder
class Hide(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden!r} else super().find_spec(name, path, target)
sys.meta_path = [Hide if finder is PathFinder else finder for finder in sys.meta_path]
"""


def run(code: str) -> str:
    """What a fresh Python process prints."""
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.mark.slow
def test_import_brings_neither_extras_nor_engines():
    loaded = f"[m for m in {(*OPTIONAL, *LAZY)} if m in sys.modules]"
    assert run(f"import torch, sys; before = {loaded}; import torchrank; print(set({loaded}) - set(before))") == "set()"


def test_modules_that_are_not_imported_are_reached_by_name():
    code = (
        "import torchrank\n"
        "print(*(getattr(torchrank, name).__name__ for name in ('datasets', 'estimators', 'metrics', 'plots')))\n"
        "torchrank.kendal_gram"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.stdout.split() == [f"torchrank.{name}" for name in ("datasets", "estimators", "metrics", "plots")]
    last = process.stderr.splitlines()[-1]
    assert last.startswith("AttributeError: module 'torchrank' has no attribute 'kendal_gram'")
    assert "Did you mean: 'kendall_gram'?" in last


@pytest.mark.slow
def test_works_without_extras_and_triton_and_says_what_to_install():
    code = HIDE.format(hidden=(*OPTIONAL, "triton")) + (
        "import torchrank\n"
        "print(torchrank.kendall_gram([[1, 2, 3], [1, 3, 2]])[0, 1], torchrank.MallowsKernel()([[1, 2]])[0, 0])\n"
        "try:\n    import torchrank.estimators\nexcept ModuleNotFoundError as error:\n    print(error)\n"
        "try:\n    import torchrank.dask\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert run(code).splitlines() == [
        "0.3333333333333333 1.0",
        "torchrank.estimators needs scikit-learn: pip install scikit-learn",
        "torchrank.dask needs Dask: pip install dask distributed",
    ]


@pytest.mark.slow
def test_without_numba_the_reference_answers_with_a_warning():
    code = HIDE.format(hidden=("numba", "llvmlite")) + (
        "import torchrank, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    print(torchrank.kendall_gram([[1, 2, 3], [1, 3, 2]])[0, 1])\n"
        "print([str(w.message) for w in caught if 'torchrank' in str(w.message)])\n"
        "try:\n"
        "    torchrank.kendall_gram([[1, 2]], method='signs')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    value, warned, refused = run(code).splitlines()
    assert value == "0.3333333333333333"
    assert "slow reference engine on cpu: numba cannot be imported" in warned
    assert "pip install numba" in warned
    assert refused.startswith("method='signs' has no engine on cpu: numba cannot be imported")


@pytest.mark.parametrize("name", torchrank.__all__)
def test_public_names_are_documented(name):
    value = getattr(torchrank, name)
    if name != "__version__":
        assert inspect.getdoc(value)
        assert value.__module__.startswith("torchrank.")
        own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        assert own, f"{name} has only an inherited docstring"


def test_public_functions_document_every_argument():
    for name in torchrank.__all__:
        value = getattr(torchrank, name)
        if inspect.isfunction(value):
            doc = inspect.getdoc(value) or ""
            for argument in inspect.signature(value).parameters:
                assert f"\n    {argument}: " in doc or f"``{argument}``" in doc, f"{name} does not explain {argument}"


def test_all_is_sorted_and_complete():
    assert list(torchrank.__all__) == sorted(torchrank.__all__)
    public = {n for n, v in vars(torchrank).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert public <= set(torchrank.__all__)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_docstring_examples(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    result = doctest.testmod(module, extraglobs={"np": np, "torch": torch})
    assert result.attempted
    assert not result.failed
