"""Imports go one way: from a room, a folder of the package, to those below it."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = (  # a room imports from lower layers only, not from its neighbors
    ("rankings",),
    ("cpu", "ops/reference"),
    ("ops",),
    ("linalg", "storage"),
    ("kernels", "metrics"),
    ("stream", "losses"),
    ("aggregation",),
    ("distributions",),
    ("clustering", "classification", "conditional", "datasets"),
    ("mixtures", "label_ranking"),
    ("estimators", "plots"),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# Single files, which import one another only.
FLOOR = {"_cached", "_docs", "_progress", "_repr", "_version", "_warnings", "evidence", "processes", "typing"}
# The package's own file, the program, and what is for Dask's users alone: they import what they like.
TOP = {"torchrank", "__main__", "_gram", "dask"}
# metrics asks scikit-learn for the Rand index alone, where it is called.
ONLY_BY = {"ops/reference": {"ops"}, "kernels_triton": {"ops"}, "sklearn": {"estimators", "metrics"}}


def imported(path: Path) -> Iterator[str]:
    """Dotted names of all that a file imports, in functions too."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


def room(name: str) -> str:
    """The room of a dotted name; of other packages, and of what `torchrank` itself exports, the package."""
    package, *parts = name.split(".")
    if package != "torchrank":
        return package
    if parts[:2] == ["ops", "reference"]:
        return "ops/reference"
    return parts[0] if parts and parts[0] in HEIGHT.keys() | FLOOR | TOP else "torchrank"


def edges(package: str) -> dict[tuple[str, str], list[str]]:
    """Which room imports from which, and the files that do so."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        here = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for there in {room(name) for name in imported(path)} - {here}:
            found.setdefault((here, there), []).append(str(path.relative_to(ROOT)))
    return found


EDGES = edges("torchrank")


def is_wrong(here: str, there: str) -> bool:
    if here in TOP:
        return False
    if there in ONLY_BY:
        return here not in ONLY_BY[there]
    if here in FLOOR:
        return there in HEIGHT.keys() | TOP
    return there in TOP or HEIGHT.get(there, -1) >= HEIGHT[here]


def test_every_room_has_its_place():
    folder = ROOT / "torchrank"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")} | {"ops/reference"}
    assert HEIGHT.keys() == rooms
    assert files == FLOOR | TOP - {"torchrank"}


def test_rooms_import_from_those_below():
    wrong = {edge: files for edge, files in EDGES.items() if is_wrong(*edge)}
    assert not wrong


def test_no_circle_of_rooms():
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for here, there in EDGES:
        if here not in TOP:
            sorter.add(here, there)
    sorter.prepare()  # raises CycleError


def test_kernels_triton_does_not_import_torchrank():
    for path in (ROOT / "kernels_triton").rglob("*.py"):
        assert not any(name.split(".")[0] == "torchrank" for name in imported(path)), path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torchrank.ops.reference.smoothed.NOISES", "ops/reference"),
        ("torchrank.ops.engines", "ops"),
        ("torchrank.kendall_gram", "torchrank"),
        ("sklearn.metrics.rand_score", "sklearn"),
    ],
)
def test_rooms_of_names(name, expected):
    assert room(name) == expected
