"""Notebooks run without error and warning, give the stored numbers, and are stored clean."""

import base64
import json
import math
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 150_000  # bytes of all pictures of a notebook
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},  # no versions: they would change with every run
}
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_PATH = re.compile(r"(?<![\w.:/])/(?:bin|etc|home|mnt|opt|root|srv|tmp|usr|var|work|Users|Volumes)/|\b[A-Z]:\\")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """What each output of a cell is: "stdout", "image/png", ..."""
    return [output.get("name") or sorted(output.get("data", {"error": ""}))[0] for output in cell.outputs]


def text(cell):
    """What a cell printed, and the value of its last line."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def pictures(cell):
    """The bytes of each picture that a cell drew."""
    encoded = [output.get("data", {}).get("image/png") for output in cell.outputs]
    return [base64.b64decode(picture) for picture in encoded if picture]


def tagged(notebook, *tags):
    """What the cells print whose numbers have to come again: a notebook's "headline", and others that are "checked"."""
    return [text(cell) for cell in code_cells(notebook) if set(cell.metadata.get("tags", ())) & set(tags)]


def fetches(path):
    """Whether a notebook needs public data."""
    return any("fetch_" in cell.source for cell in code_cells(read(path)))


def agree(found, stored):
    """The same words; whole numbers equal, others within one unit of the last place that is printed."""
    if _NUMBER.sub("#", found) != _NUMBER.sub("#", stored):
        return False
    return all(
        math.isclose(float(a.replace(",", "")), float(b.replace(",", "")), rel_tol=0, abs_tol=1.001 * unit(b))
        for a, b in zip(_NUMBER.findall(found), _NUMBER.findall(stored), strict=True)
    )


def unit(number):
    decimals = re.search(r"\.(\d+)", number)
    return 10.0 ** -len(decimals[1]) if decimals else 0.0


class OwnKernel(AsyncKernelManager):
    """Starts the interpreter that runs the tests, whatever kernels the user has installed."""

    def _kernel_spec_manager_default(self):
        return KernelSpecManager(kernel_dirs=[])


def execute(path, folder):
    """Run a copy of a notebook in ``folder``."""
    copy = shutil.copy(path, folder)
    notebook = read(copy)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        kernel_manager_class=OwnKernel,
        timeout=300,
        startup_timeout=120,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """A working folder outside the repository, and no settings of the user's."""
    import matplotlib.font_manager  # noqa: F401 - builds its cache here, lest it speaks of that in a notebook

    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "1")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own shows pictures in the notebook
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def public_files(data_folder, tmp_path_factory):
    """A cache in which what the notebooks fetch lies already."""
    from tests.datasets.upstream import write_apa, write_davis, write_eurovision, write_expression

    cache = tmp_path_factory.mktemp("cache")
    for write in (write_apa, write_eurovision, write_davis):
        write(data_folder, cache)
    write_expression(data_folder, cache, "colon")
    return cache


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if not fetches(p)], ids=lambda path: path.stem)
def test_runs_and_gives_the_stored_numbers(path, surroundings):
    check(execute(path, surroundings), read(path))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if fetches(p)], ids=lambda path: path.stem)
def test_runs_on_public_data_and_gives_the_stored_numbers(path, surroundings, public_files, monkeypatch):
    monkeypatch.setenv("TORCHRANK_CACHE", str(public_files))
    check(execute(path, surroundings), read(path))


def check(found, stored):
    for new, old in zip(code_cells(found), code_cells(stored), strict=True):
        assert "stderr" not in kinds(new), f"{new.source}\nprints on stderr\n{text(new)}"
        assert "Warning" not in text(new)
        assert kinds(new) == kinds(old), f"{new.source}\ngives {kinds(new)} and not {kinds(old)}"
    for new, old in zip(*(tagged(notebook, "headline", "checked") for notebook in (found, stored)), strict=True):
        assert agree(new, old), f"{new}\nand not\n{old}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stored_executed_and_clean(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.metadata == METADATA
    code = code_cells(notebook)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(set(cell.metadata) <= {"tags", "mystnb"} for cell in notebook.cells)
    described = [cell for cell in code if cell.metadata.get("mystnb", {}).get("image", {}).get("alt")]
    assert described == [cell for cell in code if pictures(cell)], "a picture has a text for those who do not see it"
    assert "image/png" in {kind for cell in code for kind in kinds(cell)}
    (headline,) = tagged(notebook, "headline")
    assert _NUMBER.search(headline)
    assert not {"stderr", "error"} & {kind for cell in code for kind in kinds(cell)}
    assert not any("Warning" in text(cell) for cell in code)
    assert not _PATH.search(json.dumps([text(cell) for cell in code]) + "".join(cell.source for cell in notebook.cells))
    assert sum(len(picture) for cell in code for picture in pictures(cell)) < LARGEST


def test_there_are_notebooks_and_all_are_listed():
    assert NOTEBOOKS
    listed = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8").split()
    assert all(f"notebooks/{path.stem}" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize(
    ("found", "stored", "same"),
    [
        ("accuracy 0.92, 3 clusters", "accuracy 0.91, 3 clusters", True),
        ("accuracy 0.92, 3 clusters", "accuracy 0.90, 3 clusters", False),
        ("accuracy 0.92, 3 clusters", "accuracy 0.92, 4 clusters", False),
        ("accuracy 0.92", "precision 0.92", False),
        ("0 of 50,000", "0 of 50,000", True),
        ("0 of 50,000", "0 of 50,001", False),
        ("accuracy nan", "accuracy 0.92", False),
    ],
)
def test_comparison_of_numbers(found, stored, same):
    assert agree(found, stored) is same


@pytest.mark.parametrize("said", ["/home/ann/x", "in /root/.cache", r"C:\Users\ann", "'/tmp/a'"])
def test_paths_are_recognized(said):
    assert _PATH.search(said)


@pytest.mark.parametrize("said", ["a/b", "docs/notebooks", "https://example.org/home/x", "and/or", "1/2"])
def test_other_slashes_are_no_paths(said):
    assert not _PATH.search(said)
