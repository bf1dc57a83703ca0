"""Where the label-ranking scripts put rows, tables and pictures, and which rows are there already."""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import RESULTS

Row = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, quick: str) -> None:
    """``--quick``, which does what ``quick`` says, and ``--results``."""
    parser.add_argument("--quick", action="store_true", help=f"{quick}; results go to a temporary folder")
    parser.add_argument("--results", type=Path, help=f"folder of rows, tables and pictures instead of {RESULTS}")


def results_folder(arguments: argparse.Namespace) -> Path:
    """The folder that was asked for, else a temporary one for ``--quick`` and that of the repository for all else."""
    if arguments.results is not None:
        return arguments.results
    return Path(tempfile.mkdtemp(prefix="torchrank-")) if arguments.quick else RESULTS


def finished(path: Path, columns: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """Rows of a file by their values of ``columns``, the last one of equals; rows without them are left out."""
    return {tuple(row[name] for name in columns): row for row in _rows(path) if all(name in row for name in columns)}


def machines(path: Path) -> list[str]:
    """The machines that the rows of a file come from, each once, in words."""
    found: dict[str, None] = {}
    for environment in (row["environment"] for row in _rows(path) if "environment" in row):
        versions = ", ".join(f"{name} {environment['versions'][name]}" for name in ("torch", "numba"))
        found[f"{environment['cpu']}, {environment['processors']} processors, {versions}"] = None
    return list(found)


def _rows(path: Path) -> Iterator[Row]:
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())
