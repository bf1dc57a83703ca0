"""``python -m torchrank gram``: kernels or neighbors from a file to files, alone or under ``torchrun``."""

import argparse
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from torchrank.datasets import read_rankings
from torchrank.kernels import kendall_gram
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.ops.rank import rank
from torchrank.processes import Group, rank_of, started_by_torchrun, together
from torchrank.rankings.missing import MISSING
from torchrank.storage.files import write_whole
from torchrank.stream import kendall_neighbors

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Of the command ``gram``."""
    parser.add_argument(
        "input",
        type=Path,
        help="scores, one ranking a row, larger = preferred: .npy, .csv or .tsv with a column an item, or .npz of a "
        "scipy.sparse matrix, whose entries that are not stored are unranked",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for gram.npy, or for indices.npy and values.npy of neighbors",
    )
    parser.add_argument("--neighbors", type=int, metavar="K", help="the K nearest of each, not the whole matrix")
    parser.add_argument("--missing", choices=MISSING, help="what unranked items mean; by default they are an error")
    parser.add_argument("--variant", choices=VARIANTS, help="of the Kendall kernel")
    parser.add_argument("--block", type=int, metavar="ROWS", help="rows and columns of a block")
    parser.add_argument("--rankers", metavar="COLUMN", help="of a .csv or .tsv file, the column of names of rankings")
    parser.add_argument("--no-header", action="store_true", help="a .csv or .tsv file begins with scores, not names")
    parser.add_argument("--device", help="where to compute; by default cuda if there is one, else cpu")


def gram(arguments: argparse.Namespace) -> int:
    """Compute what was asked for; returns the exit status. Errors of users are one line, without a traceback."""
    try:
        with started_by_torchrun() as group:
            _run(arguments, group)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        print(f"python -m torchrank gram: {error}", file=sys.stderr)
        return 1
    return 0


def _run(asked: argparse.Namespace, group: Group) -> None:
    first = rank_of(group) == 0
    device = asked.device or ("cuda" if torch.cuda.is_available() else "cpu")
    with together(group):
        rankings = rank(_scores(asked), asked.missing).to(device)
        if first:
            asked.out.mkdir(parents=True, exist_ok=True)
    common: dict[str, Any] = {"variant": asked.variant, "block": asked.block, "progress": True, "group": group}
    if asked.neighbors is None:
        path = asked.out / "gram.npy"
        matrix = kendall_gram(rankings, out=path, resume=True, **common)
        shown = f"{path}: kernels of {len(matrix)} rankings, {matrix.dtype}"
    else:
        paths = asked.out / "indices.npy", asked.out / "values.npy"
        with together(group):
            there = [path for path in paths if path.exists()]
            if there:
                raise FileExistsError(f"{there[0]} is there already; remove it, or give another folder")
        near = kendall_neighbors(rankings, asked.neighbors, **common)
        with together(group):
            if first:
                for path, values in zip(paths, near, strict=True):
                    write_whole(path, _saving(values))
        shown = f"{paths[0]} and {paths[1].name}: {near!r}"
    if first:
        print(shown)


def _saving(values: np.ndarray) -> Callable[[Any], None]:
    return lambda file: np.save(file, values)


def _scores(asked: argparse.Namespace) -> Any:
    """The rankings in a file, by the end of its name."""
    path, rankers = asked.input, asked.rankers
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, or no file; expected .npy, .csv, .tsv, or .npz of scipy.sparse")
    if path.suffix in _DELIMITERS:
        header = False if asked.no_header else None  # None looks for one
        return read_rankings(path, form="scores", rankers=rankers, delimiter=_DELIMITERS[path.suffix], header=header)
    if rankers is not None:
        raise ValueError(f"--rankers names a column of a .csv or .tsv file; {path.name} has none")
    if asked.no_header:
        raise ValueError(f"--no-header is for .csv and .tsv files; {path.name} has no names")
    if path.suffix == ".npy":
        return _array(path)
    if path.suffix == ".npz":
        try:
            return sparse.load_npz(path)
        except (ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds no matrix of scipy.sparse.save_npz ({error})") from error
    raise ValueError(f"{path} does not end in .npy, .csv, .tsv or .npz; save the scores as one of them")


def _array(path: Path) -> np.ndarray:
    try:
        scores = np.load(path, mmap_mode="c")  # whose pages are read when they are ranked; torch wants it writable
    except ValueError as error:  # whose words advise to load what is not safe
        raise ValueError(f"{path} holds no array of numbers that numpy.save has written") from error
    if scores.ndim != 2:
        raise ValueError(f"{path} has shape {scores.shape}; expected one matrix (rankings, items)")
    return scores
